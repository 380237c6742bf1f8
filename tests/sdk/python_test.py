#!/usr/bin/env python3
"""The Python package as it is installed: python_test.py BURN_JSON EXAMPLES RESULT FOLDER. BURN_JSON is the description of the C API, RESULT the
last line of the C program mnist with --json, which has trained in FOLDER on 640 and 128 digits for 2 epochs."""
import array
import ast
import contextlib
import copy
import gc
import importlib.util
import inspect
import json
import pathlib
import pickle
import re
import sqlite3
import struct
import sys
import types
import unittest

import burn
from burn import _c, nn

from onnx_files import STRINGS, TINY

JSON, EXAMPLES, RESULT, FOLDER = sys.argv[1:5]
INCLUDE = pathlib.Path(JSON).resolve().parents[2] / "include"
API = {key: [entry for entry in entries if (INCLUDE / entry["header"]).exists()]  # an installation may lack a library
       for key, entries in json.loads(pathlib.Path(JSON).read_text()).items() if key != "version"}
TYPES = {t["name"]: t for t in API["types"]}


def load(name, folder):
    spec = importlib.util.spec_from_file_location(name, pathlib.Path(folder) / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def optional(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


class Reach(unittest.TestCase):
    def test_every_public_function_is_there(self):
        missing = [f["name"] for f in API["functions"] if not callable(getattr(_c, f["name"], None))]
        self.assertEqual(missing, [])
        self.assertGreater(len(API["functions"]), 1500)

    def test_every_function_of_every_installed_header_is_there(self):
        include = INCLUDE / "burn"
        declared = {}
        for header in include.rglob("*.h"):
            if "plugin" not in header.relative_to(include).parts[0]:  # for authors of plugins
                text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
                text = re.sub(r"BURN_TAKES\([\d, ]*\)", "", text)
                for name in re.findall(r"^BURN_API\s+(?:BURN_\w+(?:\([^)]*\))?\s+)*[^;{(]*?\b(burn_\w+)\(", text, re.M):
                    declared.setdefault(name, header.name)
        reached = [name for name in declared if callable(getattr(_c, name, None))]
        share = f"{100 * len(reached) / len(declared):g} %"
        print(f"{len(reached)} of {len(declared)} functions of {len(set(declared.values()))} headers are reached ({share})")
        self.assertEqual(sorted(set(declared) - set(reached)), [])
        self.assertGreater(len(declared), 1000)
        self.assertLessEqual({"tensor.h", "linear.h", "learner.h", "store.h", "image.h"}, set(declared.values()))

    def test_every_wrapper_refuses_what_it_cannot_convert(self):
        tried = 0
        for function in API["functions"]:
            count = len(function["parameters"])
            call = getattr(_c, function["name"])
            with self.assertRaisesRegex(TypeError, f"^{function['name']} takes [0-9]+ arguments, not 40$"):
                call(*[object()] * 40)
            given = [p for p in function["parameters"] if p["type"]["base"] not in ("bool", "BurnBool") and p.get("role") not in ("out", "status")]
            if not given:
                continue
            with self.assertRaisesRegex(TypeError, f"^{function['name']}: "):
                call()
            errors = []
            for arguments in range(1, count + 1):  # as many as it has in Python: outputs and counts are none there
                try:
                    call(*[object()] * arguments)
                except TypeError as error:
                    errors.append(str(error))
            self.assertTrue(all(error.startswith(function["name"]) for error in errors) and len(errors) == count, function["name"])
            tried += 1
        self.assertGreater(tried, 1200)

    def test_every_constant_has_its_value(self):
        for entry in API["types"]:
            for value in entry.get("values", []):
                self.assertEqual(getattr(_c, value["name"]), value["value"], value["name"])

    def test_every_module_is_a_layer_with_its_config_as_keywords(self):
        for entry in API["types"]:
            if entry["kind"].startswith("module") and any(f["result"]["type"]["c"] == entry["name"] and f["name"].endswith("_init") for f in API["functions"]):
                layer = getattr(nn, entry["name"].removeprefix("Burn") if hasattr(str, "removeprefix") else entry["name"][4:])
                config = TYPES.get(entry["name"] + "Config")
                if config and config["kind"] == "config":
                    names = {name.rstrip("_") for name in inspect.signature(layer.__init__).parameters}
                    self.assertEqual({f["name"] for f in config["fields"]} - names, set(), layer)

    def test_keyword_defaults_are_those_of_c(self):
        seen = 0
        for entry in API["types"]:
            layer = getattr(nn, entry["name"][4:].replace("Config", ""), None)
            if entry["kind"] != "config" or layer is None or any(f.get("required") for f in entry["fields"]):
                continue
            defaults = getattr(_c, entry["name"] + "_defaults")()
            for name, parameter in inspect.signature(layer.__init__).parameters.items():
                if isinstance(parameter.default, (bool, int, float)) and not isinstance(getattr(defaults, name.rstrip("_")), _c.Struct):
                    self.assertEqual(getattr(defaults, name.rstrip("_")), parameter.default, f"{entry['name']}.{name}")
                    seen += 1
        self.assertGreater(seen, 20)

    def test_stubs_name_every_function(self):
        stub = pathlib.Path(burn.__file__).with_name("_c.pyi")
        names = {node.name for node in ast.parse(stub.read_text()).body if isinstance(node, ast.FunctionDef)}
        self.assertEqual({f["name"] for f in API["functions"]} - names, set())


class Libraries(unittest.TestCase):
    def test_no_library_is_taken_for_the_systems(self):
        names = {path.name for path in (pathlib.Path(burn.__file__).parent / "lib").glob("*.so*")}
        self.assertEqual({name for name in names if name.startswith("lib") and not name.startswith(("libburn", "libsqlite3"))}, set())
        maps = pathlib.Path("/proc/self/maps").read_text()
        loaded = {name for name in names if f"/burn/lib/{name}" in maps}
        self.assertIn("libburn_import.so.0", loaded)
        self.assertLessEqual({name for name in names if name.startswith("brn")}, loaded)  # found, by all that ask for them


class Tensors(unittest.TestCase):
    def test_operators_have_known_answers(self):
        x = burn.tensor([[1.0, 2.0], [3.0, 4.0]])
        self.assertEqual((x + 1).tolist(), [[2, 3], [4, 5]])
        self.assertEqual((1 - x).tolist(), [[0, -1], [-2, -3]])
        self.assertEqual((12 / x).tolist(), [[12, 6], [4, 3]])
        self.assertEqual((x @ x).tolist(), [[7, 10], [15, 22]])
        self.assertEqual((x ** 2 % 5).tolist(), [[1, 4], [4, 1]])
        self.assertEqual((x > 2).tolist(), [[False, False], [True, True]])
        self.assertEqual((~(x > 2) & (x > 1)).tolist(), [[False, True], [False, False]])
        self.assertEqual(x.sum().item(), 10)
        self.assertEqual(x.max(1).tolist(), [[2], [4]])
        self.assertEqual((burn.tensor([1]) + (1 << 60) - 1).item(), 1 << 60)

    def test_integers_that_are_no_doubles_stay_exact(self):
        far, zeros, on = 2**53 + 1, burn.zeros(2, dtype=burn.i64), burn.tensor([True, False])
        below = -far
        self.assertEqual(burn.full([1], far, dtype=burn.i64).tolist(), [far])
        self.assertEqual(zeros.mask_fill(on, far).tolist(), [far, 0])
        self.assertEqual(burn.full([1], 2**62, dtype=burn.i64).clamp(0, far).tolist(), [far])
        self.assertEqual(burn.full([1], 2**62, dtype=burn.i64).clamp(min=0, max=far).tolist(), [far])
        self.assertEqual(burn.full([1], -(2**62), dtype=burn.i64).clamp_min(below).tolist(), [below])
        self.assertEqual(zeros.full_like(far).tolist(), [far, far])
        self.assertEqual(zeros.pad([1, 0], 1, 0, far).tolist(), [far, 0, 0])
        self.assertEqual((zeros + far).tolist(), [far, far])
        self.assertEqual((far - zeros).tolist(), [far, far])
        self.assertEqual(burn.tensor([1.0, 5.0]).clamp(0.5, 2**60).tolist(), [1.0, 5.0])

    def test_no_values_have_no_rows(self):
        self.assertTrue(repr(burn.zeros(2**32, 0, 0)).startswith("Tensor([], shape=[4294967296, 0, 0], dtype=f32"))

    def test_nothing_is_taken_away(self):
        x = burn.tensor([1.0, 2.0])
        parts = [x, x]
        self.assertEqual(burn.cat(parts).tolist(), [1, 2, 1, 2])
        x.relu(), x.add(x), _c.burn_sum(x)
        self.assertEqual(x.tolist(), [1, 2])

    def test_indices_are_those_of_lists(self):
        rows = [[10 * i + j for j in range(5)] for i in range(4)]
        x = burn.tensor(rows)
        for part in (slice(None), slice(1, 3), slice(None, None, 2), slice(None, None, -1), slice(3, 0, -2), slice(-2, None), slice(2, 2)):
            if len(rows[part]):
                self.assertEqual(x[part].tolist(), rows[part], part)
            self.assertEqual(len(x[part]), len(rows[part]))
            self.assertEqual(x[1, part].tolist() if len(rows[1][part]) else [], rows[1][part], part)
        self.assertEqual(x[2].tolist(), rows[2])
        self.assertEqual(x[-1, -1].item(), rows[-1][-1])
        self.assertEqual(x[..., 1].tolist(), [row[1] for row in rows])
        self.assertEqual(x[[3, 0, 3]].tolist(), [rows[3], rows[0], rows[3]])
        self.assertEqual(x[:, None].shape, (4, 1, 5))
        self.assertEqual(x[[True, False, False, True]].tolist(), [rows[0], rows[3]])
        self.assertEqual(x[:, burn.tensor([False, True, False, False, False])].tolist(), [[row[1]] for row in rows])
        self.assertEqual(x[[]].shape, (0, 5))
        with self.assertRaises(IndexError):
            x[4]
        for index in ([True], [False] * 5, burn.tensor([True] * 3)):  # NumPy's rule: a mask that is too short chooses nothing by itself
            with self.assertRaisesRegex(IndexError, "^[135] bools for an axis of size 4$"):
                x[index]
        with self.assertRaisesRegex(IndexError, "^2 lists or tensors as indices, of which there can be one"):
            x[[0, 1], [0, 1]]

    def test_dtypes_and_shapes(self):
        self.assertEqual(burn.tensor([True, False]).dtype, burn.bool_)
        self.assertEqual(burn.tensor([1, 2]).dtype, burn.i64)
        self.assertEqual(burn.tensor([1, 2], burn.f16).tolist(), [1, 2])
        self.assertEqual(burn.zeros(2, 3, dtype=burn.bf16).tolist(), [[0, 0, 0], [0, 0, 0]])
        self.assertEqual(burn.arange(6).reshape(2, -1).shape, (2, 3))
        self.assertEqual([part.tolist() for part in burn.arange(5).split(2)], [[0, 1], [2, 3], [4]])
        self.assertEqual([part.tolist() for part in burn.arange(5).split_with_sizes(iter([2, 0, 3]))], [[0, 1], [2, 3, 4]])
        self.assertEqual([part.tolist() for part in burn.arange(4).reshape(2, 2).iter_dim(-1)], [[[0], [2]], [[1], [3]]])
        self.assertEqual([axis.tolist() for axis in (burn.eye(2) > 0).nonzero()], [[0, 1], [0, 1]])
        self.assertEqual((burn.zeros(2, 2) > 0).nonzero(), [])
        for make in burn.zeros, burn.ones, burn.uniform, burn.normal:
            self.assertEqual([make(2, 3).shape, make((2, 3)).shape, make([2, 3]).shape, make(4).shape], [(2, 3)] * 3 + [(4,)])
        self.assertIn("shape=[2], dtype=f32", repr(burn.tensor([1.0, 2.0])))
        self.assertIn("..., 0.0]", repr(burn.zeros(5000)).replace("0.0, 0.0, 0.0]", "0.0]"))

    def test_a_seed_begins_anew(self):
        burn.seed(3)
        first = burn.uniform(4).tolist()
        self.assertNotEqual(burn.uniform(4).tolist(), first)
        burn.seed(3)
        self.assertEqual(burn.uniform(4).tolist(), first)

    def test_one_value_is_that_of_one_element(self):
        self.assertEqual([burn.tensor(3).item(), float(burn.tensor([[2.5]])), bool(burn.tensor([False]))], [3, 2.5, False])
        for read in float, bool, int, lambda x: x.item():
            with self.assertRaisesRegex(ValueError, r"^item: a tensor of shape \[2, 3\] has 6 elements, one is expected"):
                read(burn.zeros(2, 3))

    def test_messages_are_those_of_c(self):
        with self.assertRaises(burn.BurnError) as caught:
            burn.zeros(2, 3) @ burn.zeros(2, 3)
        self.assertEqual(str(caught.exception), "matmul: [2,3] x [2,3]: inner dimensions 3 and 2 differ")
        self.assertEqual(caught.exception.code, _c.BURN_STATUS_INVALID_SHAPE)
        with self.assertRaisesRegex(TypeError, "^burn_topk: k: 'str' object"):
            burn.zeros(2).topk("a", 0)
        with self.assertRaisesRegex(TypeError, "^burn_dim: the argument 'dim' is missing"):
            _c.burn_dim(burn.zeros(2))
        with self.assertRaisesRegex(OverflowError, "^burn_dim: dim: "):
            _c.burn_dim(burn.zeros(2), 1 << 40)
        for parts in (lambda: burn.zeros(2).split(1, 5), lambda: burn.zeros(2).chunk(1, 5), lambda: burn.zeros(2).iter_dim(5),
                      lambda: burn.zeros(2).split_with_sizes([2], 5)):
            with self.assertRaisesRegex(burn.BurnError, "dim 5 is outside -1..0 of shape"):
                parts()

    def test_room_is_what_c_is_told(self):
        """One number is both how many results C may write and the memory for them."""
        parts, count = _c.burn_iter_dim(burn.arange(4), 0, 4)
        self.assertEqual(([part.tolist() for part in parts], count), ([[0], [1], [2], [3]], 4))
        with self.assertRaises(burn.BurnError):
            _c.burn_iter_dim(burn.arange(4), 0, 1)
        with self.assertRaisesRegex(ValueError, "^burn_meshgrid: grids: 1 items, and the list before it has 2$"):
            _c.burn_meshgrid([burn.arange(2), burn.arange(3)], 0, 0, 1)
        self.assertEqual([grid.shape for grid in _c.burn_meshgrid([burn.arange(2), burn.arange(3)], 0, 0, 2)], [(2, 3), (2, 3)])

    def test_texts_with_nul_are_refused(self):
        """C would see the part before it: another file than that whose name was checked."""
        for call in (lambda: burn.Device("ndarray\0cuda"), lambda: _c.burn_device_open(b"ndarray\0cuda")):
            with self.assertRaisesRegex(ValueError, "embedded null"):
                call()

    def test_a_call_of_several_results_fails_as_one(self):
        x, layers = burn.ones(2, 3), (nn.Gru(4, 5, True), nn.Rnn(4, 5, True), nn.BiGru(4, 5, True), nn.Lstm(4, 5, True))
        for call in (lambda: x.topk_with_indices(999, 1), lambda: x.max_dim_with_indices(7), lambda: x.var_mean(9),
                     lambda: burn.ones(3).qr(True), *(lambda layer=layer: layer(burn.ones(2, 3, 9)) for layer in layers)):
            with self.assertRaises(burn.BurnError) as caught:
                call()
            self.assertIsInstance(caught.exception.code, int)

    def test_lists_of_another_length_are_refused(self):
        """C reads as many numbers as it needs, also where the list has fewer."""
        x, picture = burn.ones(2, 3, 4), burn.ones(1, 1, 4, 4)
        self.assertEqual((x.repeat([2, 1, 1]).shape, x.permute(2, 0, 1).shape), ((4, 3, 4), (4, 2, 3)))
        self.assertEqual(x.roll([1, 2], [0, 1]).shape, (2, 3, 4))
        self.assertEqual((x.movedims([0], [2]).shape, x.pad([1, 2], 1, 0, 0.0).shape), ((3, 4, 2), (2, 3, 7)))
        self.assertEqual(picture.adaptive_avg_pool2d([2, 2]).shape, (1, 1, 2, 2))
        for call, message in ((lambda: x.repeat([2]), "repeat: 1 times for a tensor of rank 3"),
                              (lambda: x.permute([0]), "permute: 1 axes for a tensor of rank 3"),
                              (lambda: x.roll([1], [0, 1]), "roll: 2 shifts expected, not 1"),
                              (lambda: x.movedims([0], [1, 2]), "movedims: 2 sources expected, not 1"),
                              (lambda: x.pad([1], 1, 0, 0.0), "pad: 2 paddings expected, not 1"),
                              (lambda: picture.adaptive_avg_pool2d([2]), "burn_adaptive_avg_pool2d: output_size: 2 numbers are expected, not 1")):
            with self.assertRaisesRegex(ValueError, f"^{message}$"):
                call()
        for function in ("flip", "sum_dims", "unsqueeze_dims"):  # which would be an address, and no axis
            with self.assertRaisesRegex(TypeError, f"^burn_{function}: dims: a list is expected, not 1$"):
                getattr(x, function)(1)
        with self.assertRaisesRegex(TypeError, "^burn_adaptive_avg_pool2d: output_size: a list of 2 numbers is expected, not 7$"):
            picture.adaptive_avg_pool2d(7)  # which would be an address

    def test_sequences_are_lists(self):
        """As an address they would have a count of 0, and nothing would be done."""
        x = burn.tensor([[1, 2], [3, 4]])
        for dims in (range(2), array.array("i", [0, 1]), memoryview(array.array("i", [0, 1])), bytearray([0, 1]), burn.tensor([0, 1])):
            self.assertEqual(x.flip(dims).tolist(), [[4, 3], [2, 1]], type(dims))
        numpy = optional("numpy")
        if numpy:
            self.assertEqual(x.flip(numpy.array([0, 1])).tolist(), [[4, 3], [2, 1]])
        with self.assertRaisesRegex(TypeError, "^burn_slice: ranges: a list is expected, not <class '.*BurnRange'>$"):
            x.slice(_c.BurnRange(0, 1, 1))
        for data in (b"no picture", bytearray(b"no picture")) if hasattr(_c, "burn_image_decode") else ():
            with self.assertRaisesRegex(burn.BurnError, "of 10 bytes"):
                _c.burn_image_decode(data, 3, _c.BurnImage())

    def test_gradient_of_a_square_is_twice_the_value(self):
        x = burn.tensor([1.0, 2.0, 3.0]).require_grad()
        gradients = (x * x).sum().backward()
        self.assertEqual(gradients[x].tolist(), [2, 4, 6])

    def test_what_is_ended_is_empty(self):
        gradients = (burn.tensor([1.0]).require_grad() * 2).backward()
        _c.burn_gradients_drop(gradients)
        with self.assertRaisesRegex(ValueError, "taken or closed before"):
            gradients[burn.tensor([1.0])]


class Block(nn.Module):
    def __init__(self, size):
        self.up = nn.Linear(size, size)
        self.scale = burn.Param(burn.ones(size))
        self.seen = burn.Buffer(burn.zeros(1))

    def forward(self, x):
        return self.up(x) * self.scale.value.unsqueeze(2)


class Net(nn.Module):
    def __init__(self):
        self.blocks = [Block(4), Block(4)]
        self.norm = nn.BatchNorm(4)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.norm(x)


class Modules(unittest.TestCase):
    def test_paths_are_those_of_attributes(self):
        self.assertEqual([path for path, _ in Net().parameters()],
                         [f"blocks.{i}.{name}" for i in (0, 1) for name in ("up.weight", "up.bias", "scale", "seen")] +
                         ["norm.gamma", "norm.beta", "norm.running_mean", "norm.running_var"])
        self.assertEqual(Net().num_params(), 2 * (16 + 4 + 4 + 1) + 4 * 4)

    def test_a_step_of_sgd_is_its_formula(self):
        net = Net()
        before = dict(net.parameters())
        x = burn.normal(8, 4)
        loss = net(x).square().mean()
        gradients = loss.backward()
        burn.optim.Sgd().step(net, gradients, 0.5)
        self.assertNotEqual(dict(net.parameters())["blocks.0.scale"].tolist(), before["blocks.0.scale"].tolist())
        layer = nn.Linear(2, 1, bias=False, initializer="zeros")
        layer_loss = (layer(burn.tensor([[3.0, 5.0]])) - 1).square().sum()  # gradient: 2 (0 - 1) x
        burn.optim.Sgd().train_step(layer, layer_loss, 0.1)
        for value, wanted in zip(layer.weight.tolist(), (0.6, 1.0)):
            self.assertAlmostEqual(value[0], wanted, 6)

    def test_what_is_assigned_is_what_c_uses(self):
        layer, x = nn.Linear(1, 1, bias=False, initializer="zeros"), burn.tensor([[3.0]])
        layer.weight = burn.tensor([[2.0]])
        self.assertEqual((layer(x).item(), dict(layer.parameters())["weight"].item()), (6, 2))
        loss = layer(x).sum()
        burn.optim.Sgd().train_step(layer, loss, 0.5)  # it is a leaf that learns
        self.assertEqual(layer.weight.item(), 0.5)
        drop = nn.Dropout(0.0)
        drop.prob = 0.25
        self.assertEqual(repr(drop), "Dropout {prob: 0.25}")
        norm = nn.BatchNorm(1)
        norm.running_mean = burn.tensor([7.0])
        self.assertEqual(dict(norm.parameters())["running_mean"].item(), 7)
        for name, value, message in (("bias", burn.zeros(1), "Linear.bias: the layer was made without it"),
                                     ("weight", None, "Linear.weight: a tensor is expected, not NoneType"),
                                     ("extra", nn.Linear(1, 1), "Linear.extra: a layer of C has no parts beside its own; a Module that has both does")):
            with self.assertRaises(TypeError) as caught:
                setattr(layer, name, value)
            self.assertEqual(str(caught.exception), message)
        with self.assertRaisesRegex(TypeError, "^MultiHeadAttention.query is a part of a layer of C"):
            nn.MultiHeadAttention(4, 2).query = nn.Linear(4, 4)

    def test_a_tensor_does_not_take_the_place_of_a_parameter(self):
        block = Block(2)
        with self.assertRaises(TypeError) as caught:
            block.scale = burn.ones(2)
        self.assertEqual(str(caught.exception), "Block.scale is a Param, which a tensor would take the place of; scale.value = .. changes what it holds")
        block.scale.value = burn.ones(2)
        self.assertEqual(dict(block.parameters())["scale"].tolist(), [1, 1])

    def test_an_average_follows_a_model(self):
        layer = nn.Linear(1, 1, bias=False, initializer="zeros")
        average = layer.valid()
        layer.weight = burn.tensor([[8.0]])
        burn.train.average(average, layer, 0.75)
        self.assertEqual((average.weight.item(), layer.weight.item()), (2, 8))
        with self.assertRaisesRegex(AttributeError, "_module"):
            burn.train.average((1, 2), layer, 0.75)  # which would be addresses

    def test_an_optimizer_goes_on_from_its_record(self):
        path, x = str(pathlib.Path(FOLDER) / "python_adam"), burn.normal(8, 4)
        net, adam = nn.Linear(4, 1), burn.optim.Adam()
        adam.train_step(net, net(x).square().mean(), 0.1)
        adam.save(path, format="json")
        again, fresh = net.clone(), burn.optim.Adam().load(path, format="json")
        for module, optimizer in (net, adam), (again, fresh):
            optimizer.train_step(module, module(x).square().mean(), 0.1)
        self.assertEqual(net.weight.tolist(), again.weight.tolist())
        with self.assertRaisesRegex(burn.BurnError, "velocity"):
            burn.optim.Sgd(momentum=0.9).load(path, format="json")

    def test_schedules_are_made_of_others(self):
        falls = burn.schedule.CosineAnnealing(0.01, 10)
        warm = burn.schedule.WarmUp(4, falls, initial_lr=0.002)
        both = burn.schedule.Sequential([warm, burn.schedule.Constant(0.5)], [6])
        for i, wanted in ((0, 0.002), (2, 0.006), (4, falls(0)), (5, falls(1)), (6, 0.5), (99, 0.5)):
            self.assertAlmostEqual(both(i), wanted, 12)
        with self.assertRaisesRegex(burn.BurnError, "^warm_up: num_iters is 0"):
            burn.schedule.WarmUp(0, falls)
        with self.assertRaisesRegex(ValueError, "^Sequential: 2 milestones for 2 schedules"):
            burn.schedule.Sequential([falls, warm], [1, 2])

    def test_records_and_copies(self):
        net, other = Net(), Net()
        path = str(pathlib.Path(FOLDER) / "python_net")
        for form in ("mpk", "bpk", "json.gz"):
            net.save(path, format=form)
            other.load(path, format=form)
            self.assertEqual([v.tolist() for _, v in other.parameters()], [v.tolist() for _, v in net.parameters()], form)
        copy = net.valid()
        self.assertFalse(copy.blocks[1].up.weight.device.is_autodiff)
        self.assertEqual(copy.blocks[1].up.weight.tolist(), net.blocks[1].up.weight.tolist())
        net.blocks[0].scale.value = burn.zeros(4)
        self.assertEqual(net.blocks[0].scale.value.tolist(), [0] * 4)
        self.assertEqual(copy.blocks[0].scale.value.tolist(), [1] * 4)

    def test_modules_in_a_list_are_alike(self):
        class Mixed(nn.Module):
            def __init__(self):
                self.parts = [nn.Linear(2, 2), nn.Dropout(0.5)]

        with self.assertRaisesRegex(TypeError, "of one type"):
            Mixed().status()

    def test_a_deep_copy_is_a_clone(self):
        net = Net()
        other = copy.deepcopy(net)
        other.blocks[0].scale.value = burn.zeros(4)
        self.assertEqual((net.blocks[0].scale.value.sum().item(), other.blocks[0].scale.value.sum().item()), (4, 0))
        self.assertEqual(copy.deepcopy(net.norm).gamma.tolist(), [1, 1, 1, 1])

    def test_copies_are_modules(self):
        net = Net()
        for copy in (net.clone(), net.valid(), net.clone().clone()):
            self.assertEqual([(path, value.tolist()) for path, value in copy.parameters()],
                             [(path, value.tolist()) for path, value in net.parameters()])
        copy = net.clone()
        del net
        before = dict(copy.parameters())["blocks.1.up.weight"].tolist()
        burn.optim.Sgd().train_step(copy, copy(burn.normal(8, 4)).square().mean(), 0.5)
        self.assertNotEqual(dict(copy.parameters())["blocks.1.up.weight"].tolist(), before)
        copy.save(pathlib.Path(FOLDER) / "python_copy")
        self.assertEqual(Net().load(pathlib.Path(FOLDER) / "python_copy").num_params(), copy.num_params())

    def test_parts_that_c_would_not_see_are_refused(self):
        class Hidden(nn.Module):
            def __init__(self, **parts):
                self.__dict__.update(parts)

        linear = nn.Linear(2, 2)
        for value in ({"a": linear}, [linear, None], [burn.Param(burn.ones(1))]):
            with self.assertRaisesRegex(TypeError, f"^Hidden.parts: a {type(value).__name__} with parameters or modules"):
                Hidden(parts=value).parameters()
        net = Hidden(own=linear, _teacher=[linear, None], names=["a"], sizes={"a": 1})
        self.assertEqual([path for path, _ in net.parameters()], ["own.weight", "own.bias"])

    def test_formats_that_are_not_there_are_told(self):
        with self.assertRaisesRegex(ValueError, "^there is no format 'pth'; there are mpk, "):
            nn.Linear(2, 2).save("none", format="pth")
        with self.assertRaisesRegex(ValueError, "^there is no precision 'quarter'; there are full, half, double$"):
            nn.Linear(2, 2).load("none", precision="quarter")

    def test_modules_that_come_and_go(self):
        device = burn.set_default_device(burn.Device("ndarray"))
        net = Net()
        before = {path: value.tolist() for path, value in net.parameters()}
        net.blocks.append(Block(4))
        net.head, kept = nn.Linear(4, 2), net.blocks[0].scale
        after = {path: value.tolist() for path, value in net.parameters()}
        self.assertEqual({path: after[path] for path in before}, before)
        self.assertEqual(len(after), len(before) + 4 + 2)
        del net.blocks[0], net.head, before, after
        self.assertEqual([path for path, _ in net.parameters()][:5],
                         ["blocks.0.up.weight", "blocks.0.up.bias", "blocks.0.scale", "blocks.0.seen", "blocks.1.up.weight"])
        self.assertEqual(kept.value.tolist(), [1] * 4)
        del net, kept
        self.assertEqual(device.memory().live_tensors, 0)

    def test_modules_stand_for_those_of_c(self):
        layer, x = nn.Linear(4, 3), burn.ones(2, 4)
        before = layer.valid()(x.inner()).tolist()
        _c.burn_module_quantize_weights(layer, None)
        for row, wanted in zip(layer.valid()(x.inner()).tolist(), before):
            for value, other in zip(row, wanted):
                self.assertAlmostEqual(value, other, 1)
        net = Net()
        _c.burn_module_apply_lora(net, _c.BurnLoraConfig_defaults(2, 16.0), None)
        self.assertIn("blocks.1.up.weight.lora.a", [path for path, _ in net.parameters()])
        with self.assertRaisesRegex(TypeError, "^burn_module_num_params: module: BurnModule is expected, or its members"):
            _c.burn_module_num_params(x)

    def test_a_module_lives_as_long_as_its_burn_module(self):
        module = nn.Linear(4, 3)._module()
        gc.collect()
        _c.burn_module_apply_lora(module, _c.BurnLoraConfig_defaults(100, 16.0), None)
        self.assertEqual(_c.burn_module_num_params(module), 4 * 3 + 3 + 100 * (4 + 3))

    def test_a_calibration_holds_its_module(self):
        device = burn.set_default_device(burn.Device("ndarray"))
        calibration = _c.burn_calibration_begin(nn.Linear(4, 3), None)
        self.assertEqual(device.memory().live_tensors, 2)
        del calibration
        self.assertEqual(device.memory().live_tensors, 0)
        layer = nn.Linear(4, 3)
        calibration = _c.burn_calibration_begin(layer, {"scheme": _c.BurnQuantScheme(scale_dtype=burn.f32), "group": {"parts": ["weight"]}})
        parts = [[f"part{i}"] for i in range(100)]  # in the place of what the call has made
        layer(burn.ones(2, 4))
        _c.burn_calibration_end(calibration)
        self.assertEqual((len(parts), layer(burn.ones(2, 4)).shape), (100, (2, 3)))

    def test_a_variant_has_tensors_of_its_own(self):
        """Made of a module by value, it would end the module's."""
        device = burn.default_device()
        before = device.memory().live_tensors
        norm = _c.burn_layer_norm_init(_c.BurnLayerNormConfig_defaults(3), device)
        variant = _c.BurnNormalization_Layer(norm)
        del norm
        others = [burn.tensor([7.0, 7.0, 7.0]) for _ in range(100)]  # in the memory that was given back
        y = _c.burn_normalization_forward(variant, burn.tensor([[1.0, 2.0, 3.0]])).tolist()
        for value, wanted in zip(y[0], (-1.2247, 0, 1.2247)):
            self.assertAlmostEqual(value, wanted, 3)
        del others, variant
        self.assertEqual(device.memory().live_tensors, before)

    def test_a_row_that_may_be_absent_takes_a_number(self):
        for option, value in ((_c.BurnOptionF64, 0.5), (_c.BurnOptionSize, 4)):
            row = burn.config.configured(types.SimpleNamespace(row=option()), row=value).row
            self.assertEqual((row.present, row.value), (True, value))

    def test_a_config_that_c_refuses_says_why(self):
        with self.assertRaisesRegex(burn.BurnError, "groups"):
            nn.Conv2d((3, 4), 3, groups=2).status()

    def test_layers_with_states(self):
        lstm = nn.Lstm(4, 5, True)
        out, last = lstm(burn.normal(2, 3, 4))
        self.assertEqual((out.shape, last.hidden.shape), ((2, 3, 5), (2, 5)))
        self.assertEqual(out[:, 2].tolist(), last.hidden.tolist())
        out, last = lstm(burn.normal(2, 3, 4), last)
        self.assertEqual(last.cell.shape, (2, 5))

    def test_nothing_stays_alive(self):
        device = burn.Device("ndarray")
        kept = burn.set_default_device(device)
        net = Net()
        net.valid(), net.clone(), net.parameters()
        burn.optim.Adam().train_step(net, net(burn.normal(8, 4)).mean(), 0.1)
        self.assertGreater(device.memory().live_tensors, 0)
        del net
        self.assertEqual(device.memory().live_tensors, 0)
        self.assertIs(kept, device)


class Data(unittest.TestCase):
    def test_items_come_back(self):
        data = burn.data.Dataset.items({"x": [float(i), 1.0], "y": i % 3} for i in range(10))
        self.assertEqual(data.columns, [("x", burn.f32, (2,)), ("y", burn.i64, ())])
        self.assertEqual(([*data[7]["x"]], data[-3]["y"], len(data[2:8:2])), ([7.0, 1.0], 1, 3))
        self.assertEqual([len(part) for part in data.split(0.5, 0.3)], [5, 3])
        self.assertEqual(data.map(lambda item: {"z": item["y"] + 1})[5]["z"], 3)

    def test_batches_may_be_kept(self):
        data = burn.data.Dataset.items({"x": float(i), "y": i} for i in range(6))
        kept = list(burn.data.Loader(data, 4))
        self.assertEqual([(len(b), b.x.tolist(), b["y"].tolist()) for b in kept], [(4, [0, 1, 2, 3], [0, 1, 2, 3]), (2, [4, 5], [4, 5])])
        first = next(iter(burn.data.Loader(data, 4)))  # neither the loader nor its epoch are there any more
        gc.collect()
        self.assertEqual((first.y.tolist(), first.y.tolist()), ([0, 1, 2, 3],) * 2)
        with self.assertRaisesRegex(burn.BurnError, '^batch: no column "z"; it has "x", "y"$'):
            first.z

    def test_items_that_do_not_fit_are_refused(self):
        """C copies as many elements of each item as the first one has: fewer would be read from beyond the memory."""
        dataset, short = burn.data.Dataset, [{"x": [1.0, 2.0]}, {"x": [3.0]}]
        for make in (lambda: dataset.items(short), lambda: dataset.items(short[::-1]), lambda: dataset.of(short)[1]):
            with self.assertRaisesRegex(ValueError, r"^item 1: column 'x' has another shape than in item 0, \[[12]\]$"):
                make()
        with self.assertRaisesRegex(ValueError, "^item 1 has no column 'x'; it has 'y', 'z'$"):
            dataset.items([{"x": 1}, {"y": 2, "z": 3}])
        with self.assertRaisesRegex(ValueError, "^column 'x': its items have different shapes$"):
            dataset.arrays(x=[[1, 2], [3]])
        with self.assertRaisesRegex(ValueError, "^1 weights for 2 items$"):
            dataset.items([{"x": 1}, {"x": 2}]).sample(5, weights=[1.0])

        with self.assertRaisesRegex(TypeError, "^a column is an array or a list, not a number$"):
            dataset.arrays(x=5)

    def test_the_order_does_not_depend_on_workers(self):
        data = burn.data.Dataset.of([{"x": i} for i in range(50)])
        orders = [[batch["x"].tolist() for batch in burn.data.Loader(data, 8, shuffle=True, seed=3, workers=n)] for n in (0, 3)]
        self.assertEqual(*orders)
        self.assertEqual(sorted(sum(orders[0], [])), list(range(50)))

    def test_an_exception_in_an_item_is_raised(self):
        class Bad:
            def __len__(self):
                return 4

            def __getitem__(self, i):
                if i == 2:
                    raise LookupError("item 2")
                return {"x": i}

        for workers in (0, 2):
            with self.assertRaisesRegex(LookupError, "item 2"):
                list(burn.data.Loader(Bad(), 1, workers=workers))


class Linear(nn.Module):
    def __init__(self):
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        return self.layer(x)


def linear_step(model, batch):
    output = model(batch.x)
    return burn.cross_entropy(output, batch.y), output, batch.y


class Items(burn.train.metric.Metric):
    name = "Items"

    def measure(self, output, items):
        return float(items)


class Training(unittest.TestCase):
    def setUp(self):
        self.data = burn.data.Dataset.items({"x": [float(i), -float(i)], "y": int(i > 0)} for i in range(-8, 8))
        self.loader = burn.data.Loader(self.data, 8, shuffle=True)

    def test_a_learner_learns_and_hears_of_epochs(self):
        learner = burn.train.Learner(Linear(), burn.optim.Adam(), linear_step, metrics=[Items(), burn.train.metric.accuracy()])
        heard = []
        result = learner.fit(self.loader, self.loader, epochs=20, lr=burn.schedule.Constant(0.1), on_epoch=heard.append)
        self.assertEqual((len(heard), result.epochs_done, heard[0]["train"]["Items"]), (20, 20, 8))
        self.assertLess(heard[-1]["valid"]["Loss"], heard[0]["valid"]["Loss"])
        self.assertAlmostEqual(learner.evaluate(self.loader)["Loss"], heard[-1]["valid"]["Loss"], 6)

    def test_runs_end_without_improvement(self):
        learner = burn.train.Learner(Linear(), burn.optim.Sgd(), linear_step, metrics=[Items()])
        result = learner.fit(self.loader, self.loader, epochs=9, early_stopping=burn.train.NoImprovement("Items", epochs=2))
        self.assertEqual((result.epochs_done, result.stopped_early), (3, True))  # always 8: the first epoch stays the best
        with self.assertRaisesRegex(burn.BurnError, "watches the metric 'items', which this run does not have. It has: Loss, Items"):
            learner.fit(self.loader, epochs=9, early_stopping=burn.train.NoImprovement("items", "train"))

    def test_loaders_without_batches_are_refused(self):
        none = burn.data.Loader(self.data, 99, drop_last=True)
        for train, valid, what in ((none, None, "training"), (self.loader, none, "validation")):
            with self.assertRaisesRegex(burn.BurnError, f"^learner: the loader of {what} data has no batches: drop_last leaves out its 16 items"):
                burn.train.Learner(Linear(), burn.optim.Sgd(), linear_step).fit(train, valid)

    def test_exceptions_of_steps_are_raised_as_they_are(self):
        def step(model, batch):
            raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            burn.train.Learner(Linear(), burn.optim.Adam(), step).fit(self.loader)

    def test_models_with_lists_are_evaluated(self):
        class Deep(nn.Module):
            def __init__(self):
                self.layers = [nn.Linear(2, 2), nn.Linear(2, 2)]

            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)
                return x

        learner = burn.train.Learner(Deep(), burn.optim.Adam(), linear_step)
        last = learner.fit(self.loader, self.loader, epochs=2, lr=0.1).last
        self.assertAlmostEqual(learner.evaluate(self.loader)["Loss"], last["valid"]["Loss"], 6)

    def test_a_model_of_validation_ends_with_its_step(self):
        kept = []

        def step(model, batch):
            kept.append(model)
            return linear_step(model, batch)

        model = Linear()
        model._others = [nn.Linear(2, 2), None]
        burn.train.Learner(model, burn.optim.Adam(), step).fit(self.loader, self.loader)
        self.assertIs(kept[0], model)
        self.assertEqual(kept[-1]._others[0](burn.ones(1, 2)).shape, (1, 2))
        self.assertEqual(len(kept[0].parameters()), 2)
        for use in (kept[-1].parameters, lambda: kept[-1].layer.weight):
            with self.assertRaisesRegex(ValueError, "^this model was made for a step of validation, which is over"):
                use()
        with self.assertRaises(TypeError):
            kept[-1](burn.ones(1, 2))

    def test_a_step_without_a_loss_is_told(self):
        with self.assertRaisesRegex(TypeError, "^the step gave NoneType; a loss, "):
            burn.train.Learner(Linear(), burn.optim.Adam(), lambda model, batch: None).fit(self.loader)

    def test_what_a_run_is_not_made_of_is_told(self):
        learner = burn.train.Learner(nn.Linear(1, 1), burn.optim.Adam(), lambda model, batch: model(batch.x).sum())
        loader = burn.data.Loader(burn.data.Dataset.arrays(x=[[1.0]]), 1)
        wrong = ((TypeError, "train is a Dataset; a burn.data.Loader is expected", lambda: learner.fit(burn.data.Dataset.arrays(x=[[1.0]]))),
                 (TypeError, "'accuracy' is no metric", lambda: burn.train.Learner(nn.Linear(1, 1), None, None, metrics=["accuracy"]).evaluate(loader)),
                 (TypeError, "data is a NoneType", lambda: learner.evaluate(None)),
                 (TypeError, "an item is int; a dict", lambda: burn.data.Dataset.items([1, 2])),
                 (ValueError, "split is 'test'; 'train' or 'valid'", lambda: burn.train.NoImprovement(split="test")),
                 (ValueError, "split is 'valid'; 'train' or 'test'", lambda: burn.data.Dataset.mnist("nowhere", "valid")))
        for kind, message, call in wrong:
            with self.assertRaises(kind) as caught:
                call()
            self.assertEqual(str(caught.exception)[:len(message)], message)

    def test_a_rate_that_is_none_is_told(self):
        learner = burn.train.Learner(Linear(), burn.optim.Sgd(), linear_step)
        for rate in (None, "0.1", burn.schedule.Constant):
            with self.assertRaisesRegex(TypeError, "^lr is .*; a number or a schedule of burn.schedule expected$"):
                learner.fit(self.loader, lr=rate)

    def test_two_devices_learn_as_one(self):
        losses = []
        for count in (1, 2):
            devices = [burn.Device("ndarray") for _ in range(count)]
            devices[0].seed(7)
            first = burn.set_default_device(devices[0])
            learner = burn.train.Learner(Linear(), burn.optim.Sgd(), linear_step, device=first)
            result = learner.fit(self.loader, epochs=5, lr=0.1, devices=devices)
            losses.append([epoch["train"]["Loss"] for epoch in result.epochs])
        burn.set_default_device("ndarray")
        for one, two in zip(*losses):
            self.assertAlmostEqual(one, two, 5)

    def test_damaged_items_are_left_out(self):
        path = pathlib.Path(FOLDER) / "lines.db"
        with contextlib.closing(sqlite3.connect(path)) as made:
            made.execute("drop table if exists t")
            made.execute("create table t (row_id integer primary key, x real)")
            made.executemany("insert into t values (?, ?)", [(i, i) for i in (1, 2, 4, 5)])
            made.commit()
        data = _c.burn_dataset_sqlite(str(path), "t", [("x", burn.f32, ())])
        with self.assertRaisesRegex(burn.BurnError, "there is no row 3"):
            list(burn.data.Loader(data, 2))
        self.assertEqual([batch.x.tolist() for batch in burn.data.Loader(data, 2, skip_bad=True)], [[1, 2], [4], [5]])

    def test_lbfgs_solves_least_squares(self):
        model, x = nn.Linear(1, 1), burn.tensor([[0.0], [1.0], [2.0]])
        lbfgs = burn.optim.Lbfgs()
        for _ in range(3):
            loss = lbfgs.step(model, lambda: (model(x) - (2 * x + 1)).square().mean())
        self.assertLess(loss, 1e-8)
        self.assertAlmostEqual(model.weight.item(), 2, 3)

    def test_the_guides_cnn_has_the_numbers_of_c(self):
        wanted = json.loads(pathlib.Path(RESULT).read_text().splitlines()[-1])
        last = load("mnist", EXAMPLES).main(640, 128, 2, "ndarray").last
        for split, name, key in (("train", "Loss", "train_loss"), ("valid", "Loss", "test_loss"), ("valid", "Accuracy", "test_accuracy")):
            self.assertEqual(float(f"{last[split][name]:.9g}"), wanted[key], key)

    def test_a_record_of_c_is_loaded(self):
        wanted = json.loads(pathlib.Path(RESULT).read_text().splitlines()[-1])
        example, device = load("mnist", EXAMPLES), burn.set_default_device("ndarray")
        model = example.Model(10, 512).load(str(pathlib.Path(FOLDER) / "model"))
        test = burn.data.Loader(burn.data.Dataset.digits(128, seed=85).normalize_mnist(), 64)
        values = burn.train.Learner(model, burn.optim.Adam(), example.step, device=device).evaluate(test)
        self.assertEqual(float(f"{values['Loss']:.9g}"), wanted["test_loss"])


def safetensors(path, tensors):
    """A file of (name, dtype, shape, letter, values), written from the format's description."""
    header, data = {"__metadata__": {"made": "by hand"}}, b""
    for name, dtype, shape, letter, values in tensors:
        packed = struct.pack(f"<{len(values)}{letter}", *values)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(packed)]}
        data += packed
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


