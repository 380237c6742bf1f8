"""Configs of C from keyword arguments, and values for their rows."""
from . import _c

_ACTIVATIONS = {name.removeprefix("BURN_ACTIVATION_KIND_").lower(): getattr(_c, name) for name in dir(_c) if name.startswith("BURN_ACTIVATION_KIND_")}
_INITIALIZERS = {name.removeprefix("BURN_INITIALIZER_").lower(): getattr(_c, name) for name in dir(_c) if name.startswith("BURN_INITIALIZER_")}
_KAIMING_GAIN = 0.5773502691896258  # 1/sqrt(3), as BURN_KAIMING_GAIN


def _named(table, what, name):
    if name not in table:
        raise ValueError(f"there is no {what} {name!r}; there are {', '.join(sorted(table))}")
    return table[name]


def initializer(name, **values):
    """First values of parameters: initializer("uniform", min=-1, max=1), ("normal", mean=, std=), ("constant", value=), "zeros",
    "ones", and with gain= "kaiming_uniform", "kaiming_normal", "xavier_uniform", "xavier_normal", "orthogonal"."""
    kind = _named(_INITIALIZERS, "initializer", name)
    gain = _KAIMING_GAIN if name.startswith("kaiming") else 1.0 if name.startswith(("xavier", "orthogonal")) else 0.0
    return _c.BurnInitializer(kind=kind, **({"gain": gain} | values))


def activation(name, **values):
    """An activation for a config: activation("leaky_relu", negative_slope=0.2). Numbers that are not given are Burn's defaults."""
    usual = {"hard_sigmoid": {"alpha": 0.2, "beta": 0.5}}.get(name, {"alpha": 1.0, "beta": 1.0})
    usual = {"negative_slope": 0.01, "lambda": 0.5, "bias": 0.5, "prelu": (1, 0.25)} | usual
    return _c.BurnActivationConfig(kind=_named(_ACTIVATIONS, "activation", name), **(usual | values))


def _padding(struct, value):
    if isinstance(value, str):
        return struct(kind={"same": _c.BURN_PADDING_KIND_SAME, "valid": _c.BURN_PADDING_KIND_VALID}[value.lower()])
    sides = {_c.BurnPadding1d: 2, _c.BurnPadding2d: 4, _c.BurnPadding3d: 3}[struct]
    values = (value,) * sides if isinstance(value, int) else tuple(value)
    if struct is _c.BurnPadding2d and len(values) == 2:  # height, width
        values = (values[0], values[1], values[0], values[1])
    return struct(_c.BURN_PADDING_KIND_EXPLICIT, *values)


def _c_value(struct, value):
    """A value as the struct of C that a row has."""
    if isinstance(value, struct):
        return value
    if struct in (_c.BurnSize2, _c.BurnSize3) and isinstance(value, int):
        return struct(*(value,) * (2 if struct is _c.BurnSize2 else 3))
    if struct in (_c.BurnOptionF64, _c.BurnOptionSize):
        return struct(True, value)
    if struct is _c.BurnText:
        return struct(text=value)
    if struct in (_c.BurnPadding1d, _c.BurnPadding2d, _c.BurnPadding3d):
        return _padding(struct, value)
    if struct is _c.BurnInitializer and isinstance(value, str):
        return initializer(value)
    if struct is _c.BurnActivationConfig and isinstance(value, str):
        return activation(value)
    return struct(*value) if isinstance(value, (tuple, list)) else struct(value)


def configured(config, **values):
    """The config with the values that are not None, which stands for C's default."""
    for name, value in values.items():
        name = name.rstrip("_")  # lambda_
        if value is not None:
            now = getattr(config, name)
            setattr(config, name, _c_value(type(now), value) if isinstance(now, _c.Struct) else value)
    return config
