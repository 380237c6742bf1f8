"""Tensors: values that nothing takes away; operators, indexing, NumPy and DLPack."""
import array
import operator
import struct

from . import _c
from .device import chosen
from .dtype import FLOATS, LETTERS, NUMPY, DType, bool_, f32, i64

END = (1 << 63) - 1
CPU = 1  # DLPack's kDLCPU
EXACT = 1 << 53  # integers up to here are doubles, too


def _function(name, *numbers):
    """burn_<name>, or its twin if a double does not hold one of the numbers, which then are all integers."""
    twin = all(type(n) is int for n in numbers) and any(abs(n) > EXACT for n in numbers)
    return getattr(_c, f"burn_{name}_i64" if twin else f"burn_{name}")


def _scalar(name, x, value):
    return _function(name, value)(x, value)


def _exact(name):
    """A method of C's, whose numbers may be integers that a double does not hold."""

    def call(self, *arguments, **named):
        numbers = [n for n in (*arguments, *named.values()) if isinstance(n, (int, float))]
        return _function(name, *numbers)(self, *arguments, **named)

    call.__name__, call.__doc__ = name, f"burn_{name}, exact for integers of any size that i64 has."
    return call


def _binary(name, scalar, reflected=None):
    op = getattr(_c, f"burn_{name}")

    def forward(self, other):
        if isinstance(other, Tensor):
            return op(self, other)
        return _scalar(scalar, self, other) if isinstance(other, (int, float)) else NotImplemented

    def backward(self, other):
        if not isinstance(other, (int, float)):
            return NotImplemented
        if reflected is None:
            return _scalar(scalar, self, other)
        return _function(reflected, other)(other, self)

    return forward, backward


def _reduction(name):
    whole, along = getattr(_c, f"burn_{name}"), getattr(_c, f"burn_{name}_dim")

    def reduce(self, dim=None):
        return whole(self) if dim is None else along(self, dim)

    reduce.__name__, reduce.__doc__ = name, f"burn_{name} of all elements, or burn_{name}_dim along an axis, which stays with size 1."
    return reduce


def _sizes(numbers):
    """Numbers that were given one by one, or as one list."""
    return numbers[0] if len(numbers) == 1 and isinstance(numbers[0], (list, tuple)) else numbers


def _as_many(function, what, numbers, count):
    numbers = tuple(numbers)  # counted as C gets them: len() of a list may be anything
    if len(numbers) != count:
        raise ValueError(f"{function}: {count} {what} expected, not {len(numbers)}")
    return numbers