class Weights(unittest.TestCase):
    def setUp(self):
        self.path = safetensors(pathlib.Path(FOLDER) / "hand.safetensors",
                                [("net.fc.weight", "F32", [2, 3], "f", [1, 2, 3, 4, 5, 6]), ("net.fc.bias", "F16", [2], "e", [0.5, -0.5]),
                                 ("step", "I64", [], "q", [7])])

    def test_a_store_is_a_mapping_of_names(self):
        with burn.store.open(self.path) as store:
            self.assertEqual((store.format, len(store), list(store)), ("safetensors", 3, ["net.fc.weight", "net.fc.bias", "step"]))
            self.assertEqual(store.metadata, {"made": "by hand"})
            self.assertEqual(store.entry("net.fc.bias"), ("net.fc.bias", (2,), burn.f16, "F16", 4))
            self.assertEqual(store.entries[2].shape, ())
            self.assertEqual(store["net.fc.weight"].tolist(), [[1, 2, 3], [4, 5, 6]])
            self.assertIn("step", store)
            with self.assertRaises(KeyError):
                store["net.fc.wieght"]
            with self.assertRaisesRegex(burn.BurnError, "Did you mean .net.fc.weight.\\?"):
                store.tensor("net.fc.wieght")

    def test_a_linear_of_pytorch_is_turned(self):
        layer = nn.Linear(3, 2)
        with burn.store.open(self.path) as store:
            report = store.apply(layer, pytorch=True, rename={r"^net\.fc\.": ""}, exclude=["step"], dtypes=1)
        self.assertEqual((layer.weight.tolist(), layer.bias.tolist()), ([[1, 4], [2, 5], [3, 6]], [0.5, -0.5]))
        self.assertEqual(([d.path for d in report.loaded], report.missing), (["weight", "bias"], []))
        self.assertIn("2 loaded, 0 missing", str(report))

    def test_a_refusal_has_its_report_and_changes_nothing(self):
        layer = nn.Linear(3, 2)
        before = layer.weight.tolist()
        with burn.store.open(self.path) as store, self.assertRaises(burn.BurnError) as caught:
            store.apply(layer, pytorch=True, rename=[(r"^net\.fc\.w", "w")])
        self.assertEqual([d.path for d in caught.exception.report.missing], ["bias"])
        self.assertEqual([d.path for d in caught.exception.report.unused], ["net.fc.bias", "step"])
        self.assertEqual(layer.weight.tolist(), before)

    def test_modules_and_stores_are_written(self):
        layer, folder = nn.Linear(3, 2), pathlib.Path(FOLDER)
        for name in ("saved.safetensors", "saved.bpk", "saved.npz", "saved.pt"):
            burn.store.save(layer, folder / name, pytorch=name.endswith(".pt"), overwrite=True)
            again = nn.Linear(3, 2)
            with burn.store.open(folder / name) as store:
                store.apply(again, pytorch=name.endswith(".pt"))
            self.assertEqual(again.weight.tolist(), layer.weight.tolist(), name)
        with burn.store.open(self.path) as store:
            store.convert(folder / "half.safetensors", floats=burn.f16, include=["weight"], metadata={"by": "test"}, overwrite=True)
        with burn.store.open(folder / "half.safetensors") as store:
            self.assertEqual((store.metadata, store.entries), ({"by": "test"}, [("net.fc.weight", (2, 3), burn.f16, "F16", 12)]))
        with self.assertRaisesRegex(burn.BurnError, "half.safetensors"):
            burn.store.save(layer, folder / "half.safetensors")


