"""The Python files that make_module.py writes: layers, optimizers, schedules and metrics with the rows of their configs as keyword
arguments, and the stubs of burn._c."""
import keyword

from api import SCALARS

HEAD = '"""{}. Written by sdk/python/make_module.py."""\nfrom . import _c\n{}\n\n'
NUMBER = set("0123456789.-e")


def named(name):
    """A name that Python has no other use for."""
    return name + "_" * keyword.iskeyword(name)


def short(name):
    return name.removeprefix("burn_tensor_").removeprefix("burn_")


def default_of(field):
    """A default as Python writes it; None for one that only C can write, which stands for it."""
    literal = field.get("default", "")
    words = {"true": "True", "false": "False"}
    return words.get(literal, literal if literal and set(literal) <= NUMBER else "None")


def config_parameters(config):
    required = [named(f["name"]) for f in config["fields"] if f.get("required")]
    return required, [f"{named(f['name'])}={default_of(f)}" for f in config["fields"] if not f.get("required")]


def doc_of(entry, fields=(), indent="    "):
    rows = [f"    {f['name']}: {f.get('doc', '')}" + (f" (default: {f['default']})" if "default" in f else "") for f in fields]
    text = "\n\n".join(part for part in (entry["doc"], "\n".join(rows)) if part)
    text = text.replace("\\", "\\\\").replace('"""', "'''").replace("\n", "\n" + indent)
    return "\n".join(line.rstrip() for line in text.split("\n")) + (" " if text.endswith('"') else "")


def quoted(text, indent="    "):
    return f'{indent}"""{text}"""\n' if text else ""


def values_of(api, config):
    """`configured(..)` of the arguments that stand in a signature made by config_parameters."""
    def value(field):
        struct = api.struct(field["type"]["base"])
        return f"_c_value(_c.{struct}, {named(field['name'])})" if struct else named(field["name"])

    required = ", ".join(value(f) for f in config["fields"] if f.get("required"))
    optional = "".join(f", {named(f['name'])}={named(f['name'])}" for f in config["fields"] if not f.get("required"))
    return f"configured(_c.{config['name']}_defaults({required}){optional})"


def config_of(api, parameters):
    for p in parameters:
        entry = api.types.get(p["type"]["base"], {})
        if entry.get("kind") == "config" and "pointers" in p["type"]:
            return entry
    return None


class LayerClass:
    """class Linear(Layer): __init__ by the rows of its config, a method for each of its functions."""

    def __init__(self, api, wrapper, struct):
        self.api, self.wrapper, self.struct, self.name = api, wrapper, struct, struct["name"].removeprefix("Burn")
        self.init = next((f for f in api.functions.values() if f["name"].endswith("_init") and f["result"]["type"]["c"] == struct["name"]), None)
        self.prefix = self.init["name"].removesuffix("_init") if self.init else ""

    def constructor(self):
        parameters = self.init["parameters"]
        config, device = config_of(self.api, parameters), any(p["type"]["base"] == "BurnDevice" for p in parameters)
        others = [p for p in parameters if p["type"]["base"] != "BurnDevice"]
        if config:
            required, optional = config_parameters(config)
            passed = [values_of(self.api, config)]
        else:
            required, optional = [named(p["name"]) for p in others], []
            structs = [self.api.struct(p["type"]["base"]) for p in others]
            passed = [f"_c_value(_c.{s}, {named(p['name'])})" if s else named(p["name"]) for s, p in zip(structs, others)]
        arguments = ["self"] + required + ["*"] * bool(optional or device) + optional + ["device=None"] * device
        passed += ["chosen(device)"] * device
        doc = doc_of(config if config and config["doc"] else self.init, config["fields"] if config else ())
        return f"    def __init__({', '.join(arguments)}):\n        super().__init__(_c.{self.init['name']}({', '.join(passed)}))\n", doc

    def method(self, function):
        parameters = {p["name"]: p for p in function["parameters"]}
        names = self.wrapper(self.api, function).names[1:]
        made = [n for n in names if n == "last"]  # a struct that C writes into
        declared, optional = [], True
        for n in reversed([n for n in names if n not in made]):
            absent = "NULL" in function["doc"] or n == "state"
            optional = optional and n != names[0] and bool(parameters[n]["type"].get("pointers")) and absent
            declared.insert(0, n + "=None" * optional)
        call = f"_c.{function['name']}({', '.join(['self._struct'] + names)})"
        body = f"        last = _c.{parameters['last']['type']['base']}()\n        return {call}, last\n" if made else f"        return {call}\n"
        name = function["name"].removeprefix(self.prefix + "_")
        return f"    def {name}({', '.join(['self'] + declared)}):\n" + quoted(doc_of(function, indent=" " * 8), " " * 8) + body

    def is_method(self, function):
        first = function["parameters"][:1]
        return function["name"].startswith(self.prefix + "_") and first and first[0]["type"]["base"] == self.struct["name"] and not function.get("inline")

    def text(self):
        made, doc = self.constructor()
        methods = ["\n" + self.method(f) for f in self.api.functions.values() if self.is_method(f)]
        return f"class {self.name}(Layer):\n" + quoted(doc) + "\n" * bool(doc) + made + "".join(methods) + "\n\n"


