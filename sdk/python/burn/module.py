"""Modules: classes whose attributes are parameters, buffers, other modules and lists of them.

A module of Python is a module of C: rows with places in a block of memory. Its type is made when something of C first asks for it, from
the attributes in their order; records and paths are those of a C program with the same rows."""
import copy
import ctypes

from . import _c
from .device import chosen

_types = {}  # C keeps paths and descriptors by address: a type lives as long as the process


def _rows_type(name, rows):
    """The BurnType with these rows (name, kind) and its offsets; the same one for the same rows."""
    key = (name, tuple(rows))
    if key not in _types:
        offsets, at = [], 0
        for _, kind in rows:
            offsets.append(at)
            at += (kind.size + 15) // 16 * 16
        fields = [{"name": row, "type": kind.getter, "offset": offset, "doc": ""} for (row, kind), offset in zip(rows, offsets)]
        made = _c.BurnType(kind=_c.BURN_TYPE_MODULE, name=name, bytes=max(at, 16), field_count=len(rows), fields=fields)
        _types[key] = made, offsets
    return _types[key]


class _Kind:
    """What a row can be: the C struct and the function that gives its descriptor."""

    def __init__(self, struct):
        self.struct, self.size = struct, struct._bytes
        self.getter = _c.callbacks[f"{struct.__name__}_type"]

    def leaf_type(self):
        return _rows_type("Leaf", [("leaf", self)])[0]._address


PARAM, BUFFER, OPTION, LIST = (_Kind(struct) for struct in (_c.BurnParam, _c.BurnBuffer, _c.BurnModuleOption, _c.BurnModuleList))


class _Block:
    """Memory for the rows of a module, or for the modules of a list; ends what lies in it."""

    def __init__(self, bytes_):
        self.memory = bytearray(bytes_ + 16)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.address = (start + 15) // 16 * 16
        self.contents = {}  # address: BurnType of what is to be ended there
        self.lists = {}  # address of a BurnModuleList: the block of its modules

    def __del__(self):
        for address, type_ in self.contents.items():
            _c.burn_module_release(_c.BurnModule(type_, address))


class _Seen:
    """In the place of a block for a module whose memory is another's."""

    def __init__(self, address, owner):
        self.address, self.owner, self.contents, self.lists = address, owner, {}, {}


class _Copy:
    """A module that C has written into a block: all of it is released at the end."""

    def __init__(self, type_, block):
        self.type, self.block = type_, block

    def __del__(self):
        _c.burn_module_release(_c.BurnModule(self.type._address, self.block.address))


class _Place:
    """The address of a module's object, as an array has one: the BurnModule that has it keeps the module alive."""

    def __init__(self, module, address):
        self.module, self.__array_interface__ = module, {"data": (address, False)}


class _Gone:
    """In the place of a struct that C has ended."""

    def __getattr__(self, name):
        raise ValueError("this model was made for a step of validation, which is over; model.valid() makes one that can be kept")


class _Part:
    """A struct of C that lies by itself, or in a block, where its contents belong."""

    def _move_struct(self, address, block, type_):
        old = self._struct
        if isinstance(self._owner, _Block):
            self._owner.contents.pop(old._address, None)
        _c.copy_to(address, old, old._bytes)
        _c.copy_to(old._address, bytes(old._bytes), old._bytes)
        block.contents[address] = type_
        self._look(address, block)

    def _forget(self):
        self.__dict__["_struct"] = _Gone()

    def _look(self, address, owner):
        self.__dict__["_struct"], self.__dict__["_owner"] = _c.view(type(self._struct), address, owner), owner


class _Leaf(_Part):
    """A parameter or a buffer."""


class Param(_Leaf):
    """A learned tensor."""

    kind = PARAM

    def __init__(self, value):
        self._struct, self._owner = _c.burn_param(value), None

    @property
    def value(self):
        return _c.burn_param_value(self._struct)

    @value.setter
    def value(self, tensor):
        _c.burn_param_set(self._struct, tensor)

    @property
    def id(self):
        return self._struct.id

    def __repr__(self):
        return f"Param({self.value!r})"


class Buffer(_Leaf):
    """A tensor that is state, not learned, such as a running mean."""

    kind = BUFFER

    def __init__(self, value):
        self._struct, self._owner = _c.burn_buffer(value), None
        block = _Block(BUFFER.size)  # a buffer by itself has no end in C
        self._move_struct(block.address, block, BUFFER.leaf_type())

    @property
    def value(self):
        return _c.burn_buffer_value(self._struct)

    @value.setter
    def value(self, tensor):
        _c.burn_buffer_set(self._struct, tensor)


def _row_of(value):
    if isinstance(value, _Leaf):
        return value.kind
    if isinstance(value, Module):
        return OPTION
    if isinstance(value, (list, tuple)) and value and all(isinstance(item, Module) for item in value):
        return LIST
    return None