@unittest.skipUnless(hasattr(_c, "burn_onnx_load"), "Burn was built without protobuf-c")
class Onnx(unittest.TestCase):
    def test_a_graph_runs_on_values_by_name_and_by_place(self):
        path = pathlib.Path(FOLDER) / "tiny.onnx"
        path.write_bytes(TINY)
        graph = burn.onnx.load(path)
        self.assertEqual((graph.inputs, graph.outputs), ([("x", ("batch", 3), burn.f32)], [("y", ("batch", 2), burn.f32)]))
        for x in ([[1, 2, 3]], burn.tensor([[1.0, 2.0, 3.0]]), burn.tensor([[1.0, 2.0, 3.0]], device=graph.device)):
            self.assertEqual((graph(x).tolist(), graph(x=x).tolist(), graph.run({"x": x}, ["y"])["y"].tolist()), (([[5.5, 1]],) * 3))
        self.assertEqual((graph.stats.nodes_in_file, burn.onnx.info(path)["inputs"][0]["name"]), (2, "x"))

    def test_a_graph_runs_on_numpy(self):
        numpy = optional("numpy")
        if not numpy:
            self.skipTest("this Python has no NumPy")
        graph = burn.onnx.load(TINY)
        x = numpy.random.default_rng(1).normal(size=(5, 3)).astype(numpy.float32)
        w, b = numpy.array([[1, -1], [2, 0.5], [0, 1]], numpy.float32), numpy.array([0.5, -2], numpy.float32)
        numpy.testing.assert_allclose(graph(x=x).numpy(), numpy.maximum(x @ w + b, 0), rtol=1e-6)

    def test_a_graph_takes_and_gives_strings(self):
        graph = burn.onnx.load(STRINGS)
        self.assertEqual((graph.inputs, [value.dtype for value in graph.outputs]), ([("x", ("n",), str)], [str, burn.bool_, burn.i64, str]))
        text, hits, numbers, named = graph(["a", "b", "\u00e4"])
        self.assertEqual((text, hits.tolist(), numbers.tolist(), named), (["a!", "b!", "\u00e4!"], [False, True, False], [10, 20, 0], ["10", "20", "0"]))
        self.assertEqual(graph.run({"x": []}, ["y"]), {"y": []})
        with self.assertRaisesRegex(burn.BurnError, r"strings \[1,1\], expected \[-1\]"):
            graph([["a"]])
        with self.assertRaisesRegex(ValueError, "unequal lengths"):
            graph([["a"], []])

    def test_mistakes_name_the_input(self):
        graph = burn.onnx.load(TINY)
        with self.assertRaisesRegex(burn.BurnError, "z"):
            graph(z=[[1.0, 2.0, 3.0]])
        with self.assertRaisesRegex(TypeError, "^input 'x' is given twice$"):
            graph([[1.0]], x=[[1.0]])
        with self.assertRaisesRegex(ValueError, "the list before it has 1"):
            _c.burn_graph_run_named(graph._graph, ["x"], [], ["y"], 1)
        with self.assertRaises(burn.BurnError):
            burn.onnx.load(TINY[:40])

    def test_a_graph_is_trained_on(self):
        graph = burn.onnx.load(TINY, training=True)
        self.assertEqual([path for path, _ in graph.parameters()], ["fc.weight", "fc.bias"])
        graph.set_tensor("fc.bias", burn.tensor([3.0, 3.0]))
        optimizer = burn.optim.Sgd()
        for _ in range(200):
            optimizer.train_step(graph, (graph(burn.tensor([[1.0, 0.0, 0.0]])) - burn.tensor([[1.0, 2.0]])).square().mean(), 0.1)
        copy = graph.clone()
        for value, wanted in zip(copy([[1, 0, 0]]).tolist()[0], (1, 2)):
            self.assertAlmostEqual(value, wanted, 3)


