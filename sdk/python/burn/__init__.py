"""Burn: deep learning with backends as plugins.

    import burn
    from burn import nn

    x = burn.tensor([[1.0, 2.0], [3.0, 4.0]])
    print((x @ x).relu())

Names, defaults and files are those of Burn. burn._c has every function of the C API by its name there."""
from . import _c

if not _c.in_main_interpreter():
    raise ImportError("burn works in the main interpreter of a process only, not in subinterpreters")

from ._c import BurnError  # noqa: E402
from .device import Device, default_device, seed, set_default_device
from .dtype import DType, bf16, bool_, f16, f32, f64, i8, i16, i32, i64, u8
from .module import Buffer, Module, Param, load, save
from .tensor import (Gradients, Tensor, arange, cat, cross_entropy, eye, from_dlpack, full, normal, ones, stack, tensor, uniform, zeros)
from . import data, nn, onnx, optim, schedule, store, train

__version__ = _c.burn_version()
__all__ = ["BurnError", "Buffer", "DType", "Device", "Gradients", "Module", "Param", "Tensor", "arange", "bf16", "bool_", "cat", "cross_entropy", "data",
           "default_device", "eye", "f16", "f32", "f64", "from_dlpack", "full", "i16", "i32", "i64", "i8", "load", "nn", "normal", "ones", "onnx",
           "optim", "save", "schedule", "seed", "set_default_device", "stack", "store", "tensor", "train", "u8", "uniform", "zeros"]
