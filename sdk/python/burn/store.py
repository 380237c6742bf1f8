"""Weights in files of any known format: safetensors, PyTorch, NumPy, GGUF, Burn's own. The content tells the format, not the name.

    with burn.store.open("model.safetensors") as weights:
        print(list(weights), weights["conv1.weight"].shape)
        print(weights.apply(model, pytorch=True))"""
import collections
import ctypes

from . import _c
from .device import chosen
from .dtype import DType

Entry = collections.namedtuple("Entry", "name shape dtype file_dtype bytes")
Entry.__doc__ = """A tensor as its file describes it; dtype is None where reading refuses it, shape () for one without axes."""
Difference = collections.namedtuple("Difference", "path detail")
Difference.__doc__ = """A tensor of a report: its path, and its shape and dtype or what does not match."""

OUTCOMES = ("loaded", "missing", "unused", "mismatched", "skipped")  # BURN_RECORD_LOADED ..


def _entry(entry):
    dtype = DType(entry.dtype) if entry.dtype else None
    return Entry(entry.name, () if entry.scalar else tuple(entry.shape.dims[:entry.shape.rank]), dtype, entry.file_dtype, entry.bytes)


def _python(value):
    """A record value of C as Python has it."""
    kind, items = _c.burn_value_kind(value), range(_c.burn_value_count(value))
    if kind == _c.BURN_VALUE_MAP:
        return {_c.burn_value_key_at(value, i): _python(_c.burn_value_at(value, i)) for i in items}
    if kind == _c.BURN_VALUE_ARRAY:
        return [_python(_c.burn_value_at(value, i)) for i in items]
    if kind == _c.BURN_VALUE_BOOL:
        return _c.burn_value_as_bool(value, False)
    if kind == _c.BURN_VALUE_INT:
        return _c.burn_value_as_int(value, 0)
    if kind == _c.BURN_VALUE_FLOAT:
        return _c.burn_value_as_float(value, 0.0)
    return _c.burn_value_as_text(value, "") if kind == _c.BURN_VALUE_TEXT else None


def _map(texts):
    """A dict of texts as C has it; None for None."""
    if texts is None:
        return None
    value = _c.burn_value_map()
    for key, text in texts.items():
        _c.burn_value_set(value, key, _c.burn_value_text(str(text)))
    return value


def _names(top_level, rename, include, exclude):
    rename = list(rename.items() if isinstance(rename, dict) else rename)
    include, exclude = list(include), list(exclude)
    return {"top_level": top_level, "renames": rename, "rename_count": len(rename), "include": include, "include_count": len(include),
            "exclude": exclude, "exclude_count": len(exclude)}


class Report:
    """What became of the tensors: lists of Difference named loaded, missing, unused, mismatched and skipped. str() is C's text."""

    def __init__(self, report):
        first, bytes_ = report.entries, _c.BurnRecordEntry._bytes
        listed = [_c.view(_c.BurnRecordEntry, first._address + i * bytes_, report) for i in range(report.count)]
        for number, name in enumerate(OUTCOMES):
            setattr(self, name, [Difference(_text(e.path), _text(e.detail)) for e in listed if e.what == number])
        self.text = _c.burn_record_report_text(report)

    def __str__(self):
        return self.text

    __repr__ = __str__


def _text(address):
    """A text of C that is given as an address."""
    return ctypes.string_at(address).decode("utf-8", "replace") if address else ""


class Store(_c.BurnStore):
    """An open file of tensors, as a mapping of names: values are read when they are asked for."""

    __slots__ = ()

    @property
    def format(self):
        """The format's name: "safetensors"."""
        return _c.burn_store_format(self)

    @property
    def metadata(self):
        """What else the file says, as a dict."""
        return _python(_c.burn_store_metadata(self))

    @property
    def entries(self):
        """All tensors as the file describes them, in its order, without their values."""
        return [_entry(_c.burn_store_entry(self, i)) for i in range(len(self))]

    def entry(self, name):
        """The description of one tensor; KeyError where there is none of that name."""
        index = _c.burn_store_find(self, name)
        if index == len(self):
            raise KeyError(name)
        return _entry(_c.burn_store_entry(self, index))

    def tensor(self, name, device=None):
        """The tensor of that name on a device."""
        return _c.burn_store_tensor(self, name, chosen(device))

    def apply(self, module, *, pytorch=False, top_level=None, rename=(), include=(), exclude=(), keep_indices=False, **load):
        """Puts the tensors into a module that is built alike, all or nothing; what became of each as a Report. A BurnError has it as
        .report. pytorch: names and layouts are those of PyTorch. rename: pairs or a dict of regular expression and replacement. Other
        keywords are the fields of BurnRecordLoad: allow_partial, allow_unused, no_validate, dtypes."""
        options = {"names": _names(top_level, rename, include, exclude), "adapter": int(pytorch), "keep_indices": keep_indices, "load": load}
        report = _c.BurnRecordReport()
        try:
            _c.burn_store_apply(self, module._module(), options, report)
            return Report(report)
        except _c.BurnError as error:
            error.report = Report(report)
            raise
        finally:
            _c.burn_record_report_release(report)

    def convert(self, path, **options):
        """Writes the tensors as another file; the keywords are those of save, without pytorch."""
        _c.burn_store_convert(self, str(path), _options(**options))

    def close(self):
        """Ends the store; tensors that it gave stay."""
        _c.burn_store_close(self)

    def __len__(self):
        return _c.burn_store_count(self)

    def __iter__(self):
        return (_c.burn_store_entry(self, i).name for i in range(len(self)))

    def __contains__(self, name):
        return _c.burn_store_find(self, name) < len(self)

    def __getitem__(self, name):
        if name not in self:
            raise KeyError(name)
        return self.tensor(name)

    def keys(self):
        return list(self)

    def items(self):
        return ((name, self.tensor(name)) for name in self)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def __repr__(self):
        return f"<Store of {len(self)} tensors, {self.format}>"


_c.register("BurnStore", Store)


def open(path):
    """The store of a file, of a folder with a model in parts, or of the index of one."""
    return _c.burn_store_open(str(path))


def _options(format=None, pytorch=False, top_level=None, rename=(), include=(), exclude=(), floats=0, metadata=None, overwrite=False):
    return {"format": format, "names": _names(top_level, rename, include, exclude), "adapter": int(pytorch), "floats": floats,
            "metadata": _map(metadata), "overwrite": overwrite}


def save(module, path, **options):
    """Writes a module's parameters and buffers as a file. Keywords: format ("safetensors", "bpk", "npz", "pt"; else the extension says
    it), pytorch (names and layouts as PyTorch has them), rename, include, exclude, floats (a dtype that floats are cast to), metadata (a
    dict of texts), overwrite."""
    _c.burn_store_save(module._module(), str(path), _options(**options))


__all__ = ["Difference", "Entry", "Report", "Store", "open", "save"]
