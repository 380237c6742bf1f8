"""Writes pytorch_golden.h: files as torch.save writes them, made by Python's own pickle and zipfile.

PyTorch is not needed: modules with its names stand in for it here, whose objects pickle themselves as its own do
(torch/_utils.py, torch/serialization.py), and the values are in the tests. Run: python3 make_pytorch_golden.py
"""
import collections
import io
import pathlib
import pickle
import struct
import sys
import tarfile
import types
import zipfile

OUT = pathlib.Path(__file__).resolve().parent / "pytorch_golden.h"


def fake(module, **names):
    made = types.ModuleType(module)
    for name, value in names.items():
        setattr(made, name, value)
        value.__module__ = module
        value.__qualname__ = value.__name__ = name
    sys.modules[module] = made
    parent, _, last = module.rpartition(".")
    if parent:
        setattr(sys.modules[parent], last, made)
    return made


def function():
    return lambda *args: None


STORAGES = {"f": "FloatStorage", "d": "DoubleStorage", "e": "HalfStorage", "q": "LongStorage", "?": "BoolStorage", "H": "BFloat16Storage"}
torch = fake("torch", **{name: type(name, (), {}) for name in STORAGES.values()}, Size=type("Size", (), {}))
fake("torch.storage", UntypedStorage=type("UntypedStorage", (), {}))
fake("torch._utils", **{name: function() for name in ("_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3", "_rebuild_parameter", "_rebuild_sparse_tensor",
                                                            "_rebuild_meta_tensor_no_storage")})
fake("torch._tensor", _rebuild_from_type_v2=function())
fake("model", Net=type("Net", (), {}), Options=type("Options", (), {}))
fake("numpy", dtype=function())
fake("numpy.core")
fake("numpy.core.multiarray", scalar=function(), _reconstruct=function())
numpy = sys.modules["numpy"]
numpy.ndarray = type("ndarray", (), {"__module__": "numpy"})


class DType:
    """torch.uint16 and others pickle as names."""

    def __init__(self, name):
        self.name, self.__module__ = name, "torch"
        setattr(torch, name, self)

    def __reduce__(self):
        return self.name


class Storage:
    """Elements of a struct code, under a key; untyped ones are counted in bytes."""

    def __init__(self, key, code, values, order="<", untyped=False):
        self.key, self.code, self.untyped = key, code, untyped
        self.bytes = struct.pack("%s%d%s" % (order, len(values), code), *values)
        self.count = len(self.bytes) if untyped else len(values)


class Call:
    """Pickles as a call of a function, with a state if there is one."""

    def __init__(self, function, *args, state=None):
        self.made = (function, args) if state is None else (function, args, state)

    def __reduce__(self):
        return self.made


def tensor(storage, shape, strides, offset=0, name="_rebuild_tensor_v2"):
    args = (storage, offset, shape, strides)
    if name != "_rebuild_tensor":
        args += (False, collections.OrderedDict())
    return Call(getattr(sys.modules["torch._utils"], name), *args)


def dumps(value, legacy=False, protocol=2):
    out = io.BytesIO()

    class Pickler(pickle._Pickler):
        def persistent_id(self, obj):
            if not isinstance(obj, Storage):
                return None
            of = sys.modules["torch.storage"].UntypedStorage if obj.untyped else getattr(torch, STORAGES[obj.code])
            id = ("storage", of, obj.key, "cpu", obj.count)
            return id + (None,) if legacy else id

        def save_pers(self, pid):  # as all protocols but 0 do, which has none that is a tuple
            self.save(pid, save_persistent_id=False)
            self.write(pickle.BINPERSID)

    Pickler(out, protocol).dump(value)
    return out.getvalue()


def as_zip(value, storages, order="little", method=zipfile.ZIP_STORED, protocol=2):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        def put(name, data):
            archive.writestr(zipfile.ZipInfo("model/" + name, (1980, 1, 1, 0, 0, 0)), data, method)
        put("data.pkl", dumps(value, protocol=protocol))
        put("byteorder", order)
        for storage in storages:
            put("data/" + storage.key, storage.bytes)
        put("version", "3\n")
    return out.getvalue()


def as_stream(value, storages, little=True):
    head = [0x1950a86a20f9469cfc6c, 1001, {"protocol_version": 1001, "little_endian": little, "type_sizes": {"int": 4}}]
    order = "<" if little else ">"
    out = b"".join(pickle.dumps(part, 2) for part in head) + dumps(value, legacy=True)
    out += pickle.dumps(sorted(s.key for s in storages), 2)
    return out + b"".join(struct.pack(order + "q", s.count) + s.bytes for s in sorted(storages, key=lambda s: s.key))


