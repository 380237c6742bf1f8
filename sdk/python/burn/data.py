"""Datasets and loaders: items by index as rows of typed columns, batches of them as tensors."""
import array
import contextlib

from . import _c
from .device import chosen
from .dtype import LETTERS, NUMPY, DType, bool_, f32, i64

_alive = {}  # Python objects behind datasets of C, until C ends them


def _described(value):
    """(dtype, shape) of an item's value: an array, a number or nested lists."""
    if hasattr(value, "__array_interface__"):
        description = value.__array_interface__
        return NUMPY[description["typestr"][1:]], tuple(description["shape"])
    shape = []
    while isinstance(value, (list, tuple)):
        shape.append(len(value))
        value = value[0] if value else 0.0
    return (bool_ if isinstance(value, bool) else i64 if isinstance(value, int) else f32), tuple(shape)


def _flat(value):
    return [x for item in value for x in _flat(item)] if isinstance(value, (list, tuple)) else [value]


def _bytes_of(value, dtype):
    """The elements of a value as memory that C can copy from."""
    if hasattr(value, "__array_interface__"):
        import numpy
        return numpy.ascontiguousarray(value, LETTERS[dtype]).tobytes()
    return array.array("B" if dtype == bool_ else LETTERS[dtype], _flat(value)).tobytes()


def _room_of(dtype, shape):
    """How many bytes a value of this shape has."""
    count = 1
    for size in shape:
        count *= size
    return count * array.array("B" if dtype == bool_ else LETTERS[dtype]).itemsize


def _checked(index, item, column):
    """The elements of an item's column: as many as item 0 has, for C copies so many."""
    name, dtype, shape = column
    if name not in item:
        raise ValueError(f"item {index} has no column {name!r}; it has {', '.join(map(repr, item))}")
    memory = _bytes_of(item[name], dtype)
    if len(memory) != _room_of(dtype, shape):
        raise ValueError(f"item {index}: column {name!r} has another shape than in item 0, {list(shape)}")
    return memory


def _value_of(memory, dtype, shape):
    """A column of an item: a NumPy array where there is NumPy, else a list; a number for rank 0."""
    values = array.array("B" if dtype == bool_ else LETTERS[dtype])
    values.frombytes(memory)
    if not shape:
        return values[0]
    try:
        import numpy
    except ImportError:
        return list(values)
    return numpy.frombuffer(memory, LETTERS[dtype]).reshape(shape)


def _columns(item):
    if not isinstance(item, dict):
        raise TypeError(f"an item is {type(item).__name__}; a dict from column to value is expected")
    return [(name,) + _described(value) for name, value in item.items()]


class Dataset(_c.BurnDataset):
    """Items by index. Transforms return a new dataset; the one they are made of stays."""

    __slots__ = ()

    # -- sources ---------------------------------------------------------------------------------

    @staticmethod
    def arrays(**columns):
        """Arrays or lists of one length: item i has element i of each."""
        described = {name: _described(values) for name, values in columns.items()}
        if not all(shape for _, shape in described.values()):
            raise TypeError("a column is an array or a list, not a number")
        lengths = {name: shape[0] for name, (_, shape) in described.items()}  # what the memory is checked against
        if len(set(lengths.values())) != 1:
            raise ValueError(f"columns have different lengths: {lengths}")
        data = [_bytes_of(values, described[name][0]) for name, values in columns.items()]
        for (name, column), memory in zip(described.items(), data):
            if len(memory) != _room_of(*column):
                raise ValueError(f"column {name!r}: its items have different shapes")
        listed = [(name, dtype, shape[1:]) for name, (dtype, shape) in described.items()]
        return _c.burn_dataset_memory(listed, data, next(iter(lengths.values())))

    @staticmethod
    def items(iterable):
        """All items of an iterable, dicts from column to value, kept in memory."""
        items = list(iterable)
        if not items:
            raise ValueError("there are no items")
        columns = _columns(items[0])
        data = [b"".join(_checked(i, item, column) for i, item in enumerate(items)) for column in columns]
        return _c.burn_dataset_memory(columns, data, len(items))

    @staticmethod
    def of(source):
        """Any object with len(source) and source[i], which gives a dict from column to value. Items are asked for when they are needed,
        by several threads where a loader has workers."""
        asked = _Source(source)
        _alive[id(asked)] = asked
        get, destroy = _c.callbacks["BurnDatasetInterface.get"], _c.callbacks["BurnDatasetInterface.destroy"]
        return _c.burn_dataset_create({"column_count": len(asked.columns), "columns": asked.columns, "count": len(source), "get": get,
                                       "destroy": destroy, "context": id(asked)})

    @staticmethod
    def mnist(folder, split="train"):
        if split not in ("train", "test"):
            raise ValueError(f"split is {split!r}; 'train' or 'test' expected")
        return _c.burn_dataset_mnist(str(folder), _c.BURN_MNIST_TRAIN if split == "train" else _c.BURN_MNIST_TEST)

    @staticmethod
    def digits(count, seed=0):
        """Digits drawn on the fly, with the columns of MNIST."""
        return _c.burn_dataset_digits((count, seed))

    # -- transforms ------------------------------------------------------------------------------

    def map(self, function):
        """Every item, a dict, passed through a function that returns a dict."""
        return Dataset.of(_Mapped(self, function))

    def shuffle(self, seed=0):
        return _c.burn_dataset_shuffle(self, seed)

    def cache(self):
        return _c.burn_dataset_cache(self)

    def windows(self, size):
        return _c.burn_dataset_windows(self, size)

    def select(self, indices):
        return _c.burn_dataset_select(self, list(indices))

    def split(self, *fractions):
        """Parts one after the other, with a share of the items each."""
        return _c.burn_dataset_split(self, list(fractions), len(fractions))[1]

    def sample(self, count=0, *, seed=0, without_replacement=False, weights=None, balance=None):
        weights = None if weights is None else array.array("d", weights)
        if weights is not None and len(weights) != len(self):
            raise ValueError(f"{len(weights)} weights for {len(self)} items")
        weights = None if weights is None else weights.tobytes()
        return _c.burn_dataset_sample(self, {"count": count, "seed": seed, "without_replacement": without_replacement,
                                             "weights": weights, "balance": balance})

    def normalize_mnist(self):
        """Images and labels as the Burn guide feeds them."""
        return _c.burn_dataset_mnist_normalize(self)

    def __add__(self, other):
        return _c.burn_dataset_compose([self, other])

    # -- items -----------------------------------------------------------------------------------

    @property
    def columns(self):
        """(name, dtype, shape) of each column."""
        found = (_c.burn_dataset_column(self, i) for i in range(_c.burn_dataset_column_count(self)))
        return [(c.name, DType(c.dtype), tuple(c.shape.dims[:c.shape.rank])) for c in found]

    def __len__(self):
        return _c.burn_dataset_count(self)

    def __getitem__(self, index):
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            return _c.burn_dataset_slice(self, start, stop) if step == 1 else self.select(range(start, stop, step))
        room = [bytearray(_c.burn_dataset_column_bytes(self, i)) for i in range(len(self.columns))]
        _c.burn_dataset_get(self, index + len(self) * (index < 0), room)
        return {name: _value_of(bytes(memory), dtype, shape) for (name, dtype, shape), memory in zip(self.columns, room)}

    def __iter__(self):
        return (self[i] for i in range(len(self)))


