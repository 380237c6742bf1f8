"""ONNX models: graphs that load, run on NumPy arrays or tensors, and are trained on.

    graph = burn.onnx.load("model.onnx")
    probabilities = graph(image=pixels).numpy()"""
import collections
import ctypes
import json
import math

from . import _c
from .device import chosen
from .dtype import DType
from .module import Module
from .tensor import Tensor, tensor

Value = collections.namedtuple("Value", "name shape dtype")
Value.__doc__ = """An input or output. shape is None for any rank; an axis of any size has its name there, or -1.
dtype is str for strings, None for no tensor and for a dtype that does not exist here."""

WEIGHTS = "auto", "kept", "merged"


def _value(value):
    axes = [name if name and size < 0 else size for size, name in zip(value.dims, value.axes)]
    dtype = str if value.strings else DType(value.dtype) if value.dtype else None
    return Value(value.name, tuple(axes[:value.rank]) if value.has_shape else None, dtype)


def _flat(value):
    """The shape of nested lists of strings, and the strings."""
    if isinstance(value, str):
        return [], [value]
    parts = [_flat(part) for part in (value.tolist() if hasattr(value, "tolist") else value)]
    if any(shape != parts[0][0] for shape, _ in parts):
        raise ValueError("lists of strings have unequal lengths")
    return [len(parts), *(parts[0][0] if parts else [])], [text for _, texts in parts for text in texts]


def _nested(texts, shape):
    """The strings in lists as the shape says."""
    if len(shape) == 1:
        return list(texts)
    size = math.prod(shape[1:])
    return [_nested(texts[i * size:(i + 1) * size], shape[1:]) for i in range(shape[0])]


class Graph(Module):
    """A loaded model. It is a module for optimizers, records and freezing: its parameters have the names of the file."""

    def __init__(self, graph, device):
        self.__dict__["_graph"], self.__dict__["device"] = graph, device
        self.__dict__["inputs"] = [_value(_c.burn_graph_input(graph, i)) for i in range(_c.burn_graph_input_count(graph))]
        self.__dict__["outputs"] = [_value(_c.burn_graph_output(graph, i)) for i in range(_c.burn_graph_output_count(graph))]

    # -- running ---------------------------------------------------------------------------------

    def forward(self, *inputs, **named):
        """The output, or a tuple of several in the order of the file, for inputs in its order, by name, or both."""
        if len(inputs) > len(self.inputs):
            raise TypeError(f"the model has {len(self.inputs)} inputs, not {len(inputs)}")
        given = dict(zip((value.name for value in self.inputs), inputs))
        if given.keys() & named.keys():
            raise TypeError(f"input {min(given.keys() & named.keys())!r} is given twice")
        outputs = self.run(given | named if given else named)
        return next(iter(outputs.values())) if len(outputs) == 1 else tuple(outputs.values())

    def run(self, inputs, outputs=None):
        """Outputs by name, all or those asked for, of a dict of inputs: tensors, NumPy arrays, numbers or lists. Strings are lists."""
        wanted = [value.name for value in self.outputs] if outputs is None else list(outputs)
        dtypes = {value.name: value.dtype for value in self.inputs}
        given = [self._give_strings(name, value) if dtypes.get(name) is str else self._input(value, dtypes.get(name))
                 for name, value in inputs.items()]
        results = _c.burn_graph_run_named(self._graph, list(inputs), given, wanted, len(wanted))
        return {name: self._strings(name) if result is None else result for name, result in zip(wanted, results)}

    def _input(self, value, dtype):
        """A value on the graph's device; of numbers and lists, which have no dtype of their own, in that of the input."""
        if isinstance(value, Tensor) and value.device.is_autodiff and not self.device.is_autodiff:
            value = _c.burn_inner(_c.burn_detach(value))
        return tensor(value, dtype if isinstance(value, (int, float, list, tuple)) else None, self.device)

    def _give_strings(self, name, value):
        shape, texts = _flat(value)
        _c.burn_graph_set_strings(self._graph, name, texts, shape or [1])

    def _strings(self, name):
        shape = _c.BurnShape()
        address = _c.burn_graph_strings(self._graph, name, shape)
        dims = list(shape.dims)[:shape.rank]
        texts = (ctypes.c_char_p * math.prod(dims)).from_address(address)
        return _nested([text.decode() for text in texts], dims)

    @property
    def stats(self):
        """Nodes in the file and after its passes, what was computed when loading, and the peak of the last run's memory."""
        return _c.burn_graph_stats(self._graph)

    # -- training on -----------------------------------------------------------------------------

    def train(self, training=True):
        """Whether BatchNormalization uses the statistics of its batch and follows them; off when loaded."""
        _c.burn_graph_set_training(self._graph, training)
        return self

    def set_tensor(self, name, value):
        """Puts another tensor in the place of a parameter or buffer, such as the weight of a last layer with other classes."""
        _c.burn_graph_set_tensor(self._graph, name, tensor(value, device=self.device))
        return self

    def clone(self):
        """Another instance with the same weights, for another thread; each keeps its own from the first change on."""
        return Graph(_c.burn_graph_clone(self._graph), self.device)

    def valid(self):
        raise TypeError("a graph has no copy below autodiff: evaluate graph.clone(), or load the saved weights without training=True")

    # -- the module of C -------------------------------------------------------------------------

    def _module(self):
        return _c.burn_graph_module(self._graph)

    def _built(self):
        module = self._module()
        return module.type, module.data

    def _move(self, address, block):
        raise TypeError("a graph stays where C has it: it cannot stand in a list of modules")

    def _shown(self, address, owner):
        raise TypeError("a graph runs with its own weights, not with a copy: fit it without a validation loader, and evaluate graph.clone()")


def load(path, device=None, *, training=False, weights="auto", passes=True, free_batch=False):
    """Loads a model onto a device. training=True leaves autodiff on top, so that it can be trained on. weights: "kept" leaves every
    weight as it stands in the file, "merged" lets passes compute with them; "auto" keeps them for training. passes=False runs the graph
    as it stands in the file; free_batch lets the first axis of inputs have any size."""
    device = chosen(device)
    if not training and device.is_autodiff:
        device = device.inner
    if weights not in WEIGHTS:
        raise ValueError(f"weights is one of {', '.join(WEIGHTS)}, not {weights!r}")
    options = {"weights": getattr(_c, f"BURN_GRAPH_WEIGHTS_{weights.upper()}"), "no_passes": not passes, "free_batch": free_batch}
    if isinstance(path, (bytes, bytearray)):
        return Graph(_c.burn_onnx_read(path, len(path), device, options), device)
    return Graph(_c.burn_onnx_load_with(str(path), device, options), device)


def info(path):
    """What a file holds, without loading it: inputs, outputs, opsets, operators and which of them are not supported, as a dict."""
    return json.loads(_c.burn_onnx_info(str(path), True))


__all__ = ["Graph", "Value", "info", "load"]