class Tensor(_c.BurnTensor):
    """A tensor on a device. Every function burn_<name> of C that takes a tensor first is a method <name>; none of them takes the
    tensor away. A failure is raised as BurnError with C's message."""

    __slots__ = ()

    def __new__(cls, data, dtype=None, device=None):
        return tensor(data, dtype, device)

    # -- what it is ------------------------------------------------------------------------------

    @property
    def shape(self):
        shape = _c.burn_shape(self)
        return tuple(shape.dims[:shape.rank])

    @property
    def ndim(self):
        return _c.burn_rank(self)

    @property
    def dtype(self):
        return DType(_c.burn_dtype(self))

    @property
    def device(self):
        return _c.burn_tensor_device(self)

    def size(self):
        return _c.burn_element_count(self)

    def __len__(self):
        return _c.burn_dim(self, 0)

    # -- operators -------------------------------------------------------------------------------

    __add__, __radd__ = _binary("add", "add_scalar")
    __sub__, __rsub__ = _binary("sub", "sub_scalar", "scalar_sub")
    __mul__, __rmul__ = _binary("mul", "mul_scalar")
    __truediv__, __rtruediv__ = _binary("div", "div_scalar", "scalar_div")
    __mod__, _ = _binary("remainder", "remainder_scalar")
    __eq__, _ = _binary("equal", "equal_scalar")
    __ne__, _ = _binary("not_equal", "not_equal_scalar")
    __lt__, _ = _binary("lower", "lower_scalar")
    __le__, _ = _binary("lower_equal", "lower_equal_scalar")
    __gt__, _ = _binary("greater", "greater_scalar")
    __ge__, _ = _binary("greater_equal", "greater_equal_scalar")
    __hash__ = object.__hash__

    def __matmul__(self, other):
        return _c.burn_matmul(self, other) if isinstance(other, Tensor) else NotImplemented

    def __pow__(self, other):
        return _c.burn_powf(self, other) if isinstance(other, Tensor) else _c.burn_powf_scalar(self, other)

    def __neg__(self):
        return _c.burn_neg(self)

    def __abs__(self):
        return _c.burn_abs(self)

    def __and__(self, other):
        return _c.burn_bool_and(self, other) if self.dtype == bool_ else _c.burn_bitwise_and(self, other)

    def __or__(self, other):
        return _c.burn_bool_or(self, other) if self.dtype == bool_ else _c.burn_bitwise_or(self, other)

    def __xor__(self, other):
        return _c.burn_bool_xor(self, other) if self.dtype == bool_ else _c.burn_bitwise_xor(self, other)

    def __invert__(self):
        return _c.burn_bool_not(self) if self.dtype == bool_ else _c.burn_bitwise_not(self)

    sum, mean, prod = _reduction("sum"), _reduction("mean"), _reduction("prod")
    max, min, any, all = _reduction("max"), _reduction("min"), _reduction("any"), _reduction("all")

    # -- shape -----------------------------------------------------------------------------------

    def reshape(self, *shape):
        return _c.burn_reshape(self, _sizes(shape))

    def expand(self, *shape):
        return _c.burn_expand(self, _sizes(shape))

    # C reads as many numbers as these functions need, however many the list has.

    def permute(self, *axes):
        return _c.burn_permute(self, self._by_axis("permute", "axes", _sizes(axes)))

    def quant_permute(self, axes):
        return _c.burn_quant_permute(self, self._by_axis("quant_permute", "axes", axes))

    def repeat(self, times):
        return _c.burn_repeat(self, self._by_axis("repeat", "times", times))

    def _by_axis(self, function, what, numbers):
        numbers = tuple(numbers)
        if len(numbers) != self.ndim:
            raise ValueError(f"{function}: {len(numbers)} {what} for a tensor of rank {self.ndim}")
        return numbers

    def roll(self, shifts, dims):
        dims = tuple(dims)
        return _c.burn_roll(self, _as_many("roll", "shifts", shifts, len(dims)), dims)

    def movedims(self, sources, destinations):
        destinations = tuple(destinations)
        return _c.burn_movedims(self, _as_many("movedims", "sources", sources, len(destinations)), destinations)

    def pad(self, padding, pairs, mode, value):
        return _function("pad", value)(self, _as_many("pad", "paddings", padding, 2 * pairs), pairs, mode, value)

    def pad_i64(self, padding, pairs, mode, value):
        return _c.burn_pad_i64(self, _as_many("pad", "paddings", padding, 2 * pairs), pairs, mode, value)

    @property
    def T(self):
        return _c.burn_transpose(self)

    def split(self, size, dim=0):
        return self._parts(_c.burn_split, (size, dim), dim)

    def chunk(self, chunks, dim=0):
        return self._parts(_c.burn_chunk, (chunks, dim), dim)

    def split_with_sizes(self, sizes, dim=0):
        return self._parts(_c.burn_split_with_sizes, (tuple(sizes), dim), dim)

    def iter_dim(self, dim=0):
        return self._parts(_c.burn_iter_dim, (dim,), dim)

    def nonzero(self):
        """Where a tensor of bools is true: a tensor of indices per axis; no tensors where nothing is."""
        indices, count = _c.burn_nonzero(self, self.ndim)
        return indices[:count]

    def _parts(self, function, arguments, dim):
        room = max(_c.burn_dim(self, dim), 0)  # -1 where there is no such axis, which C tells
        parts, count = function(self, *arguments, room)
        return parts[:count]

    def to(self, where):
        """On another device, or of another dtype."""
        return _c.burn_cast(self, where) if isinstance(where, DType) else _c.burn_to_device(self, chosen(where))

    def __getitem__(self, index):
        """Integers (which drop their axis), slices, ..., None (a new axis), and one rank-1 tensor or list of integers, or of as many
        bools as its axis has elements."""
        return _index(self, index if isinstance(index, tuple) else (index,))

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    # -- values leave ----------------------------------------------------------------------------

    def item(self):
        """The value of a tensor of one element."""
        if self.size() != 1:
            raise ValueError(f"item: a tensor of shape {list(self.shape)} has {self.size()} elements, one is expected")
        value = _c.burn_read_scalar(self) if self.dtype in FLOATS else self._flat()[0]
        return bool(value) if self.dtype == bool_ else value

    def __float__(self):
        return float(self.item())

    def __int__(self):
        return int(self.item())

    def __index__(self):
        if self.dtype in FLOATS or self.dtype == bool_:
            raise TypeError(f"an index is an integer, not {self.dtype.name}")
        return int(self.item())

    def __bool__(self):
        return bool(self.item())

    def _flat(self):
        x = self if self.dtype in LETTERS and self.dtype != bool_ else _c.burn_cast(self, i64 if self.dtype == bool_ else f32)
        letter, count = LETTERS[x.dtype], _c.burn_element_count(x)
        if letter == "e":
            x, letter = _c.burn_cast(x, f32), "f"
        out = array.array(letter, bytes(array.array(letter).itemsize * count))
        if count:
            _c.burn_read(x, out.buffer_info()[0], len(out) * out.itemsize)
        return out

    def tolist(self):
        values = self._flat().tolist()
        if self.dtype == bool_:
            values = [bool(value) for value in values]
        for size in reversed(self.shape[1:]):
            values = [values[i:i + size] for i in range(0, len(values), size)] if size else [[] for _ in range(self.shape[0])]
        return values

    def numpy(self):
        """A NumPy array over the same memory where NumPy can have it (read-only), else a copy. bf16 becomes f32."""
        import numpy
        x = _c.burn_inner(_c.burn_detach(self)) if _c.burn_device_is_autodiff(self.device) else self
        x = x if x.dtype in LETTERS else _c.burn_cast(x, f32)
        if _in_memory(x):
            return numpy.from_dlpack(x)
        out = numpy.empty(self.shape, LETTERS[x.dtype])
        if out.size:
            _c.burn_read(x, out.ctypes.data, out.nbytes)
        return out

    def __array__(self, dtype=None, copy=None):
        out = self.numpy()
        other = dtype is not None and out.dtype != dtype
        if copy is False and (other or out.flags.owndata):
            raise ValueError("NumPy cannot have these values without a copy: another dtype is wanted, or they lie on another device")
        return out.astype(dtype) if other else out.copy() if copy else out

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """A capsule of DLPack over the tensor's memory, which is read-only: tensors are values."""
        x = _c.burn_inner(_c.burn_detach(self)) if _c.burn_device_is_autodiff(self.device) else self
        if dl_device is not None and tuple(dl_device) != x.__dlpack_device__():
            raise BufferError("the tensor lies on another device: x.to(device) first")
        if copy:
            x = _copied(x)
        return _c.dlpack_capsule(x, stream, bool(max_version and max_version[0] >= 1))

    def __dlpack_device__(self):
        return _c.dlpack_device(_c.burn_inner(_c.burn_detach(self)) if _c.burn_device_is_autodiff(self.device) else self)

    # -- copies ----------------------------------------------------------------------------------

    def __copy__(self):
        """Itself: a tensor is a value, which nothing changes."""
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce_ex__(self, protocol):
        raise TypeError("tensors are not pickled: burn.save and burn.store write those of a module, tolist() and numpy() give their values")

    # -- gradients -------------------------------------------------------------------------------

    def backward(self):
        """Walks back from this tensor: the gradients, of which x.grad(gradients) is that of x."""
        return _c.burn_backward(self)

    # -- text ------------------------------------------------------------------------------------

    def __repr__(self):
        return f"Tensor({_shown(self)}, shape={list(self.shape)}, dtype={self.dtype.name}, device={self.device.name!r})"