def reused():
    """Memory in the place of what has been given back."""
    return [b"Z" * size + b"z" for size in range(1, 200) for _ in range(20)], [bytearray(b"\xee" * size) for size in range(1, 300) for _ in range(10)]


class Kept(unittest.TestCase):
    """C keeps a pointer to what a call was given: whoever has the pointer holds it."""

    def test_values_hold_the_configs_that_they_point_at(self):
        made = (_c.burn_schedule_constant({"lr": 0.5}), _c.burn_schedule_constant(_c.BurnConstantRateConfig_defaults(0.5)))
        metric = _c.burn_metric_top_k_accuracy({"k": 3})
        others = reused()
        self.assertEqual([_c.burn_schedule_rate(schedule, 0) for schedule in made], [0.5, 0.5])
        self.assertEqual((_c.view(_c.BurnTopKAccuracyConfig, metric.config, None).k, len(others)), (3, 2))

    def test_structs_hold_the_texts_that_they_are_given(self):
        output = _c.BurnStepOutput()
        _c.burn_step_give(output, "".join(("lo", "ss")), burn.ones(1))
        guess = _c.burn_guess("".join(("hell", "oo")))
        _c.burn_guess_add(guess, "".join(("hel", "lo")))
        others = reused()
        self.assertEqual((output.names[0], len(others)), ("loss", 2))
        self.assertIn("'hello'", _c.burn_guess_text(guess))

    def test_a_struct_holds_what_its_parts_are_given(self):
        config = _c.BurnLearnerConfig()
        config.metrics.items = [_c.burn_metric_accuracy()]
        gc.collect()
        others = reused()
        self.assertEqual((config.metrics.items.table.name, len(others)), ("Accuracy", 2))

    def test_a_copy_holds_what_the_first_one_pointed_at(self):
        stopping = _c.burn_stop_without_improvement(_c.BurnNoImprovement(metric="".join(("Lo", "ss"))))
        config = _c.BurnLearnerConfig(early_stopping=stopping)
        stopping.context = None
        del stopping
        gc.collect()
        others = reused()
        self.assertEqual((_c.view(_c.BurnNoImprovement, config.early_stopping.context, None).metric, len(others)), ("Loss", 2))

    def test_handles_hold_what_they_read_from(self):
        layer, folder = nn.Linear(300, 200), pathlib.Path(FOLDER)
        burn.store.save(layer, folder / "kept.safetensors", overwrite=True)
        burn.save(layer, folder / "kept", format="bpk")
        store = _c.burn_store_open_bytes((folder / "kept.safetensors").read_bytes(), (folder / "kept.safetensors").stat().st_size)
        _, _, value = _c.burn_value_decode_in_place((folder / "kept.bpk").read_bytes(), (folder / "kept.bpk").stat().st_size)
        others = [b"\xee" * 300000 for _ in range(9)]
        fresh = _c.burn_store_tensor(store, "weight", burn.default_device())
        self.assertEqual((fresh.tolist(), len(others)), (layer.weight.tolist(), 9))
        self.assertGreater(_c.burn_value_count(value), 0)

    def test_an_optimizer_holds_the_groups_that_it_is_given(self):
        optimizer = _c.burn_sgd_create(None)
        _c.burn_optimizer_with_group(optimizer, {"parts": ["".join(("wei", "ght"))]}, _c.burn_sgd_create(None))
        others, layer = reused(), nn.Linear(2, 2)
        _c.burn_train_step(optimizer, layer._module(), layer(burn.ones(1, 2)).sum(), 0.1)
        self.assertEqual(len(others), 2)

    def test_batches_hold_their_loader_and_end_by_themselves(self):
        data, config = burn.data.Dataset.items({"x": float(i)} for i in range(100)), (4, True, 0, 2, 0, False, (False,))
        batches = _c.burn_loader_start(_c.burn_loader_create(data, config), burn.default_device(), 1, 0)
        gc.collect()
        others, batch, count = reused(), _c.BurnBatch(), 0
        while _c.burn_batches_next(batches, batch):
            count += 1
        self.assertEqual((count, len(others)), (25, 2))
        loader = _c.burn_loader_create(data, config)
        batches = _c.burn_loader_start(loader, burn.default_device(), 1, 0)
        with self.assertRaisesRegex(ValueError, "^burn_loader_destroy: loader: this BurnLoader is in use"):
            _c.burn_loader_destroy(loader)
        threads = len(list(pathlib.Path("/proc/self/task").iterdir()))
        del batches
        self.assertEqual(len(list(pathlib.Path("/proc/self/task").iterdir())), threads - 2)
        _c.burn_loader_destroy(loader)

    def test_names_that_a_step_gives_last(self):
        class Task:
            def step(self, address, batch):
                x = burn.data.Batch(batch).x
                given = {"count": 2, "names": ["".join(("lo", "ss")), "".join(("oth", "er"))], "tensors": [model(x).sum(), x]}
                return given if as_dict else _c.BurnStepOutput(**given)

        class Names(burn.train.metric.Metric):
            def __init__(self, name):
                self.name = name
                super().__init__()

            def measure(self, output, items):
                seen.append((sorted(output), len(reused())))
                return 0.0

        device, seen = burn.default_device(), []
        before = device.memory().live_tensors
        model, task, result, metrics = nn.Linear(1, 1), Task(), _c.BurnLearnerResult(), [Names("first"), Names("second")]
        loader = burn.data.Loader(burn.data.Dataset.items({"x": [float(i)]} for i in range(16)), 8)
        for as_dict in (False, True):
            _c.burn_learner_fit(_c.BurnLearnerConfig(epochs=1, quiet=True, learning_rate=0.1, metrics=burn.train._metrics(metrics)), (_c.callbacks["BurnTask.step"], id(task)), device,
                                model._module(), _c.burn_sgd_create(None), loader._loader, None, result)
        self.assertEqual(seen, [(["loss", "other"], 2)] * 8)
        del model
        self.assertEqual(device.memory().live_tensors, before)