def _hides_modules(value):
    """Whether a list or dict has parts of a model in a way that C cannot see, so that they would be neither trained nor saved."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return any(isinstance(item, (Module, _Leaf)) for item in items)


class Module:
    """A model, or a part of one. Subclass it, set parameters and modules as attributes in __init__, and write forward."""

    def forward(self, *arguments):
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def __call__(self, *arguments, **keywords):
        return self.forward(*arguments, **keywords)

    def __setattr__(self, name, value):
        there = self.__dict__.get(name)
        if isinstance(there, _Leaf) and isinstance(value, _c.BurnTensor):
            raise TypeError(f"{type(self).__name__}.{name} is a {type(there).__name__}, which a tensor would take the place of; "
                            f"{name}.value = .. changes what it holds")
        super().__setattr__(name, value)

    # -- the module of C -------------------------------------------------------------------------

    def _rows(self):
        rows = [(name, value, _row_of(value)) for name, value in self.__dict__.items()]
        for name, value, kind in rows:
            if kind is None and not name.startswith("_") and _hides_modules(value):
                raise TypeError(f"{type(self).__name__}.{name}: a {type(value).__name__} with parameters or modules of several kinds is not part of "
                                "a module; give each an attribute, or make a list of modules of one type. A name with _ in front is left alone")
        return [(name, kind) for name, _, kind in rows if kind]

    def _built(self):
        """(type, address of the object): the rows of now, with every part where C looks for it."""
        rows = self._rows()
        type_, offsets = _rows_type(type(self).__name__, rows)
        block = self.__dict__.get("_block")
        if block is None or self.__dict__.get("_type") is not type_:
            block = _Block(type_.bytes)
            self.__dict__["_block"], self.__dict__["_type"] = block, type_
        for (name, kind), offset in zip(rows, offsets):
            self._place(kind, getattr(self, name), block, block.address + offset)
        return type_, block.address

    @staticmethod
    def _place(kind, value, block, address):
        if isinstance(value, _Leaf):
            if value._struct._address != address:
                value._move_struct(address, block, value.kind.leaf_type())
        elif kind is OPTION:
            child, data = value._built()
            option = _c.view(_c.BurnModuleOption, address, block)
            option.type, option.data, option.present = child._address, data, True
        else:
            _place_list(value, block, address)

    def _move(self, address, block):
        """The object of C lies in another block from now on."""
        type_, old = self._built()
        if old == address:
            return
        before = self.__dict__["_block"]
        if isinstance(before, _Seen) and not isinstance(before.owner, tuple):
            raise TypeError("a part of a copy (valid, clone) cannot stand in another module's list")
        _c.copy_to(address, old, type_.bytes)
        owner = before.owner[0] if isinstance(before, _Seen) else before  # of a list, which may have moved
        for at in [at for at in owner.contents if old <= at < old + type_.bytes]:
            block.contents[at - old + address] = owner.contents.pop(at)
        self.__dict__["_block"] = _Seen(address, (block, before))
        rows = self._rows()
        for (name, kind), offset in zip(rows, _rows_type(type(self).__name__, rows)[1]):
            if kind in (PARAM, BUFFER):
                getattr(self, name)._look(address + offset, block)

    def _shown(self, address, owner):
        """A copy of this Python object for another module of C of the same type."""
        shown = copy.copy(self)
        shown.__dict__["_block"] = _Seen(address, owner)
        rows = self._rows()
        for (name, kind), offset in zip(rows, _rows_type(type(self).__name__, rows)[1]):
            value, at = getattr(self, name), address + offset
            if kind is OPTION:
                part = value._shown(_c.view(_c.BurnModuleOption, at, owner).data, owner)
            elif kind is LIST:
                data, size = _c.view(_c.BurnModuleList, at, owner).data, value[0]._built()[0].bytes
                part = [item._shown(data + i * size, owner) for i, item in enumerate(value)]
            else:
                part = copy.copy(value)
                part._look(at, owner)
            shown.__dict__[name] = part
        return shown

    def _forget(self):
        """What _shown has given lies where C ends it next: no part leads there from now on."""
        for name, kind in self._rows():  # what is not a row is no copy
            for part in getattr(self, name) if kind is LIST else [getattr(self, name)]:
                part._forget()
        self.__dict__["_block"] = None

    def _module(self):
        type_, address = self._built()
        return _c.BurnModule(type_._address, _Place(self, address))

    # -- services --------------------------------------------------------------------------------

    def status(self):
        """Raises the first failure in the module, with its path."""
        _c.burn_module_status(self._module())
        return self

    def parameters(self):
        """(path, value) of every parameter and buffer, in order."""
        found = []

        def visit(tensor):
            param = tensor.param
            found.append((tensor.path, _c.burn_param_value(param) if param is not None else _c.burn_buffer_value(tensor.buffer)))

        _c.burn_module_visit(self._module(), _c.callbacks["BurnModuleVisitor"], id(visit))
        return found

    def num_params(self):
        return _c.burn_module_num_params(self._module())

    def summary(self):
        return _c.burn_module_summary_text(self._module())

    def freeze(self):
        _c.burn_module_freeze(self._module())
        return self

    def unfreeze(self):
        _c.burn_module_unfreeze(self._module())
        return self

    def to(self, device):
        _c.burn_module_to_device(self._module(), chosen(device))
        return self

    def valid(self):
        """A copy on the device below autodiff, for validation and inference."""
        return self._copied(_c.burn_module_valid)

    def clone(self):
        return self._copied(_c.burn_module_clone)

    def __deepcopy__(self, memo):
        return self.clone()

    def _copied(self, function):
        type_, _ = self._built()
        owner = _Copy(type_, _Block(type_.bytes))
        function(self._module(), owner.block.address)
        return self._shown(owner.block.address, owner)

    def save(self, path, **config):
        save(self, path, **config)

    def load(self, path, **config):
        return load(self, path, **config)

    def __repr__(self):
        return _c.burn_module_display(self._module(), None)


def _place_list(items, block, address):
    """Objects of one type one after the other, as a BurnModuleList has them."""
    types = {item._built()[0]._address: item._built()[0] for item in items}
    if len(types) != 1:
        raise TypeError("modules in a list are of one type, with the same rows: " + ", ".join(sorted(t.name for t in types.values())))
    (type_,) = types.values()
    listed = _c.view(_c.BurnModuleList, address, block)
    if listed.count == len(items) and all(item._built()[1] == listed.data + i * type_.bytes for i, item in enumerate(items)):
        return  # as C has left it in a copy, or as it was placed before
    memory = block.lists.get(address)
    if memory is None or len(memory.memory) < type_.bytes * len(items) + 16:
        block.lists[address] = memory = _Block(type_.bytes * len(items))
    for i, item in enumerate(items):
        item._move(memory.address + i * type_.bytes, memory)
    listed.type, listed.data, listed.count = type_._address, memory.address, len(items)


FORMATS = {"mpk": _c.BURN_RECORD_MPK, "mpk.gz": _c.BURN_RECORD_MPK_GZ, "bpk": _c.BURN_RECORD_BPK, "json": _c.BURN_RECORD_JSON,
           "json.gz": _c.BURN_RECORD_JSON_GZ, "bin": _c.BURN_RECORD_BIN, "bin.gz": _c.BURN_RECORD_BIN_GZ}
PRECISIONS = {"full": _c.BURN_PRECISION_FULL, "half": _c.BURN_PRECISION_HALF, "double": _c.BURN_PRECISION_DOUBLE}


def _named(word, names, what):
    if word not in names:
        raise ValueError(f"there is no {what} {word!r}; there are {', '.join(names)}")
    return names[word]


def _record_config(format_, precision):
    return _named(format_, FORMATS, "format"), _named(precision, PRECISIONS, "precision")


def save(module, path, format="mpk", precision="full"):
    """Writes a module's record, in a format of Burn: mpk, mpk.gz, bpk, json, json.gz, bin, bin.gz."""
    _c.burn_record_save(module._module(), str(path), _record_config(format, precision))