# Those of C that have a twin and no definition above; burn_read_i64 is none of burn_read.
for _name in dir(_c.BurnTensor):
    if hasattr(_c.BurnTensor, f"{_name}_i64") and _name not in vars(Tensor) and _name != "read":
        setattr(Tensor, _name, _exact(_name))

_c.register("BurnTensor", Tensor)


def _copied(x):
    """The same bits in other memory of the device."""
    values = bytearray(_c.burn_element_count(x) * struct.calcsize(LETTERS.get(x.dtype, "e")))  # bf16 has as many bytes as f16
    if values:
        _c.burn_read(x, values, len(values))
    return _c.burn_tensor_from(x.device, values, x.dtype, x.shape)


def _in_memory(x):
    """Whether the elements lie where this process can read them. NumPy before 2.0 has no bools in DLPack."""
    if x.dtype == bool_:
        return False
    try:
        return x.__dlpack_device__()[0] == CPU
    except _c.BurnError as error:
        if error.code != _c.BURN_STATUS_UNIMPLEMENTED:
            raise
        return False


class Gradients(_c.BurnGradients):
    """What backward gives."""

    __slots__ = ()

    def __getitem__(self, x):
        """The gradient of leaf x, or None."""
        return _c.burn_grad(x, self)


_c.register("BurnGradients", Gradients)