class Hostile(unittest.TestCase):
    """What would be a crash in C is an exception."""

    def test_what_is_used_cannot_be_ended(self):
        value, optimizer = _c.burn_value_map(), _c.burn_sgd_create(None)
        with self.assertRaisesRegex(ValueError, "this BurnValue is in use: it is also another argument$"):
            _c.burn_value_set(value, "a", value)
        with self.assertRaisesRegex(ValueError, "this BurnOptimizer is in use"):
            _c.burn_optimizer_with_group(optimizer, {"parts": ["weight"]}, optimizer)

        class Source:
            batches, error = None, None

            def __len__(self):
                return 8

            def __getitem__(self, i):
                try:
                    if self.batches:
                        _c.burn_batches_stop(self.batches)
                except ValueError as error:
                    self.error = str(error)
                return {"x": float(i)}

        source = Source()
        loader = _c.burn_loader_create(burn.data.Dataset.of(source), (4, True, 0, 0, 0, False, (False,)))
        source.batches = _c.burn_loader_start(loader, burn.default_device(), 1, 0)
        self.assertTrue(_c.burn_batches_next(source.batches, _c.BurnBatch()))
        self.assertIn("this BurnBatches is in use: a call goes on with it", source.error)
        batches, source.batches = source.batches, None
        _c.burn_batches_stop(batches)

    def test_what_lay_in_a_handle_ends_with_it(self):
        path = pathlib.Path(FOLDER) / "ended.safetensors"
        burn.store.save(nn.Linear(3, 2), path, overwrite=True)
        store = burn.store.open(path)
        entry = _c.burn_store_entry(store, 0)
        store.close()
        for use in (lambda: entry.name, lambda: repr(entry)):
            with self.assertRaisesRegex(ValueError, "^the BurnStore that this belongs to was taken or closed before$"):
                use()

    def test_contents_are_in_one_place(self):
        device = burn.default_device()
        before = device.memory().live_tensors
        layer = _c.burn_linear_init(_c.BurnLinearConfig_defaults(2, 2), device)
        for make in (lambda: _c.BurnLinear(weight=layer.weight), lambda: setattr(layer, "bias", layer.weight)):
            with self.assertRaisesRegex(TypeError, "a BurnParam is in one struct only, which ends it"):
                make()
        del layer
        hidden, lstm, x = burn.zeros(2, 5), nn.Lstm(4, 5, True), burn.ones(2, 3, 4)
        _c.burn_lstm_forward(lstm._struct, x, {"cell": hidden, "hidden": hidden}, None)
        with self.assertRaisesRegex(TypeError, "^burn_step_take: output: C writes to it: a BurnStepOutput is expected, not <class 'dict'>$"):
            _c.burn_step_take({"count": 1, "names": ["a"], "tensors": [x]}, "a")
        del hidden, lstm, x
        self.assertEqual(device.memory().live_tensors, before)

    def test_memory_is_as_large_as_c_is_told(self):
        device, x, short = burn.default_device(), burn.ones(1000), bytearray(4)

        class Strided:
            __array_interface__ = {"data": (0, False), "shape": (4,), "strides": (8,), "typestr": "<f4", "version": 3}

        shape = _c.BurnShape(3)
        for call, kind, message in ((lambda: _c.burn_read(x, short, 4000), ValueError, "4000 items of 1 bytes are wanted, in memory of 4 bytes"),
                                    (lambda: _c.burn_tensor_from(device, b"1234", burn.f32, [1000]), ValueError, "1000 items of 4 bytes are wanted"),
                                    (lambda: _c.burn_tensor_f32(device, [1.0, 2.0], [1000]), ValueError, "in memory of 8 bytes"),
                                    (lambda: _c.burn_tensor_from(device, Strided(), burn.f32, [4]), ValueError, "not contiguous"),
                                    (lambda: _c.burn_read(burn.ones(1), bytes(4), 4), TypeError, "C writes to this memory, which is read-only"),
                                    (lambda: _c.copy_to(shape._address, b"123", -1), ValueError, "^-1 bytes are wanted, there are 3$"),
                                    (lambda: _c.copy_to(shape._address, short, 40), ValueError, "^40 bytes are wanted, there are 4$"),
                                    (lambda: _c.burn_param_id_text(1, bytearray(13)), ValueError, "14 items of 1 bytes are wanted, in memory of 13 bytes"),
                                    (lambda: _c.burn_module_clone(nn.Linear(1, 1)._module(), bytearray(9)), ValueError, "^burn_module_clone: out: [0-9]+ items of 1 bytes are wanted, in memory of 9"),
                                    (lambda: _c.burn_value_elements(_c.burn_value_map(), bytearray(3), shape), ValueError, "^burn_value_elements: dtype: 1 items of 4 bytes"),
                                    (lambda: _c.burn_settings_files(_c.BurnSettingsInfo(), 2), ValueError, "^burn_settings_files: out: 2 items of [0-9]+ bytes"),
                                    (lambda: _c.burn_print_to(bytearray(9), x), TypeError, "^burn_print_to: file: an address is expected .int or None., not <class 'bytearray'>$"),
                                    (lambda: _c.burn_tokenizer_characters("abc", 4), ValueError, "^burn_tokenizer_characters: text: 4 items of 1 bytes are wanted, in memory of 3"),
                                    (lambda: setattr(shape, "dims", [1] * 9), ValueError, "9 items are more than the 8"),
                                    (lambda: setattr(_c.BurnColumn(), "shape", [1] * 9), ValueError, "9 items are more than the 8")):
            with self.assertRaisesRegex(kind, message):
                call()
        column = _c.BurnColumn(shape=[2])
        with self.assertRaises(ValueError):
            column.shape = [1] * 9
        self.assertEqual(column.shape.rank, 1)
        weights = bytearray(16)
        config = _c.BurnSampleConfig(weights=weights)
        with self.assertRaises(BufferError):
            weights.extend(bytes(100))
        del config
        weights.extend(bytes(100))

    def test_types_are_checked(self):
        class Far(_c.BurnShape):
            _index = 10**7

        for call in (lambda: _c.register("BurnTensor", int), lambda: _c.view(int, 4096, None), Far):
            with self.assertRaisesRegex(TypeError, "is no subclass of|a type of structs is expected"):
                call()
        self.assertEqual(repr(_c.BurnMetric(table=4096)), "BurnMetric(table=4096, config=None, name=None)")

    def test_an_address_is_no_struct(self):
        with self.assertRaisesRegex(TypeError, r"^burn_from_dlpack: tensor: an address is expected \(int or None\), not <class 'burn.tensor.Tensor'>$"):
            _c.burn_from_dlpack(burn.ones(1), None)
        with self.assertRaisesRegex(TypeError, "^burn_graph_run_named: output_names: "):
            _c.burn_graph_run_named(None, [], [], b"x", 1)
        for address in (1, True):
            with self.assertRaisesRegex(TypeError, "^burn_lstm_forward: state: BurnLstmState is expected, or its members as a dict or tuple, not <class '(int|bool)'>$"):
                nn.Lstm(4, 5, True).forward(burn.ones(2, 3, 4), address)

    def test_a_callback_has_a_context(self):
        with self.assertRaisesRegex(TypeError, "^a function of Python is called, but its context is None$"):
            _c.burn_module_visit(nn.Linear(1, 1)._module(), _c.callbacks["BurnModuleVisitor"], None)

    def test_exceptions_are_those_that_were_raised(self):
        class Mine(Exception):
            def __init__(self, text, code):
                super().__init__(text)
                self.code = code

        class Index:
            def __index__(self):
                raise Mine("x", 5)

        with self.assertRaises(Mine) as caught:
            _c.burn_dim(burn.zeros(2), Index())
        self.assertEqual(caught.exception.code, 5)
        with self.assertRaisesRegex(ValueError, "^burn_device_open_training: stack: .*surrogates not allowed"):
            burn.Device("\ud800")
        for name in ("x" * n + "\u20ac" * 400 for n in range(3)):  # longer than a message
            with self.assertRaises(burn.BurnError):
                burn.Device(name)
        with self.assertRaisesRegex(burn.BurnError, "nowhere"):
            _c.burn_npy_read(burn.default_device(), b"/nowhere/\xff")

        def unwound():
            return [burn.data.Dataset.of([{"x": 1.0}]), 1 / 0]  # C calls Python as it ends the dataset

        with self.assertRaises(ZeroDivisionError):
            unwound()

    def test_what_c_has_as_const_is_not_written(self):
        op = next(op for op in map(_c.burn_op_info, range(1, 9)) if op)  # a row of a table in memory that nobody can write
        with self.assertRaisesRegex(AttributeError, "^this BurnOpInfo is C's own: it cannot be changed$"):
            op.name = b"x"
        column = _c.burn_dataset_column(burn.data.Dataset.arrays(x=[[1.0]]), 0)
        with self.assertRaisesRegex(AttributeError, "^this BurnShape is C's own"):
            column.shape.rank = 8

    def test_subinterpreters_are_refused(self):
        interpreters = optional("_interpreters") or optional("_xxsubinterpreters")
        if not interpreters:
            self.skipTest("this Python has no subinterpreters")
        other = interpreters.create()
        problem = interpreters.run_string(other, f"import sys; sys.path[:] = {sys.path!r}\ntry:\n import burn\nexcept ImportError as error:\n"
                                                 " if 'subinterpreters' not in str(error): raise\nelse:\n raise ValueError('imported')")
        interpreters.destroy(other)
        self.assertIsNone(problem)  # where it is told, not raised
        self.assertEqual(burn.ones(1).item(), 1)

    def test_copies_of_tensors_are_tensors(self):
        x = burn.tensor([1.0, 2.0])
        self.assertIs(copy.copy(x), x)
        self.assertEqual(copy.deepcopy({"mean": x})["mean"].tolist(), [1, 2])
        with self.assertRaisesRegex(TypeError, "^tensors are not pickled: burn.save and burn.store"):
            pickle.dumps(x)
        for thing in (_c.BurnShape(3, 4), nn.Linear(1, 1)._struct, (x.require_grad() * 2).sum().backward()):
            with self.assertRaises(TypeError):
                copy.copy(thing)

    def test_a_length_is_that_of_what_c_gets(self):
        class Long(list):
            def __len__(self):
                return 3

        x, rates = burn.ones(2, 3, 4), [burn.schedule.Constant(0.1)] * 4
        for call in (lambda: x.permute(Long([0])), lambda: x.repeat(Long([1])), lambda: x.roll(Long([1]), [0, 1, 2]), lambda: x.roll([1, 1, 1], Long([0])),
                     lambda: x.movedims([0, 1, 2], Long([0])), lambda: burn.data.Dataset.arrays(x=Long([1.0])), lambda: burn.schedule.Sequential(rates, Long([5])),
                     lambda: burn.data.Dataset.items([{"x": 1.0}] * 3).sample(3, weights=Long([1.0]))):
            with self.assertRaisesRegex(ValueError, "1 (times|axes|weights|milestones) for|expected, not [13]$|different shapes$"):
                call()

    def test_a_list_that_changes_is_that_of_the_call(self):
        class Index:
            def __index__(self):
                dims.clear()
                return 0

        dims = []
        dims += [Index(), 1]
        self.assertEqual(burn.tensor([[1, 2], [3, 4]]).flip(dims).tolist(), [[4, 3], [2, 1]])


