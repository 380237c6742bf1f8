"""Dtypes: burn.f32 and so on are numbers of C with a name."""
import enum

from . import _c



class _Named(enum.IntEnum):
    def __repr__(self):
        return f"burn.{self.name}"

    __str__ = __repr__


DType = _Named("DType", {name[11:].lower().replace("bool", "bool_"): getattr(_c, name) for name in dir(_c)
                         if name.startswith("BURN_DTYPE_") and name not in ("BURN_DTYPE_LIMIT", "BURN_DTYPE_DEFAULT")})
f64, f32, f16, bf16 = DType.f64, DType.f32, DType.f16, DType.bf16
i64, i32, i16, i8 = DType.i64, DType.i32, DType.i16, DType.i8
u8 = DType.u8
bool_ = DType.bool_

# Letters of Python's array and struct modules, and NumPy's short names, of dtypes that these have.
LETTERS = {f64: "d", f32: "f", f16: "e", i64: "q", i32: "i", i16: "h", i8: "b", u8: "B", bool_: "?"}
NUMPY = {"f8": f64, "f4": f32, "f2": f16, "i8": i64, "i4": i32, "i2": i16, "i1": i8, "u1": u8, "b1": bool_}
FLOATS = (f64, f32, f16, bf16)
