"""store_read.py FOLDER: reads what store_save_test.c wrote, as those read it for whom it is: net.safetensors by the safetensors package, net.npz by
NumPy, net.pt by torch.load(weights_only=True). Where a package is missing, by the definition of the format: a pickle by Python's own, with
nothing allowed but what torch.load allows. Prints a line per tensor: file, name, dtype, shape, values."""
import collections
import importlib.util
import json
import math
import pathlib
import pickle
import pickletools
import struct
import sys
import zipfile

FOLDER = pathlib.Path(sys.argv[1])
CODES = {"F32": "f", "F16": "e", "I64": "q", "FloatStorage": "f", "HalfStorage": "e", "LongStorage": "q"}


def has(package):
    return importlib.util.find_spec(package) is not None


def show(file, name, dtype, shape, values):
    print(file, name, dtype, "x".join(map(str, shape)), " ".join(f"{v:g}" for v in values))


def safetensors(path):
    raw = path.read_bytes()
    length, = struct.unpack_from("<Q", raw)
    assert (8 + length) % 8 == 0, "the values are not aligned"
    header = json.loads(raw[8:8 + length])
    for name, value in sorted((header.get("__metadata__") or {}).items()):
        print(path.name, "metadata", name, value)
    end = 0
    for name, row in header.items():
        if name == "__metadata__":
            continue
        begin, end = row["data_offsets"]
        count = math.prod(row["shape"])
        show(path.name, name, row["dtype"], row["shape"], struct.unpack_from(f"<{count}{CODES[row['dtype']]}", raw, 8 + length + begin))
    assert 8 + length + end == len(raw), "the file is longer than its tensors"
    if has("safetensors") and has("numpy"):
        from safetensors.numpy import load_file
        loaded = load_file(path)
        assert set(loaded) == set(header) - {"__metadata__"}
        for name, value in loaded.items():
            begin, end = header[name]["data_offsets"]
            assert list(value.shape) == header[name]["shape"] and value.tobytes() == raw[8 + length + begin:8 + length + end], name


class Storage:
    def __init__(self, kind, key):
        self.kind, self.key = kind, key


class StateDict(pickle.Unpickler):
    """What torch.load allows with weights_only=True, and nothing else."""

    def __init__(self, archive):
        self.archive = archive
        super().__init__(archive.open("archive/data.pkl"))

    def find_class(self, module, name):
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return self.rebuild
        if module == "torch" and name in CODES:
            return name
        raise pickle.UnpicklingError(f"{module}.{name} is not allowed")

    def persistent_load(self, pid):
        tag, kind, key, device, count = pid
        assert (tag, device) == ("storage", "cpu")
        raw = self.archive.read(f"archive/data/{key}")
        assert len(raw) == count * struct.calcsize(CODES[kind]), "a storage of another size"
        return kind, struct.unpack(f"<{count}{CODES[kind]}", raw)

    @staticmethod
    def rebuild(storage, offset, size, stride, requires_grad, hooks):
        kind, values = storage
        assert len(size) == len(stride) and not requires_grad and not hooks
        indices = [offset]
        for n, step in zip(size, stride):
            indices = [i + k * step for i in indices for k in range(n)]
        return kind, size, [values[i] for i in indices]


def torch_zip(path):
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        pickletools.dis(archive.read("archive/data.pkl"), out=open("/dev/null", "w"))  # fails where the stack does not fit
        assert archive.read("archive/version") == b"3\n"
        state = StateDict(archive).load()
        assert type(state) is collections.OrderedDict
        for name, (kind, size, values) in state.items():
            show(path.name, name, kind, size, values)
    if has("torch"):
        import torch
        loaded = torch.load(path, weights_only=True)
        assert list(loaded) == list(state)
        for name, (_, size, values) in state.items():
            assert list(loaded[name].shape) == list(size) and loaded[name].flatten().tolist() == list(values), name


def npz(path):
    if not has("numpy"):
        return
    import numpy
    with numpy.load(path) as arrays:
        for name in arrays.files:
            show(path.name, name, arrays[name].dtype.name, arrays[name].shape, arrays[name].ravel().tolist())


safetensors(FOLDER / "net.safetensors")
torch_zip(FOLDER / "net.pt")
npz(FOLDER / "net.npz")
