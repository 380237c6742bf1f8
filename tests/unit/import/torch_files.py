"""torch_files.py BURN FOLDER: what the PyTorch of this Python writes is read by `burn weights` with the same names, dtypes and values, or refused
with a word; and what `burn weights convert` writes is read by torch.load(weights_only=True). Exit status 77 where Python lacks a package."""
import collections
import pathlib
import subprocess
import sys
import warnings

try:
    import numpy
    import torch
    from safetensors.torch import load_file
except ImportError as missing:
    print("skipped:", missing)
    sys.exit(77)

BURN, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
FOLDER.mkdir(parents=True, exist_ok=True)
# There are no such dtypes here; the next larger one holds them.
WIDER = {torch.uint16: torch.int32, torch.uint32: torch.int64, torch.uint64: torch.int64}
torch.manual_seed(3)
warnings.simplefilter("ignore")  # of what is old or young in PyTorch
wrong = []


def check(what, holds, *more):
    if not holds:
        wrong.append(what)
        print("FAILED", what, *more)


def convert(source, target):
    return subprocess.run([BURN, "weights", "convert", source, target, "--overwrite"], capture_output=True, text=True)


def equal(lhs, rhs):
    """Bit by bit, so that NaN is NaN."""
    lhs, rhs = (x.detach().contiguous().reshape(-1).view(torch.uint8) for x in (lhs, rhs))
    return torch.equal(lhs, rhs)


def flat(value, name=""):
    """Names as the reader gives them: keys and places with dots between."""
    if isinstance(value, torch.Tensor):
        return {name: value}
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else []
    found = {}
    for key, part in items:
        found.update(flat(part, f"{name}.{key}" if name else str(key)))
    return found


def same(what, path, wanted):
    result = convert(path, FOLDER / "out.safetensors")
    check(f"{what}: converted", result.returncode == 0, result.stderr)
    if result.returncode != 0:
        return
    found = load_file(FOLDER / "out.safetensors")
    check(f"{what}: names", sorted(found) == sorted(wanted), sorted(found), sorted(wanted))
    for name in set(found) & set(wanted):
        value = wanted[name].to(WIDER.get(wanted[name].dtype, wanted[name].dtype))
        alike = found[name].shape == value.shape and found[name].dtype == value.dtype
        check(f"{what}: {name}", alike and equal(found[name], value), found[name].dtype, found[name].shape, value.dtype, value.shape)


def saved(what, value, wanted=None, **options):
    path = FOLDER / (what.replace(" ", "_") + ".pt")
    torch.save(value, path, **options)
    same(what, path, flat(value) if wanted is None else wanted)
    return path


def refused(what, value, *words, **options):
    path = FOLDER / (what.replace(" ", "_") + ".pt")
    torch.save(value, path, **options)
    result = convert(path, FOLDER / "out.safetensors")
    check(f"{what}: refused", result.returncode == 1, result.returncode, result.stdout)
    for word in words:
        check(f"{what}: says {word}", word in result.stderr, result.stderr)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 4, 3)
        self.norm = torch.nn.BatchNorm2d(4)
        self.blocks = torch.nn.ModuleList([torch.nn.Linear(4, 4), torch.nn.Linear(4, 2, bias=False)])
        self.register_buffer("mask", torch.ones(3, dtype=torch.bool))
        self.tied = self.blocks[0].weight

    def forward(self, x):
        return self.blocks[1](self.blocks[0](self.norm(self.conv(x)).mean((2, 3))))


net = Net()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 5)
net(torch.randn(2, 1, 8, 8)).square().mean().backward()
optimizer.step()
wide = torch.arange(24, dtype=torch.float32)
every = {str(dtype)[6:]: torch.arange(6).reshape(2, 3).to(dtype) for dtype in
         (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool,
          torch.uint16, torch.uint32, torch.uint64)}
views = {"base": wide, "part": wide[3:9], "turned": wide.reshape(4, 6).t(), "steps": wide[1::3], "expanded": wide[:4].expand(3, 4), "scalar": wide[5],
         "none": torch.empty(0, 3), "channels_last": torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last), "nan": torch.tensor([float("nan"), float("inf")])}
old = {"_use_new_zipfile_serialization": False}