def load(module, path, format="mpk", precision="full"):
    """Loads a record into a module of the same structure; all or nothing. Returns the module."""
    _c.burn_record_load(module._module(), str(path), _record_config(format, precision))
    return module


class Layer(Module, _Part):
    """A module that is a struct of C: the layers of burn.nn. Its members are attributes, parameters as tensors."""

    def __init__(self, struct):
        self.__dict__["_struct"], self.__dict__["_owner"] = struct, None

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        value = getattr(self._struct, name)
        if isinstance(value, _c.BurnParam):
            return _c.burn_param_value(value)
        return _c.burn_buffer_value(value) if isinstance(value, _c.BurnBuffer) else value

    def __setattr__(self, name, value):
        """Members are set in the struct: what would stand beside it only, C would not see."""
        if name.startswith("_") or not hasattr(self._struct, name):
            if isinstance(value, (Module, _Leaf)) and not name.startswith("_"):
                raise TypeError(f"{type(self).__name__}.{name}: a layer of C has no parts beside its own; a Module that has both does")
            return super().__setattr__(name, value)
        part = getattr(self._struct, name)
        if isinstance(part, (_c.BurnParam, _c.BurnBuffer)):
            if getattr(self, name) is None:
                raise TypeError(f"{type(self).__name__}.{name}: the layer was made without it")
            if not isinstance(value, _c.BurnTensor):
                raise TypeError(f"{type(self).__name__}.{name}: a tensor is expected, not {type(value).__name__}")
            (_c.burn_param_set if isinstance(part, _c.BurnParam) else _c.burn_buffer_set)(part, value)
        elif isinstance(part, (bool, int, float)):
            setattr(self._struct, name, value)
        else:
            raise TypeError(f"{type(self).__name__}.{name} is a part of a layer of C and cannot be another one")

    def _built(self):
        return _c.view(_c.BurnType, self._struct._type, None), self._struct._address

    def _move(self, address, block):
        if self._struct._address != address:
            self._move_struct(address, block, self._struct._type)

    def _shown(self, address, owner):
        shown = copy.copy(self)
        shown._look(address, owner)
        return shown

    _forget = _Part._forget