def _shown(x):
    """Values as nested lists; of long axes of big tensors three items at either end. Of no values there could be any number of rows."""
    if x.size() == 0:
        return "[]"
    return _joined(x.tolist() if x.size() <= 1000 else _ends(x))


def _ends(x):
    """Nested lists in which an Ellipsis stands for what is left out."""
    if x.ndim == 1:
        return x.tolist() if len(x) <= 6 else x[:3].tolist() + [...] + x[-3:].tolist()
    parts = range(len(x)) if len(x) <= 6 else [0, 1, 2, None, -3, -2, -1]
    return [... if i is None else _ends(x[i]) for i in parts]


def _joined(values):
    if isinstance(values, list):
        return "[" + ", ".join(_joined(value) for value in values) + "]"
    return "..." if values is ... else repr(values)


# -- indexing ------------------------------------------------------------------------------------


def _range(item, size):
    if isinstance(item, slice):
        start, stop, step = item.indices(size)
        if step < 0:  # C walks the selected range backwards
            start, stop, step = (stop + 1, start + 1, step) if start > stop else (0, 0, step)
        return (start, max(start, stop), step)
    i = operator.index(item)
    if not -size <= i < size:
        raise IndexError(f"index {i} is out of range for an axis of size {size}")
    return (i % size, i % size + 1, 1)


def _index(x, items):
    named = sum(item is not None and item is not Ellipsis for item in items)
    if named > x.ndim:
        raise IndexError(f"{named} indices for a tensor of rank {x.ndim}")
    where = next((k for k, item in enumerate(items) if item is Ellipsis), len(items))
    items = items[:where] + (slice(None),) * (x.ndim - named) + items[where + 1:]
    ranges, lists, drops, news, dim = [], [], [], [], 0
    for item in items:
        if item is None:
            news.append(dim - len(drops) + len(news))
            continue
        size = x.shape[dim]
        if isinstance(item, list) or (isinstance(item, Tensor) and item.ndim == 1 and (item.size() != 1 or item.dtype == bool_)):
            lists.append((dim, _positions(item, size, x.device)))
            ranges.append((0, END, 1))
        else:
            ranges.append(_range(item, size))
            drops += [] if isinstance(item, slice) else [dim]
        dim += 1
    if len(lists) > 1:  # NumPy goes through several at once, others take each by itself
        raise IndexError(f"{len(lists)} lists or tensors as indices, of which there can be one: x[a][:, b] for each by itself")
    x = _c.burn_slice(x, ranges) if any(r != (0, END, 1) for r in ranges) else x
    for dim, positions in lists:
        x = _c.burn_select(x, dim, positions)
    if drops and len(drops) == x.ndim:
        x, drops = x.reshape(1), []
    for dim in reversed(drops):
        x = _c.burn_squeeze_dim(x, dim)
    for dim in news:
        x = _c.burn_unsqueeze_dim(x, dim)
    return x


