"""Devices: stacks of plugins, opened by name."""
from . import _c


class Device(_c.BurnDevice):
    """Device("ndarray") opens a stack of plugins with autodiff on top; without a name the one of BURN_BACKEND, a burn.json, or the
    best that there is. training=False leaves autodiff out where the name does not have it."""

    __slots__ = ()

    def __new__(cls, stack=None, training=True):
        device = (_c.burn_device_open_training if training else _c.burn_device_open)(stack)
        _c.burn_device_status(device)
        return device

    @property
    def name(self):
        return _c.burn_device_name(self)

    @property
    def is_autodiff(self):
        return _c.burn_device_is_autodiff(self)

    @property
    def inner(self):
        """The device below autodiff, where gradients and validation live."""
        return _c.burn_device_inner(self)

    def seed(self, number):
        _c.burn_device_seed(self, number)

    def sync(self):
        """Waits for all work, and raises its first failure."""
        _c.burn_device_sync(self)

    def memory(self):
        return _c.burn_device_memory(self)

    def __repr__(self):
        return f"Device({self.name!r})"

    def __eq__(self, other):
        return isinstance(other, Device) and self.name == other.name

    def __hash__(self):
        return hash(self.name)


_c.register("BurnDevice", Device)
_default = None
_opened = {}  # by the name that was asked for: one stack is one device, whose tensors go together


def default_device():
    """The device of functions that are given none: opened the first time, or that of set_default_device."""
    global _default
    if _default is None:
        _default = Device()
    return _default


def set_default_device(device):
    """A device, or the name of a stack."""
    global _default
    _default = chosen(device)
    return _default


def seed(number, device=None):
    """The random numbers of a device (None: the default one) begin anew; a device that is opened begins with seed 0."""
    chosen(device).seed(number)


def chosen(device):
    """The device that a parameter stands for: itself, that of a name, which is opened once, or for None the default."""
    if device is None:
        return default_device()
    if not isinstance(device, Device):
        if device not in _opened:
            _opened[device] = Device(device)
        device = _opened[device]
    return device
