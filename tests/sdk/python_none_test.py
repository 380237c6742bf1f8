#!/usr/bin/env python3
"""No None ends Python: python_none_test.py BURN_JSON. Every function of burn._c gets None for each of its pointers and for all of them, and
every public function, class and method of the package None for each of its arguments. A child process does it, so that a call that ends the
process is one that the test can name; what it raises does not matter here."""
import contextlib
import ctypes
import inspect
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import burn
from burn import _c, nn

from onnx_files import TINY

JSON = pathlib.Path(sys.argv[1]).resolve()
DATA = json.loads(JSON.read_text())
FUNCTIONS = {f["name"]: f for f in DATA["functions"] if hasattr(_c, f["name"])}
TYPES = {t["name"]: t for t in DATA["types"]}
PROGRESS = 200  # the descriptor of a child's pipe; burn_plugin_answer writes to 3
SECONDS = 100  # after which a child hangs
HANDLES = {
    "BurnBackend": lambda: _c.burn_device_backend(burn.default_device()),
    "BurnBatches": lambda: _c.burn_loader_start(loader()._loader, burn.default_device(), 1, 0),
    "BurnCalibration": lambda: _c.burn_calibration_begin(nn.Linear(2, 2)._module(), _c.BurnQuantizer()),
    "BurnDataset": lambda: burn.data.Dataset.items([{"x": 1.0}] * 4),
    "BurnDevice": lambda: burn.default_device(),
    "BurnFolderLock": lambda: _c.burn_folder_lock("."),
    "BurnGradients": lambda: burn.ones(2).require_grad().sum().backward(),
    "BurnGradientsParams": lambda: _c.burn_gradients_params_create(),
    "BurnGraph": lambda: burn.onnx.load(TINY)._graph,
    "BurnHost": lambda: _c.burn_host(),
    "BurnJsonLines": lambda: _c.burn_json_lines_create("lines"),
    "BurnLbfgs": lambda: _c.burn_lbfgs_create(None),
    "BurnLoader": lambda: loader()._loader,
    "BurnMultiGradientsParams": lambda: _c.burn_multi_gradients_params_create(),
    "BurnNpz": lambda: _c.burn_npz_open("kept.npz"),
    "BurnOptimizer": lambda: _c.burn_sgd_create(None),
    "BurnPendingRead": lambda: _c.burn_read_start(burn.ones(2)),
    "BurnPrimitive": lambda: _c.burn_tensor_primitive(burn.ones(2)),
    "BurnPrometheus": lambda: _c.burn_prometheus_create("prometheus", 1),
    "BurnScope": lambda: None,  # one that is open would take the tensors of other calls
    "BurnStaging": lambda: _c.burn_staging_open(burn.default_device(), 64, 2),
    "BurnStagingSlot": lambda: _c.burn_staging_take(made("BurnStaging")),
    "BurnStore": lambda: burn.store.open("kept.safetensors"),
    "BurnTensor": lambda: burn.ones(2, 2),
    "BurnTensorboard": lambda: _c.burn_tensorboard_create("board"),
    "BurnTextTokenizer": lambda: _c.burn_text_tokenizer_open("vocab.txt"),
    "BurnTokenizer": lambda: _c.burn_tokenizer_characters("abc", 3),
    "BurnTransitionBuffer": lambda: _c.burn_transition_buffer_create(4, [2], 0),
    "BurnValue": lambda: _c.burn_value_map(),
    "BurnZip": lambda: _c.burn_zip_open(pathlib.Path("kept.npz").read_bytes(), pathlib.Path("kept.npz").stat().st_size),
}


def called(*arguments):
    """What C calls back, which gives nothing."""


def loader():
    return burn.data.Loader(burn.data.Dataset.items([{"x": 1.0}] * 4), 2)


def made(name):
    """A handle, or None where there is no way to one."""
    return HANDLES[name]() if name in HANDLES else None


def begin():
    """Makes what samples are made of, in the current folder."""
    global STREAM
    libc = ctypes.CDLL(None)
    libc.fopen.restype = ctypes.c_void_p
    STREAM = libc.fopen(b"/dev/null", b"w")
    burn.set_default_device("ndarray")
    burn.store.save(nn.Linear(2, 2), "kept.safetensors", overwrite=True)
    burn.store.save(nn.Linear(2, 2), "kept.npz", overwrite=True)
    pathlib.Path("vocab.txt").write_text("[PAD]\n[UNK]\na\nb\n")


