#!/usr/bin/env python3
"""dlpack_torch.py - tensors between PyTorch and Burn without a copy, in both
directions, from Python by ctypes alone.

    python3 dlpack_torch.py LIBBURN [STACK [DEVICE]]
        libburn.so, "ndarray" unless told otherwise; PyTorch's device is
        "cuda" for stacks on one, such as "cuda" and "torch:cuda:0", else "cpu"

Shares a transposed tensor of PyTorch with the backend, gives it back, and
doubles it there. Each result says where it lies; the status is 0 if nothing was
copied on the way and the numbers are right, 77 where there is no PyTorch with
DLPack 1 (2.6 or newer)."""
import ctypes
import sys
from ctypes import byref, c_char_p, c_double, c_uint64, c_void_p, py_object

try:
    import torch
except ImportError:
    print("dlpack_torch: skipped, this Python has no torch")
    sys.exit(77)

NAME, USED_NAME = b"dltensor_versioned", b"used_dltensor_versioned"


def declare(library, name, result, *arguments):
    function = getattr(library, name)
    function.restype, function.argtypes = result, arguments
    return function


class Burn:
    """The few functions of burn/tensor.h, burn/device.h and burn/dlpack.h that
    are needed; a status of 0 is success."""

    def __init__(self, path):
        library = ctypes.CDLL(path)

        def function(name, result, *arguments):
            return declare(library, name, result, *arguments)

        handle = c_void_p
        self.open = function("burn_device_open", handle, c_char_p)
        self.device_status = function("burn_device_status", c_uint64, handle)
        self.close = function("burn_device_close", None, handle)
        self.message = function("burn_status_message", c_char_p, c_uint64)
        self.clone = function("burn_clone", handle, handle)
        self.mul_scalar = function("burn_mul_scalar", handle, handle, c_double)
        self.from_dlpack = function("burn_from_dlpack", handle,
                                    c_void_p, handle)
        self.to_dlpack = function("burn_to_dlpack", c_uint64, handle, c_void_p)

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.message(status).decode())


python = ctypes.pythonapi
capsule_pointer = declare(python, "PyCapsule_GetPointer", c_void_p,
                          py_object, c_char_p)
capsule_rename = declare(python, "PyCapsule_SetName", ctypes.c_int,
                         py_object, c_char_p)
capsule_make = declare(python, "PyCapsule_New", py_object,
                       c_void_p, c_char_p, c_void_p)


def to_burn(burn, tensor, device):
    """A Burn tensor over the memory of `tensor`. A capsule that was consumed
    has another name, so that nobody frees it twice."""
    capsule = tensor.__dlpack__(max_version=(1, 0))
    pointer = capsule_pointer(capsule, NAME)
    capsule_rename(capsule, USED_NAME)
    return burn.from_dlpack(pointer, device)


def to_torch(burn, tensor):
    """A PyTorch tensor over the memory of a Burn tensor, which is taken."""
    out = c_void_p()
    burn.check(burn.to_dlpack(tensor, byref(out)))
    return torch.from_dlpack(capsule_make(out, NAME, None))


def main(path, stack="ndarray", torch_device=None):
    torch_device = torch_device or ("cuda" if "cuda" in stack else "cpu")
    burn = Burn(path)
    device = burn.open(stack.encode())
    burn.check(burn.device_status(device))
    x = torch.arange(12, dtype=torch.float32, device=torch_device)
    x = x.reshape(3, 4).t()
    try:
        shared = to_burn(burn, x, device)
    except TypeError:  # __dlpack__ knows no max_version
        print(f"dlpack_torch: skipped, torch {torch.__version__} "
              "has no DLPack 1")
        return 77
    back = to_torch(burn, burn.clone(shared))
    doubled = to_torch(burn, burn.mul_scalar(shared, 2.0))
    same = back.data_ptr() == x.data_ptr() and back.stride() == x.stride()
    right = torch.equal(doubled, 2 * x) and torch.equal(back, x)
    print(f"{stack}: shared {tuple(back.shape)} with strides {back.stride()} "
          f"at {back.data_ptr():#x}, PyTorch's at {x.data_ptr():#x}; "
          f"doubled on {doubled.device}: {'right' if right else 'wrong'}")
    del back, doubled
    burn.close(device)
    return 0 if same and right else 1


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
