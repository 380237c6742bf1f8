"""The peer of onnx_bench.c: one model in ONNX Runtime, with the same lines in and out.

    onnx_runtime.py MODEL.onnx THREADS FOLDER

FOLDER has the inputs as input_<i>.npy. Idle memory is that of Python with NumPy and ONNX Runtime and no model.
"""
import sys
import time

import numpy
import onnxruntime


def memory(key):
    try:
        lines = open("/proc/self/status").read().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(key)), 0)


def stored(folder, session):
    feeds = {}
    for i, wanted in enumerate(session.get_inputs()):
        array = numpy.load("%s/input_%d.npy" % (folder, i))
        feeds[wanted.name] = array.reshape(()) if len(wanted.shape) == 0 else array
    return feeds


def run(session, feeds, seconds):
    begin, runs = time.perf_counter(), 0
    while True:
        session.run(None, feeds)
        runs += 1
        if time.perf_counter() - begin >= seconds:
            return (time.perf_counter() - begin) / runs


def main():
    model, threads, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    try:  # the most until now begins anew, where the system lets it
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pass
    idle = memory("VmRSS:")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    begin = time.perf_counter()
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    print("loaded %.9g onnxruntime %s" % (time.perf_counter() - begin, onnxruntime.__version__), flush=True)
    feeds = stored(folder, session)
    for line in sys.stdin:
        command, _, rest = line.strip().partition(" ")
        if command == "run":
            print("%.9g" % run(session, feeds, float(rest)), flush=True)
        elif command == "outputs":
            for i, output in enumerate(session.run(None, feeds)):
                numpy.save("%s/output_%d.npy" % (rest, i), output)
            print("ok", flush=True)
        elif command == "memory":
            print(idle, memory("VmHWM:"), flush=True)
        else:
            sys.exit("onnx_runtime.py: '%s' is none of outputs, run, memory" % command)


if __name__ == "__main__":
    main()