def _positions(item, size, device):
    if isinstance(item, Tensor) and item.dtype != bool_:
        return item
    values = item.tolist() if isinstance(item, Tensor) else item
    if values and all(isinstance(value, bool) for value in values):
        if len(values) != size:
            raise IndexError(f"{len(values)} bools for an axis of size {size}")
        values = [i for i, chosen_ in enumerate(values) if chosen_]
    return tensor(values, i64, device)


# -- making tensors ------------------------------------------------------------------------------


def _nested(data):
    """(flat values, shape) of nested lists."""
    if not isinstance(data, (list, tuple)):
        return [data], ()
    parts = [_nested(item) for item in data]
    if any(shape != parts[0][1] for _, shape in parts):
        raise ValueError("tensor: the lists have different lengths or depths")
    return [value for values, _ in parts for value in values], (len(parts),) + (parts[0][1] if parts else ())


def tensor(data, dtype=None, device=None):
    """A tensor of a number, nested lists, a NumPy array (copied) or another tensor."""
    device = chosen(device)
    if isinstance(data, Tensor):
        out = data.to(device)
    elif hasattr(data, "__array_interface__"):
        out = _from_array(data, device)
    elif hasattr(data, "__dlpack__"):
        out = from_dlpack(data, device)
    else:
        values, shape = _nested(data)
        kind = bool_ if values and all(isinstance(v, bool) for v in values) else i64 if values and all(isinstance(v, int) for v in values) else f32
        if dtype in LETTERS and kind != bool_ and (dtype not in FLOATS or dtype in (f32, DType.f64)) and dtype != bool_:
            kind = dtype
        flat = array.array("B" if kind == bool_ else LETTERS[kind], values)
        out = _c.burn_tensor_from(device, flat.buffer_info()[0], kind, shape or (1,))
        if dtype is None and kind == f32 and not _c.burn_device_float_dtype(device) == f32:
            dtype = _c.burn_device_float_dtype(device)
    return out if dtype is None or out.dtype == dtype else _c.burn_cast(out, dtype)


def _from_array(data, device):
    description = data.__array_interface__
    kind = NUMPY.get(description["typestr"][1:])
    if kind is None or description["typestr"][0] not in "<|" or description.get("strides"):
        import numpy
        data = numpy.ascontiguousarray(data)
        if kind is None:
            raise TypeError(f"tensor: there is no dtype for NumPy's {data.dtype}")
        data = data.astype(data.dtype.newbyteorder("<"))
        description = data.__array_interface__
    return _c.burn_tensor_from(device, data, kind, description["shape"] or (1,))


def from_dlpack(data, device=None):
    """A tensor over the memory of another library's, without a copy where the device can use that memory. The other library must
    leave the memory alone while the tensor is in use."""
    try:
        capsule = data.__dlpack__(max_version=(1, 0))
    except TypeError:  # before DLPack 1.0
        capsule = data.__dlpack__()
    return _c.from_dlpack_capsule(capsule, chosen(device))


# Sizes come one by one or as one list: zeros(2, 3), zeros((2, 3)).


def zeros(*shape, dtype=0, device=None):
    return _c.burn_zeros(chosen(device), _sizes(shape), dtype)


def ones(*shape, dtype=0, device=None):
    return _c.burn_ones(chosen(device), _sizes(shape), dtype)


def full(shape, value, dtype=0, device=None):
    return _function("full", value)(chosen(device), shape, dtype, value)


def eye(size, dtype=0, device=None):
    return _c.burn_eye(chosen(device), size, dtype)


def arange(start, end=None, step=1, device=None):
    return _c.burn_arange(chosen(device), 0 if end is None else start, start if end is None else end, step)


def uniform(*shape, low=0.0, high=1.0, dtype=0, device=None):
    return _function("random_uniform", low, high)(chosen(device), _sizes(shape), dtype, low, high)


def normal(*shape, mean=0.0, std=1.0, dtype=0, device=None):
    return _c.burn_random_normal(chosen(device), _sizes(shape), dtype, mean, std)


def cat(tensors, dim=0):
    return _c.burn_cat(list(tensors), dim)


def stack(tensors, dim=0):
    return _c.burn_stack(list(tensors), dim)


cross_entropy = _c.burn_cross_entropy