# -- the functions of C --------------------------------------------------------------------------


def parameters(name):
    """Of a function in Python, with their names: results and counts are none of C's there."""
    inside = getattr(_c, name).__doc__.split("\n", 1)[0][len(name) + 1:-1]
    named = {p["name"]: p for p in FUNCTIONS[name]["parameters"]}
    return [named[n] for n in inside.split(", ")] if inside else []


def kind_of(base):
    return TYPES.get(base, {}).get("kind", "")


def base_of(type_):
    base = type_["base"]
    while kind_of(base) == "alias":
        base = TYPES[base]["type"]["base"]
    return base


def is_pointer(p):
    return bool(p["type"].get("pointers") or "array" in p["type"] or p["type"]["base"] == "function" or kind_of(p["type"]["base"]) == "callback")


def struct(name):
    """A module as its config's defaults have it, a config with them, and others with zeros."""
    init = next((f for f in FUNCTIONS.values() if f["result"]["type"]["c"] == name and f["name"].endswith("_init")), None)
    try:
        return call(init["name"]) if init else call(name + "_defaults") if name + "_defaults" in FUNCTIONS else getattr(_c, name)()
    except burn.BurnError:
        return getattr(_c, name)()


def sample(p, called_back=False):
    """A value for a parameter; a context is what the function calls back, if it does."""
    type_, base = p["type"], base_of(p["type"])
    depth = type_.get("pointers", 0) + ("array" in type_)
    if p.get("role") == "room":
        return 2
    if base == "BurnModule":
        return nn.Linear(2, 2)._module()
    if base == "function" or kind_of(base) == "callback":
        return _c.callbacks.get(base)
    if p["name"] == "context":
        return id(called) if called_back else bytearray(1024)
    if base == "FILE":
        return STREAM
    if kind_of(base) == "handle":
        return made(base) if depth == 1 else [made(base)]
    if base == "char" and depth:
        return bytearray(type_["array"]) if "array" in type_ else "x" if depth == 1 and type_.get("const") else bytearray(64) if depth == 1 else ["x"]
    if kind_of(base) in ("struct", "config", "module", "module_stateless", "module_variant"):
        return [2, 2] if base == "BurnShape" and not depth else struct(base)
    if depth:
        return [1] * type_["array"] if type_.get("array") and type_.get("const") else [1] if type_.get("const") and base != "void" else \
            [bytearray(64)] if depth == 2 else bytearray(64)
    return 0.5 if base in ("float", "double") else 1


def call(name, absent=()):
    calls_back = any(kind_of(p["type"]["base"]) == "callback" for p in FUNCTIONS[name]["parameters"])
    return getattr(_c, name)(*[None if p["name"] in absent else sample(p, calls_back) for p in parameters(name)])


def cases_of_c():
    """(text, call) of each function with each pointer None, and with all."""
    for name in FUNCTIONS:
        pointers = [p["name"] for p in parameters(name) if is_pointer(p)]
        for absent in [(n,) for n in pointers] + [tuple(pointers)] * (len(pointers) > 1):
            yield f"{name} without {', '.join(absent)}", lambda name=name, absent=absent: call(name, absent)


def cases_of_structs():
    """Each struct with each member None."""
    for entry in TYPES.values():
        for field in entry.get("fields", []) if hasattr(_c, entry["name"]) else []:
            yield f"{entry['name']}({field['name']}=None)", lambda entry=entry, field=field: repr(getattr(_c, entry["name"])(**{field["name"]: None}))


# -- the package ---------------------------------------------------------------------------------

MODULES = burn, burn.config, burn.data, burn.metric, nn, burn.onnx, burn.optim, burn.schedule, burn.store, burn.train
FILLERS = 1, 0.5, "kept.safetensors", [1.0]


class Net(burn.Module):
    def __init__(self):
        self.scale, self.shift = burn.Param(burn.ones(2)), burn.Buffer(burn.ones(2))