def as_tar():
    """The layout of PyTorch 0.1: fc.weight is transposed, fc.row a tensor of a view of the same storage."""
    def pickled(value):
        out = io.BytesIO()

        class Pickler(pickle._Pickler):
            def persistent_id(self, obj):
                return obj.key if isinstance(obj, Storage) else None
        Pickler(out, 2).dump(value)
        return out.getvalue()
    storages = pickled(1) + pickled((1000, "cpu", torch.FloatStorage)) + struct.pack("<q6f", 6, *[0.5 * i for i in range(6)])
    storages += pickled([(2000, 1000, 3, 3)])
    tensors = pickled(2) + pickled((77, 1000, torch.FloatStorage)) + struct.pack("<ii2q2qq", 2, 0, 3, 2, 1, 3, 0)
    tensors += pickled((88, 2000, torch.FloatStorage)) + struct.pack("<iiqqq", 1, 0, 3, 1, 0)
    value = collections.OrderedDict([("fc.weight", Storage("77", "f", [])), ("fc.row", Storage("88", "f", []))])
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in (("sys_info", pickled({})), ("pickle", pickled(value)), ("tensors", tensors), ("storages", storages)):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()[:-5 * 1024]  # of the zeros at the end 1 KB stays


def ordered(pairs, metadata=True):
    made = collections.OrderedDict(pairs)
    if metadata:
        made._metadata = collections.OrderedDict([("", {"version": 1})])
    return made


def state_dict(order="<"):
    """All dtypes; one storage of three tensors, transposed, a scalar and a row of it; no elements."""
    shared = Storage("0", "f", [0.5 * i for i in range(6)], order)
    storages = [shared, Storage("1", "d", [1.25, -2.0], order), Storage("2", "e", [0.5, 65504.0], order),
                Storage("3", "q", [-(1 << 40)], order), Storage("4", "?", [True, False], order), Storage("5", "H", [0x3fc0, 0xc000], order),
                Storage("6", "f", [], order)]
    tensors = ordered([
        ("fc.weight", tensor(shared, (3, 2), (1, 3))), ("fc.row", tensor(shared, (3,), (1,), 3)), ("fc.scalar", tensor(shared, (), (), 5)),
        ("fc.wide", tensor(shared, (2, 3), (0, 1))), ("double", tensor(storages[1], (2,), (1,))),
        ("half", Call(sys.modules["torch._utils"]._rebuild_parameter, tensor(storages[2], (2,), (1,)), True, collections.OrderedDict())),
        ("steps", tensor(storages[3], (), ())), ("flags", tensor(storages[4], (2,), (1,))), ("brain", tensor(storages[5], (2,), (1,))),
        ("none", tensor(storages[6], (0, 4), (4, 1)))])
    return tensors, storages


def unsigned(order="<"):
    """Dtypes without a storage class: the tensor says which, its storage is bytes (Tensor._reduce_ex_internal)."""
    rows = [("uint16", "H", [1, 65535, 3, 40000]), ("uint32", "I", [4294967295, 7]), ("uint64", "Q", [(1 << 63) - 1, 5]), ("large", "Q", [1 << 63]),
            ("float8_e4m3fn", "B", [0x38]), ("float8_e5m2", "B", [0x38]), ("float8_e4m3fnuz", "B", [0x38]), ("float8_e5m2fnuz", "B", [0x38]),
            ("float8_e8m0fnu", "B", [0x7f]), ("float4_e2m1fn_x2", "B", [0x21]), ("complex32", "I", [0]), ("bits8", "B", [1]), ("uint4", "B", [1]),
            ("int3", "B", [1])]
    storages = [Storage(str(i), code, values, order, untyped=True) for i, (_, code, values) in enumerate(rows)]
    tensors = []
    for (name, _, values), storage in zip(rows, storages):
        of = "uint64" if name == "large" else name
        dtype = getattr(torch, of, None) or DType(of)
        tensors.append((name, Call(sys.modules["torch._utils"]._rebuild_tensor_v3, storage, 0, (len(values),), (1,), False, collections.OrderedDict(), dtype)))
    turned = Call(sys.modules["torch._utils"]._rebuild_tensor_v3, storages[0], 0, (2, 2), (1, 2), False, collections.OrderedDict(), torch.uint16)
    codes = Call(numpy.dtype, "u2", 0, 1, state=(3, order, None, None, None, -1, -1, 0))
    array = Call(sys.modules["numpy.core.multiarray"]._reconstruct, numpy.ndarray, (0,), b"b", state=(1, (2,), codes, False, struct.pack(order + "2H", 9, 50000)))
    return ordered(tensors + [("turned", turned), ("array", array)]), storages


