#!/usr/bin/env python3
"""dlpack_streams.py LIBBURN [STACK] - tensors cross between PyTorch's side streams and Burn in both directions, by the functions with
a stream: the values must be right although nobody has waited, and Burn's count of waits must not move until the values are read.

Each side is kept busy before the tensor is made, so that whoever does not wait for its work sees old values. Status 0: all is right;
77: there is no PyTorch with CUDA."""
import ctypes
import pathlib
import sys
import time
from ctypes import byref, c_char_p, c_double, c_int64, c_void_p

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "sdk/examples/python"))
import dlpack_torch as shared
import torch

if not torch.cuda.is_available():
    print("dlpack_streams: skipped, PyTorch finds no CUDA device")
    sys.exit(77)
burn = shared.Burn(sys.argv[1])
library = ctypes.CDLL(sys.argv[1])
from_dlpack_on = shared.declare(library, "burn_from_dlpack_on", c_void_p, c_void_p, c_int64, c_void_p)
to_dlpack_on = shared.declare(library, "burn_to_dlpack_on", ctypes.c_uint64, c_void_p, c_int64, c_void_p)
host_waits = shared.declare(library, "burn_device_host_waits", c_int64, c_void_p)
tensor_status = shared.declare(library, "burn_tensor_status", ctypes.c_uint64, c_void_p)
drop = shared.declare(library, "burn_drop", None, c_void_p)

device = burn.open((sys.argv[2] if len(sys.argv) > 2 else "torch:cuda:0").encode())
burn.check(burn.device_status(device))
busy = torch.randn(4096, 4096, device="cuda")
torch.cuda.synchronize()


def delay():
    for _ in range(200):
        torch.mm(busy, busy)


def given(tensor, stream):
    capsule = tensor.__dlpack__(stream=-1, max_version=(1, 0))
    pointer = shared.capsule_pointer(capsule, shared.NAME)
    shared.capsule_rename(capsule, shared.USED_NAME)
    return from_dlpack_on(pointer, stream, device)


for turn in range(3):  # in the first, libraries are loaded, which takes longer than the work
    before = host_waits(device)
    producer, consumer = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(producer):
        x = torch.zeros(1 << 20, device="cuda")
        delay()
        x += turn + 1
        queued = time.perf_counter()
        ours = given(x, producer.cuda_stream)
        taken = 1e3 * (time.perf_counter() - queued)
        assert turn == 0 or not producer.query(), f"turn {turn}: the producer was waited for ({taken:.1f} ms), or too short"
    with torch.cuda.stream(torch.cuda.default_stream()):
        delay()  # Burn's work goes there, too
    ours = burn.mul_scalar(ours, 2.0)
    out = c_void_p()
    burn.check(to_dlpack_on(ours, consumer.cuda_stream, byref(out)))
    assert turn == 0 or not consumer.query(), "the consumer has nothing to wait for"
    with torch.cuda.stream(consumer):
        y = torch.from_dlpack(shared.capsule_make(out, shared.NAME, None))
        total = (y + 1).sum()
    assert host_waits(device) == before, "the host waited"
    consumer.synchronize()
    want = (1 << 20) * (2.0 * (turn + 1) + 1)
    assert total.item() == want, f"{total.item()} instead of {want}"
    del x, y

wrong = given(torch.ones(4, device="cuda"), 0)
assert b"0 is not a stream of DLPack's protocol" in burn.message(tensor_status(wrong))
drop(wrong)
burn.close(device)
print("dlpack_streams: right in both directions, without a wait of the host")