NAMED = {"x": HANDLES["BurnTensor"], "model": Net, "module": Net, "optimizer": burn.optim.Sgd, "device": burn.default_device, "train": loader,
         "step": lambda: called, "dataset": HANDLES["BurnDataset"], "data": loader}


class Nothing:
    """What is asked gives None."""

    def __len__(self):
        return 4

    def __getitem__(self, i):
        return None


def value(name, i):
    """What stands for a parameter that is not None, in round i of 6."""
    return NAMED[name]() if name in NAMED else (FILLERS + (burn.ones(2, 2), Net()))[i]


def signed(cls):
    """Whether Python makes objects of a class, and not C alone."""
    return any(inspect.isfunction(vars(base).get(name)) for base in cls.__mro__ for name in ("__init__", "__new__"))


def calls(text, function, bound=()):
    """(text, call) of a function of Python, with each of its arguments None and the others of several kinds, and with all None."""
    named = [p for p in inspect.signature(function).parameters.values()][len(bound):]
    named = [p.name for p in named if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    rest = {p.kind for p in inspect.signature(function).parameters.values()} & {inspect.Parameter.VAR_POSITIONAL}
    if rest:
        yield f"{text}(None)", lambda: function(*[make() for make in bound], *[None] * (len(named) + 1))
    for absent in named:
        for i in range(6):
            yield f"{text}({absent}=None) {i}", lambda absent=absent, i=i: function(
                *[make() for make in bound], **{n: None if n == absent else value(n, i) for n in named})
    if len(named) > 1:
        yield f"{text}({', '.join(named)}: None)", lambda: function(*[make() for make in bound], **dict.fromkeys(named))


def layer(cls):
    built = cls.__new__(cls)
    nn.Layer.__init__(built, struct("Burn" + cls.__name__))
    return built


def objects():
    """(class, what makes one) of all classes with methods."""
    layers = [(cls, lambda cls=cls: layer(cls)) for cls in vars(nn).values() if inspect.isclass(cls) and issubclass(cls, nn.Layer) and cls is not nn.Layer]
    items = HANDLES["BurnDataset"]
    return layers + [
        (burn.Tensor, lambda: burn.ones(2, 2)), (burn.Device, burn.default_device), (burn.Gradients, HANDLES["BurnGradients"]), (burn.Module, Net),
        (burn.Param, lambda: burn.Param(burn.ones(2))), (burn.Buffer, lambda: burn.Buffer(burn.ones(2))), (burn.data.Dataset, items),
        (burn.data.Batch, lambda: next(iter(loader()))), (burn.data.Loader, loader), (burn.optim.Optimizer, burn.optim.Sgd),
        (burn.optim.Lbfgs, burn.optim.Lbfgs), (burn.schedule.Schedule, lambda: burn.schedule.Constant(0.1)), (nn.Layer, lambda: nn.Linear(2, 2)), (burn.store.Store, HANDLES["BurnStore"]),
        (burn.train.Learner, lambda: burn.train.Learner(Net(), burn.optim.Sgd(), called, device=burn.default_device()))]


def cases_of_package():
    for module in MODULES:
        for name, value in vars(module).items():
            if not name.startswith("_") and inspect.isfunction(value) or inspect.isclass(value) and value.__module__.startswith("burn.") and signed(value):
                yield from calls(f"{module.__name__}.{name}", value)
    for cls, make in objects():
        for name, function in vars(cls).items():
            if inspect.isfunction(function) and (not name.startswith("_") or name in ("__getitem__", "__setattr__", "__contains__", "__matmul__", "__pow__", "__and__", "__add__")):
                yield from calls(f"{cls.__name__}.{name}", function, (make,))


def cases_of_results():
    """Functions of Python that give None where C asks for something."""
    data = burn.data.Dataset
    yield "items of a dataset", lambda: list(burn.data.Loader(data.of(Nothing()), 2))
    yield "a map", lambda: list(burn.data.Loader(data.items([{"x": 1.0}] * 4).map(called), 2))
    yield "a step", lambda: burn.train.Learner(Net(), burn.optim.Sgd(), called).fit(loader())
    yield "a metric", lambda: burn.train.Learner(Net(), burn.optim.Sgd(), lambda m, b: m.scale.value.sum(), metrics=[Measured()]).fit(loader())


class Measured(burn.train.metric.Metric):
    def measure(self, output, items):
        return None


PARTS = {"C": cases_of_c, "structs": cases_of_structs, "package": cases_of_package, "results": cases_of_results,
         "ending": lambda: [("a signal", lambda: os.kill(os.getpid(), signal.SIGSEGV))]}


# -- children ------------------------------------------------------------------------------------


def child(part, first):
    """Runs the cases of a part from number `first` on; the number of each goes to the pipe before it."""
    begin()
    for i, (text, run) in enumerate(PARTS[part]()):
        if i < first:
            continue
        os.write(PROGRESS, f"{i} {text}\n".encode())
        with contextlib.suppress(Exception):
            run()
    os.write(PROGRESS, b"end\n")
    os._exit(0)


def ended_by(part):
    """The cases of a part that have ended their process, with how; and how many cases there are."""
    found, first = [], 0
    with tempfile.TemporaryDirectory() as folder:
        # Nothing is fetched: a server is asked for that is none.
        environment = dict(os.environ, HOME=folder, XDG_CACHE_HOME=folder, https_proxy="http://127.0.0.1:9", http_proxy="http://127.0.0.1:9")
        while True:
            read, write = os.pipe()
            run = subprocess.Popen([sys.executable, str(pathlib.Path(__file__).resolve()), str(JSON), part, str(first), str(write)], cwd=folder,
                                   env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=[write])
            os.close(write)
            timer = threading.Timer(SECONDS, run.kill)
            timer.start()
            with open(read, "rb") as pipe:
                lines = pipe.read().decode("utf-8", "replace").split("\n")[:-1]
            status = run.wait()
            timer.cancel()
            if lines[-1:] == ["end"]:
                return found, int(lines[-2].split()[0]) + 1 if len(lines) > 1 else first
            number, text = lines[-1].split(" ", 1)
            found.append(f"{text}: {status}")
            first = int(number) + 1


class Children(unittest.TestCase):
    """Each part, in children; the counts are below what there is, so that none is empty."""

    def none_ends(self, part, least):
        ended, count = ended_by(part)
        self.assertEqual(ended, [])
        self.assertGreater(count, least)

    def test_functions_of_c(self):
        self.none_ends("C", 2000)

    def test_members_of_structs(self):
        self.none_ends("structs", 1000)

    def test_the_package(self):
        self.none_ends("package", 4000)

    def test_results_of_callbacks(self):
        self.none_ends("results", 3)

    def test_what_ends_a_child_is_named(self):
        self.assertEqual(ended_by("ending"), (["a signal: -11"], 1))


class Messages(unittest.TestCase):
    def test_what_c_trusts_is_refused(self):
        tried = 0
        for name, function in FUNCTIONS.items():
            shown = [p["name"] for p in parameters(name)]
            for p, after in zip(function["parameters"], function["parameters"][1:] + [None]):
                if p.get("trusted") and not (after and after["name"].endswith("count") and after["name"] not in shown):  # of a list without items C sees none
                    with self.assertRaisesRegex(TypeError, f"^{name}: {p['name']}: [A-Za-z ]+ is expected, not None$"):
                        call(name, (p["name"],))
                    tried += 1
        self.assertGreater(tried, 60)

    def test_what_c_allows_is_passed(self):
        self.assertFalse(_c.burn_interrupter_stopped(None))
        self.assertTrue(_c.burn_param_group_has(None, "weight", 1))
        self.assertEqual(_c.burn_schedule_rate(_c.burn_schedule_constant(None), 1), 0)
        self.assertEqual((_c.burn_rank(None), _c.burn_value_count(None), _c.burn_image_release(None)), (0, 0, None))
        with self.assertRaisesRegex(burn.BurnError, "^quant_clone: q is NULL: a BurnQuantTensor expected"):
            _c.burn_quant_status(_c.burn_quant_clone(None))


if __name__ == "__main__":
    if len(sys.argv) > 2:
        os.dup2(int(sys.argv[4]), PROGRESS)
        os.close(int(sys.argv[4]))
        child(sys.argv[2], int(sys.argv[3]))
    with tempfile.TemporaryDirectory() as own:
        os.chdir(own)
        begin()
        unittest.main(argv=sys.argv[:1], failfast=True)  # before a call ends this process, too