def checkpoint():
    """What training scripts save: a state dict, that of an optimizer, numbers, and objects of the script."""
    weight, moment = Storage("0", "f", [1.0, 2.0]), Storage("1", "f", [3.0, 4.0])
    f8 = Call(numpy.dtype, "f8", 0, 1, state=(3, "<", None, None, None, -1, -1, 0))
    array = Call(sys.modules["numpy.core.multiarray"]._reconstruct, numpy.ndarray, (0,), b"b",
                 state=(1, (2,), f8, False, struct.pack("<2d", 0.5, -200.0)))
    options = sys.modules["model"].Options()
    options.layers, options.name = 3, "small"
    value = {"epoch": 7, "best": Call(sys.modules["numpy.core.multiarray"].scalar, f8, struct.pack("<d", 91.5)),
             "state_dict": ordered([("weight", tensor(weight, (2,), (1,)))]),
             "optimizer": {"state": {0: {"step": 12, "exp_avg": tensor(moment, (2,), (1,))}}, "param_groups": [{"lr": 0.125, "params": [0]}]},
             "options": options, "scores": array}
    value["self"] = value
    return value, [weight, moment]


def whole_module():
    """torch.save(model): objects whose parameters, buffers and modules are in their state."""
    weight, mean = Storage("0", "f", [1.0, 2.0]), Storage("1", "f", [3.0])

    def net(**parts):
        made = sys.modules["model"].Net()
        made.__dict__.update(training=True, _parameters=collections.OrderedDict(), _buffers=collections.OrderedDict(),
                             _modules=collections.OrderedDict())
        made.__dict__.update(parts)
        return made
    inner = net(_parameters=collections.OrderedDict(weight=tensor(weight, (2,), (1,)), bias=None),
                _buffers=collections.OrderedDict(mean=tensor(mean, (1,), (1,))))
    return net(_modules=collections.OrderedDict(norm=inner)), [weight, mean]


def sparse():
    part = Storage("0", "f", [1.0])
    return {"a": {"w": Call(sys.modules["torch._utils"]._rebuild_sparse_tensor, 1, (tensor(part, (1,), (1,)),))}}, [part]


def left_out():
    """Tensors without values, and without a name: below keys that are a tuple and a float."""
    part = Storage("0", "f", [1.0, 2.0])
    one = tensor(part, (2,), (1,))
    meta = Call(sys.modules["torch._utils"]._rebuild_meta_tensor_no_storage, getattr(torch, "float32", None) or DType("float32"), (3,), (1,), False)
    return {"a": one, "b": {(2, 3): [one, {"c": tensor(part, (1,), (1,))}], None: 7}, 1.5: one, "m": {"w": meta}}, [part]


def files():
    """Name and bytes of every file."""
    return {
        "state_dict": as_zip(*state_dict()),
        "state_dict_deflated": as_zip(*state_dict(), method=zipfile.ZIP_DEFLATED),
        "state_dict_protocol_0": as_zip(*state_dict(), protocol=0),
        "state_dict_protocol_1": as_zip(*state_dict(), protocol=1),
        "state_dict_protocol_5": as_zip(*state_dict(), protocol=5),
        "big_endian": as_zip(*state_dict(">"), order="big"),
        "legacy": as_stream(*state_dict()),
        "legacy_big_endian": as_stream(*state_dict(">"), little=False),
        "unsigned": as_zip(*unsigned()),
        "unsigned_big_endian": as_stream(*unsigned(">"), little=False),
        "checkpoint": as_zip(*checkpoint()),
        "whole_module": as_zip(*whole_module()),
        "tar": as_tar(),
        "sparse": as_zip(*sparse()),
        "left_out": as_zip(*left_out()),
    }


def main():
    lines = ["/* Written by make_pytorch_golden.py; do not edit. */"]
    for name, data in files().items():
        rows = [", ".join("0x%02x" % byte for byte in data[at:at + 20]) for at in range(0, len(data), 20)]
        lines += ["static const unsigned char pytorch_%s[] = {" % name, *["    %s," % row for row in rows], "};"]
    OUT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
