#!/usr/bin/env python3
"""Other users of Vulkan on the same device: taichi, wgpu and ncnn, as far as their wheels are installed.

  vulkan_peers.py [--elements N] [--repeats N] [--json]

A line per peer and case: milliseconds, and GB/s or TFLOP/s. Compare with
  burn bench --stacks 'fusion<vulkan>' --group gpu --only 'gelu 64M$|sum 64M|copy 64M|conv2d|linear'
taichi and wgpu run kernels written here, ncnn its own layers, a chain of 32 so that the way to the device does not count.
"""
import argparse
import json
import statistics
import sys
import time

LAYERS = 32


def median_seconds(run, wait, repeats):
    """Of groups of `repeats` runs that are waited for together."""
    for _ in range(3):
        run()
    wait()
    times = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(repeats):
            run()
        wait()
        times.append((time.perf_counter() - start) / repeats)
    return statistics.median(times)


def taichi_cases(count, repeats):
    import taichi as ti

    ti.init(arch=ti.vulkan, log_level=ti.ERROR, offline_cache=False)
    if ti.cfg.arch != ti.vulkan:
        raise RuntimeError(f"taichi took {ti.cfg.arch} instead of Vulkan")
    x, y = ti.field(ti.f32, shape=count), ti.field(ti.f32, shape=count)
    total = ti.field(ti.f32, shape=())

    @ti.kernel
    def fill():
        for i in x:
            x[i] = ti.random() - 0.5

    @ti.kernel
    def copy():
        for i in x:
            y[i] = x[i]

    @ti.kernel
    def gelu():
        for i in x:
            v = x[i]
            y[i] = 0.5 * v * (1 + ti.tanh(0.7978845608 * (v + 0.044715 * v * v * v)))

    @ti.kernel
    def add_up():
        for i in x:
            total[None] += x[i]

    fill()
    for name, kernel, bytes_each in (("copy", copy, 8), ("gelu, tanh form", gelu, 8), ("sum", add_up, 4)):
        seconds = median_seconds(kernel, ti.sync, repeats)
        yield f"taichi {ti.__version__[0]}.{ti.__version__[1]}", f"{name} of {count}", seconds, bytes_each * count, "GB/s"


WGSL = """
@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4<f32>>;
@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.y * groups.x * 256u + id.x;
  if (i >= arrayLength(&x)) { return; }
  let v = x[i];
  y[i] = EXPRESSION;
}
"""


def wgpu_cases(count, repeats):
    import wgpu

    adapter = wgpu.gpu.request_adapter_sync(power_preference="high-performance")
    limits = {"max-storage-buffer-binding-size": 4 * count, "max-buffer-size": 4 * count}
    device = adapter.request_device_sync(required_limits=limits)
    usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST
    x, y = (device.create_buffer(size=4 * count, usage=usage) for _ in range(2))
    groups = (count // 4 + 255) // 256
    wide = min(groups, 65535)

    def wait():
        device.queue.read_buffer(y, size=16)

    gelu = "0.5 * v * (1.0 + tanh(0.7978845608 * (v + 0.044715 * v * v * v)))"
    for name, expression in (("copy", "v"), ("gelu, tanh form", gelu)):
        module = device.create_shader_module(code=WGSL.replace("EXPRESSION", expression))
        pipeline = device.create_compute_pipeline(layout="auto", compute={"module": module, "entry_point": "main"})
        entries = [{"binding": i, "resource": {"buffer": b}} for i, b in enumerate((x, y))]
        group = device.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=entries)

        def run():
            encoder = device.create_command_encoder()
            compute = encoder.begin_compute_pass()
            compute.set_pipeline(pipeline)
            compute.set_bind_group(0, group)
            compute.dispatch_workgroups(wide, (groups + wide - 1) // wide)
            compute.end()
            device.queue.submit([encoder.finish()])

        seconds = median_seconds(run, wait, repeats)
        yield f"wgpu {wgpu.__version__} on {adapter.info['device']}", f"{name} of {count}", seconds, 8 * count, "GB/s"


def ncnn_chain(layer, blob):
    """The text of a network: an input and LAYERS times `layer`."""
    lines = ["7767517", f"{LAYERS + 1} {LAYERS + 1}", f"Input in 0 1 {blob}0"]
    lines += [f"{layer[0]} l{i} 1 1 {blob}{i} {blob}{i + 1} {layer[1]}" for i in range(LAYERS)]
    return "\n".join(lines) + "\n"


def ncnn_cases(repeats):
    import os
    import tempfile

    import ncnn
    import numpy

    if ncnn.get_gpu_count() == 0:
        raise RuntimeError("ncnn finds no device")
    # (name, layer, weights and biases of a layer, shape of the input, operations of a layer)
    cases = (
        ("conv 3x3 64 to 64 of 1x64x56x56", ("Convolution", "0=64 1=3 4=1 5=1 6=36864"), (36864, 64), (64, 56, 56),
         2 * 64 * 64 * 9 * 56 * 56),
        ("linear 3072x3072 of 1 row", ("InnerProduct", "0=3072 1=1 2=9437184"), (9437184, 3072), (3072,),
         2 * 3072 * 3072),
    )
    for half in (False, True):
        for name, layer, sizes, shape, operations in cases:
            net = ncnn.Net()
            net.opt.use_vulkan_compute = True
            net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = half
            with tempfile.TemporaryDirectory() as folder:
                param, model = os.path.join(folder, "param"), os.path.join(folder, "bin")
                with open(param, "w", encoding="ascii") as file:
                    file.write(ncnn_chain(layer, "b"))
                with open(model, "wb") as file:
                    for _ in range(LAYERS):
                        file.write(b"\0\0\0\0" + numpy.full(sizes[0], 1e-3, numpy.float32).tobytes())
                        file.write(numpy.zeros(sizes[1], numpy.float32).tobytes())
                if net.load_param(param) != 0 or net.load_model(model) != 0:
                    raise RuntimeError(f"ncnn does not load {name}")
            data = ncnn.Mat(numpy.ones(shape, numpy.float32))

            def run():
                extractor = net.create_extractor()
                extractor.input("b0", data)
                extractor.extract(f"b{LAYERS}")

            seconds = median_seconds(run, lambda: None, max(1, repeats // 4)) / LAYERS
            yield f"ncnn {ncnn.__version__}", name + (", f16" if half else ""), seconds, operations, "TFLOP/s"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--elements", type=int, default=1 << 26, help="of the element-wise cases (2^26)")
    parser.add_argument("--repeats", type=int, default=40, help="runs that are waited for together (40)")
    parser.add_argument("--json", action="store_true", help="a JSON object per line")
    arguments = parser.parse_args()
    failed = 0
    for name, cases in (("taichi", lambda: taichi_cases(arguments.elements, arguments.repeats)),
                        ("wgpu", lambda: wgpu_cases(arguments.elements, arguments.repeats)),
                        ("ncnn", lambda: ncnn_cases(arguments.repeats))):
        try:
            for peer, case, seconds, work, unit in cases():
                rate = work / seconds / (1e9 if unit == "GB/s" else 1e12)
                if arguments.json:
                    print(json.dumps({"peer": peer, "case": case, "ms": seconds * 1e3, "rate": rate, "unit": unit}))
                else:
                    print(f"{peer:36} {case:42} {seconds * 1e3:10.4f} ms {rate:10.2f} {unit}", flush=True)
        except ImportError:
            print(f"{name}: not installed", file=sys.stderr)
        except Exception as error:  # a peer that fails is told, the others go on
            print(f"{name}: {error}", file=sys.stderr)
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