class Shared(unittest.TestCase):
    def test_numpy_without_a_copy(self):
        numpy = optional("numpy")
        if not numpy:
            self.skipTest("this Python has no NumPy")
        theirs = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)
        ours = burn.from_dlpack(theirs)
        back = ours.numpy()
        self.assertEqual(back.ctypes.data, theirs.ctypes.data)
        self.assertFalse(back.flags.writeable)
        self.assertEqual((ours * 2).tolist(), (theirs * 2).tolist())
        self.assertNotEqual(burn.tensor(theirs).numpy().ctypes.data, theirs.ctypes.data)
        self.assertEqual(burn.tensor(theirs.T).tolist(), theirs.T.tolist())
        self.assertEqual(numpy.asarray(burn.tensor([True, False])).tolist(), [True, False])

    def test_numpy_with_a_copy(self):
        numpy = optional("numpy")
        if not numpy:
            self.skipTest("this Python has no NumPy")
        for x in (burn.tensor([-0.0, 1.0]), burn.tensor([True, False]), burn.zeros(0, 3)):
            copy = x.__array__(copy=True)
            self.assertTrue(copy.flags.writeable)
            self.assertNotEqual(copy.ctypes.data, x.numpy().ctypes.data)
            self.assertEqual(numpy.signbit(copy.astype("f4")).tolist(), numpy.signbit(x.numpy().astype("f4")).tolist())
        with self.assertRaisesRegex(ValueError, "without a copy"):
            burn.tensor([1.0]).__array__(dtype="i4", copy=False)
        if numpy.lib.NumpyVersion(numpy.__version__) >= "2.1.0":
            self.assertTrue(numpy.signbit(numpy.from_dlpack(burn.tensor([-0.0]), copy=True))[0])
            self.assertEqual(numpy.from_dlpack(burn.tensor([True, False]), copy=True).tolist(), [True, False])

    def test_pytorch_without_a_copy(self):
        torch = optional("torch")
        if not torch:
            self.skipTest("this Python has no PyTorch")
        theirs = torch.arange(12.0).reshape(3, 4).t()
        ours = burn.from_dlpack(theirs)
        back = torch.from_dlpack(ours)
        self.assertEqual((back.data_ptr(), back.stride()), (theirs.data_ptr(), theirs.stride()))
        del theirs
        self.assertEqual(back.tolist(), ours.tolist())


class Speed(unittest.TestCase):
    def test_a_call_costs_at_most_a_microsecond_over_c(self):
        overhead, _ = load("overhead", EXAMPLES).measured()
        for name, microseconds in overhead.items():
            self.assertLessEqual(microseconds, 1.0, name)


if __name__ == "__main__":
    burn.set_default_device("ndarray")
    unittest.main(argv=sys.argv[:1])