for name, options in (("zip", {}), ("stream", old), ("protocol 4", {"pickle_protocol": 4}), ("stream of protocol 4", {**old, "pickle_protocol": 4})):
    saved(f"state dict, {name}", net.state_dict(), **options)
    saved(f"views, {name}", views, **options)
    saved(f"dtypes, {name}", {k: v for k, v in every.items() if not options.get("_use_new_zipfile_serialization", True) is False or k[:2] != "ui"
                              or k == "uint8"}, **options)
    saved(f"checkpoint, {name}", {"epoch": 3, "model": net.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": schedule.state_dict(),
                                  "rng": torch.get_rng_state(), "config": {"sizes": (1, 2), "name": "net", "rate": 0.1}, "best": None}, **options)
    saved(f"nested, {name}", [{"a": wide[:2]}, (wide[2:4], {"b": [wide[4:6]]})], **options)
    saved(f"one tensor, {name}", {"x": wide.reshape(2, 3, 4)}, **options)
    saved(f"whole module, {name}", net, wanted={**net.state_dict()}, **options)
saved("unsigned, stream", {k: v for k, v in every.items() if k[:4] == "uint"}, **old)
saved("parameters", {"p": torch.nn.Parameter(wide[:4]), "list": list(net.parameters())[:2]})
saved("subclass", collections.OrderedDict(x=torch.nn.Buffer(wide[:3])) if hasattr(torch.nn, "Buffer") else {"x": wide[:3]})
saved("numpy", {"array": numpy.arange(4, dtype=numpy.float32), "x": wide[:2]}, wanted={"array": torch.arange(4, dtype=torch.float32), "x": wide[:2]})
saved("conjugate free", {"real": torch.view_as_real(torch.tensor([1 + 2j, 3 - 4j]))})

refused("complex", {"z": torch.tensor([1 + 2j])}, "z", "complex64")
refused("float8", {"f": torch.zeros(3).to(torch.float8_e4m3fn)}, "f", "float8_e4m3fn")
refused("quantized", {"q": torch.quantize_per_tensor(torch.randn(2, 2), 0.1, 3, torch.qint8)}, "quant")
refused("quantized by channel", {"q": torch.quantize_per_channel(torch.randn(2, 2), torch.tensor([0.1, 0.2]), torch.tensor([0, 0]), 0, torch.qint8)}, "quant")
refused("sparse", {"s": torch.eye(3).to_sparse()}, "sparse")
refused("sparse rows", {"s": torch.eye(3).to_sparse_csr()}, "sparse")
refused("nested tensor", {"n": torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])}, "nested")

# An exported program is refused, and the way to its weights that the message tells is one.
if hasattr(torch, "export"):
    archive = FOLDER / "exported_program.pt2"
    torch.export.save(torch.export.export(torch.nn.Linear(3, 2), (torch.ones(1, 3),)), archive)
    message = convert(archive, FOLDER / "out.safetensors").stderr
    call = "torch.save(torch.export.load(\"model.pt2\").state_dict, \"model.pt\")"
    check("exported program: refused", "an exported program" in message and call in message, message)
    saved("weights of an exported program", torch.export.load(archive).state_dict)


class Evil:
    def __reduce__(self):
        return print, ("code of the file has run",)


# Nothing of a file is called, so an object that no tensor depends on does no harm.
path = saved("code", {"x": Evil(), "y": wide[:2]}, wanted={"y": wide[:2]})
check("code: not run", "has run" not in convert(path, FOLDER / "out.safetensors").stdout)

# The other way, and from one of PyTorch's files to another.
state = {**net.state_dict(), "bf16": every["bfloat16"], "half": every["float16"], "i32": every["int32"], "u8": every["uint8"]}
torch.save(state, FOLDER / "state.pt")
result = convert(FOLDER / "state.pt", FOLDER / "again.pt")
check("written", result.returncode == 0, result.stderr)
loaded = torch.load(FOLDER / "again.pt", weights_only=True)
check("written: names", list(loaded) == list(state), list(loaded))
for name, value in state.items():
    check(f"written: {name}", loaded[name].dtype == value.dtype and loaded[name].shape == value.shape and equal(loaded[name], value), loaded[name])
check("written: load_state_dict", not Net().load_state_dict({k: loaded[k] for k in net.state_dict()}).missing_keys)
check("written: mmap", torch.equal(torch.load(FOLDER / "again.pt", weights_only=True, mmap=True)["conv.weight"], state["conv.weight"]))
torch.save({name: value for name, value in state.items() if name != "bf16"}, FOLDER / "state.pt")
check("written as npz", convert(FOLDER / "state.pt", FOLDER / "again.npz").returncode == 0)
with numpy.load(FOLDER / "again.npz") as found:
    check("written as npz: names", sorted(found.files) == sorted(set(state) - {"bf16"}), found.files)
    for name in found.files:
        check(f"written as npz: {name}", numpy.array_equal(found[name].ravel(), state[name].detach().numpy().ravel()), found[name])
print(f"PyTorch {torch.__version__}: {len(wrong)} wrong")
sys.exit(len(wrong) > 0)