def layers_text(api, wrapper):
    layers = [LayerClass(api, wrapper, s) for s in api.structs if s["kind"].startswith("module")]
    imports = ("from .config import _c_value, activation, configured, initializer  # noqa: F401\nfrom .device import chosen\n"
               "from .module import Layer, Module  # noqa: F401\n")
    head = HEAD.format("Layers: a class per module of C, its config as keyword arguments with C's defaults", imports)
    return (head + "".join(layer.text() for layer in layers if layer.init)).rstrip() + "\n"


def makers(api, prefix, suffix, result):
    return [f for f in api.functions.values() if f["name"].startswith(prefix) and f["name"].endswith(suffix) and len(f["parameters"]) == 1 and
            config_of(api, f["parameters"]) and f["result"]["type"]["base"] == result]


def configured_text(api, functions, base, what, imports):
    """A class for each function that makes something of a config: optimizers and schedules."""
    lines = [HEAD.format(what, imports)]
    for function in functions:
        config = config_of(api, function["parameters"])
        required, optional = config_parameters(config)
        name = config["name"].removeprefix("Burn").removesuffix("Config").removesuffix("Rate")
        arguments = ", ".join(["self"] + required + ["*"] * bool(optional) + optional)
        doc = doc_of(config if config["doc"] else function, config["fields"])
        lines.append(f"class {name}({base}):\n{quoted(doc)}\n    def __init__({arguments}):\n"
                     f"        super().__init__(_c.{function['name']}, {values_of(api, config)})\n\n\n")
    return "".join(lines).rstrip() + "\n"


def metrics_text(api):
    lines = [HEAD.format("Metrics of a run", "from .config import _c_value, configured  # noqa: F401\nfrom .metrics import Metric, kept  # noqa: F401\n")]
    for function in (f for f in api.functions.values() if f["name"].startswith("burn_metric_")):
        config = config_of(api, function["parameters"])
        required, optional = config_parameters(config) if config else ([], [])
        made = ", " + values_of(api, config) if config else ""
        arguments = ", ".join(required + ["*"] * bool(optional) + optional)
        lines.append(f"def {function['name'].removeprefix('burn_metric_')}({arguments}):\n{quoted(doc_of(function, config['fields'] if config else ()))}"
                     f"    return kept(_c.{function['name']}{made})\n\n\n")
    return "".join(lines).rstrip() + "\n"


class Stub:
    """_c.pyi: the types of everything in burn._c."""

    def __init__(self, api):
        self.api = api

    def given(self, type_):
        api, base, depth = self.api, type_["base"], self.api.depth(type_)
        if base == "char" and depth == 1 and type_.get("const"):
            return "str | None"
        if depth == 0 and api.scalar(base):
            return {"bool": "bool", "float": "float"}.get(SCALARS[api.scalar(base)], "int")
        if api.kind(base) == "handle" and depth == 1 and not base.startswith("DL"):
            return f"{base} | None"
        if api.struct(base) and depth < 2:
            module = "Module | " if base == "BurnModule" else ""
            return f"{module}{api.struct(base)} | tuple[Any, ...] | list[Any] | dict[str, Any]" + " | None" * depth
        return "Any"

    def result(self, wrapper):
        api, type_ = self.api, wrapper.function["result"]["type"]
        base, depth = type_["base"], api.depth(type_)
        if wrapper.outputs:
            return "Any"
        if type_["c"] in ("void", "BurnStatus"):
            return "None"
        if depth == 0 and api.scalar(base):
            return {"bool": "bool", "float": "float"}.get(SCALARS[api.scalar(base)], "int")
        if depth < 2 and (api.struct(base) or (api.kind(base) == "handle" and depth)):
            return api.struct(base) or base
        return "str" if base == "char" and depth == 1 else "Any"

    def parameters(self, wrapper):
        given = {p["name"]: self.given(p["type"]).removesuffix(" | None" * p.get("trusted", False)) for p in wrapper.function["parameters"]}
        return [f"{named(n)}: {given[n]}" for n in wrapper.names]

    def text(self, wrappers):
        lines = ['"""All functions of Burn\'s C API. Written by sdk/python/make_module.py."""', "from typing import Any", "", "from .module import Module", "", "callbacks: dict[str, int]",
                 "class BurnError(RuntimeError):", "    status: int", "    code: int", "class Handle: ...", "class Struct:", "    _address: int",
                 "    _type: int | None", "    _bytes: int", "    def __init__(self, *members: Any, **named: Any) -> None: ..."]
        own = ("dlpack_capsule", "dlpack_device", "from_dlpack_capsule", "register", "view", "bytes_at", "copy_to", "free", "in_main_interpreter")
        lines += [f"def {name}(*arguments: Any) -> Any: ..." for name in own]
        methods = [f"    def {short(w.function['name'])}({', '.join(['self'] + self.parameters(w)[1:])}) -> {self.result(w)}: ..."
                   for w in wrappers if w.is_method()]
        for handle in self.api.handles:
            lines += [f"class {handle['name']}(Handle):"] + (methods if handle["name"] == "BurnTensor" else ["    ..."])
        for s in self.api.structs:
            members = [f"    {f['name']}: Any" for f in s["fields"] if not keyword.iskeyword(f["name"])]
            lines += [f"class {s['name']}(Struct):"] + (members or ["    ..."])
        lines += [f"def {w.function['name']}({', '.join(self.parameters(w))}) -> {self.result(w)}: ..." for w in wrappers]
        lines += [f"{v['name']}: int" for e in self.api.enums for v in e["values"]]
        return "\n".join(lines) + "\n"