_c.register("BurnDataset", Dataset)


class _Mapped:
    def __init__(self, source, function):
        self.source, self.function = source, function

    def __len__(self):
        return len(self.source)

    def __getitem__(self, index):
        return self.function(self.source[index])


class _Source:
    """What C calls for the items of Dataset.of."""

    def __init__(self, source):
        self.source, self.columns = source, _columns(source[0])

    def get(self, index, columns):
        item = self.source[index]
        for i, column in enumerate(self.columns):
            memory = _checked(index, item, column)
            _c.copy_to(int.from_bytes(_c.bytes_at(columns + 8 * i, 8), "little"), memory, len(memory))

    def destroy(self):
        _alive.pop(id(self), None)


class Batch:
    """The tensors of a batch by column: batch["image"], batch.image. It may be kept for longer than its epoch."""

    def __init__(self, batch):
        # All of them at once: what is left in C's batch goes with the next one, and its names with the loader.
        names = [batch.names[i] for i in range(batch.column_count)]
        self._tensors, self._count = {name: _c.burn_batch_take(batch, name) for name in names}, batch.item_count

    def __getitem__(self, column):
        if column not in self._tensors:
            raise _c.BurnError(f'batch: no column "{column}"; it has ' + ", ".join(f'"{name}"' for name in self._tensors))
        return self._tensors[column]

    def __getattr__(self, column):
        if column.startswith("_"):
            raise AttributeError(column)
        return self[column]

    def __len__(self):
        return self._count


class Loader:
    """Batches of a dataset. The order depends on seed and epoch, never on the number of workers, which are threads of C. skip_bad leaves
    out items that are damaged, with a warning."""

    def __init__(self, dataset, batch_size, *, shuffle=False, seed=0, workers=0, prefetch=0, drop_last=False, skip_bad=False):
        dataset = dataset if isinstance(dataset, Dataset) else Dataset.of(dataset)
        self._loader = _c.burn_loader_create(dataset, (batch_size, shuffle, seed, workers, prefetch, drop_last, (skip_bad,)))

    def __len__(self):
        return _c.burn_loader_batch_count(self._loader)

    def epoch(self, number=1, device=None, first_batch=0):
        """The batches of an epoch, counted from 1."""
        batches, batch = _c.burn_loader_start(self._loader, chosen(device), number, first_batch), _c.BurnBatch()
        try:
            while _c.burn_batches_next(batches, batch):
                yield Batch(batch)
        except BaseException:  # what it was is raised, not what it made of the epoch
            with contextlib.suppress(_c.BurnError):
                _c.burn_batches_stop(batches)
            raise
        _c.burn_batches_stop(batches)

    def __iter__(self):
        return self.epoch()
