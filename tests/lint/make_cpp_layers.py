#!/usr/bin/env python3
"""Writes nn/include/burn/nn_hpp_configs.def and nn_hpp_layers.def: a C++ class for every config and every module of the headers of nn, with
a method for each of its functions (burn_linear_forward is operator()), and structs for those that functions take and give.

Without arguments it writes the files; with --check it fails if they are not what it would write."""
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "nn/include/burn"
HEAD = """/* {name} - of burn/nn.hpp: {what}.
 * Written by tests/lint/make_cpp_layers.py from the headers of nn; do not edit. */
"""
CONFIG = re.compile(r"^BURN_CONFIG(?P<optional>_OPTIONAL)?\((?P<name>Burn\w+), (?P<rows>\w+)\);", re.M)
MODULE = re.compile(r"^BURN_MODULE(?:_STATELESS)?\(Burn(?P<name>\w+)[,)]", re.M)
STRUCT = re.compile(r"^typedef struct Burn(?P<name>\w+) \{(?P<body>[^}]*)\} Burn\w+;", re.M)
FUNCTION = re.compile(r"BURN_API\s+(?:BURN_\w+(?:\([^)]*\))?\s+)*(?P<result>\w[\w\s]*?[\s*]+)(?P<name>burn_\w+)\((?P<parameters>[^;]*)\);")
PARAMETER = re.compile(r"(?P<type>.*?)(?P<name>\w+)$")


def source():
    names = re.findall(r"<burn/nn/(\w+\.h)>", (ROOT / "nn/include/burn/nn.h").read_text())
    text = "\n".join((ROOT / "nn/include/burn/nn" / name).read_text() for name in names)
    return re.sub(r"\\\n", " ", re.sub(r"/\*.*?\*/", "", text, flags=re.S))


def split(text):
    return [] if text == "void" else [(p["type"].strip(), p["name"]) for p in (PARAMETER.match(" ".join(part.split())) for part in text.split(","))]


def structs(text):
    """Structs of tensors and flags: C++ has tensors that own themselves."""
    found = {}
    for match in STRUCT.finditer(text):
        members = [(kind, name.strip()) for kind, names in re.findall(r"(BurnTensor \*|bool )([^;]+);", match["body"]) for name in names.replace("*", "").split(",")]
        lines = [line for line in match["body"].split(";") if line.strip()]
        if len(lines) == len(re.findall(r"(?:BurnTensor \*|bool )[^;]+;", match["body"])) and not match["name"].endswith("Cache"):
            found[match["name"]] = members
    return found


def struct_text(name, members):
    lines = [f"struct {name} {{"]
    lines += [f"  Tensor {member};" if "Tensor" in kind else f"  bool {member} = false;" for kind, member in members]
    taken = ", ".join(f"{member}.release()" if "Tensor" in kind else member for kind, member in members)
    lines.append(f"  Burn{name} release() {{ return {{{taken}}}; }} /* for a function of C, which takes the tensors */")
    if all("Tensor" in kind for kind, _ in members):
        lines.append(f"  static {name} take(const Burn{name} &given) {{ return detail::take_all<{name}>({', '.join('given.' + m for _, m in members)}); }}")
    return "\n".join(lines + ["};\n"])


def argument(kind, name, known):
    """A parameter of C++, what is passed to C, and what stands before and after the call."""
    inner = kind.removeprefix("const ").rstrip(" *").removeprefix("Burn")
    if kind == "BurnTensor *":
        return f"Tensor {name}" + (" = nullptr" if name == "state" else ""), f"{name}.release()", "", ""
    if kind == "BurnTensor **":
        return f"Tensor *{name} = nullptr", f"{name} ? &{name}_given : nullptr", f"BurnTensor *{name}_given = nullptr; ", f", {name}_given, {name}"
    if kind == "BurnDevice *":
        return f"const Device &{name}", f"{name}.get()", "", ""
    if inner in known and kind.startswith("const "):
        return f"{inner} {name} = {{}}", f"{name}_taken.{known[inner][0][1]} ? &{name}_taken : nullptr", f"const Burn{inner} {name}_taken = {name}.release(); ", ""
    if inner in known and kind.endswith("*"):
        return f"{inner} *{name} = nullptr", f"{name} ? &{name}_given : nullptr", f"Burn{inner} {name}_given = {{}}; ", f", {name}_given, {name}"
    if inner in known:
        return f"{inner} {name}", f"{name}.release()", "", ""
    if kind == "const int *":
        return f"const std::vector<int> &{name}", f"{name}.data()", "", ""
    return f"{kind}{'' if kind.endswith('*') else ' '}{name}", name, "", ""


def method(prefix, function, result, parameters, known):
    declared, passed, before, after = [], [], "", ""
    for (kind, name), (last, _) in zip(parameters[1:], [("", "")] + parameters[1:]):
        if last == "const int *":
            passed.append(f"static_cast<std::uint32_t>({declared[-1].split('&')[1]}.size())")
            continue
        parameter, value, first, then = argument(kind, name, known)
        declared.append(parameter)
        passed.append(value)
        before, after = before + first, after + then
    name = function.removeprefix(prefix + "_")
    name = "operator()" if name == "forward" else name
    call = f"{function}({', '.join(['get()'] + passed)})"
    if result == "BurnTensor *":
        kind, call = "Tensor", f"return detail::with_last({call}{after});" if after else f"return Tensor({call});"
    elif result == "BurnStatus":
        kind, call = "void", f"burn::check({call});"
    elif result.removeprefix("Burn") in known:
        kind = result.removeprefix("Burn")
        call = f"return {kind}::take({call});"
    elif result == "BurnTransformerCache *":
        kind, call = "TransformerCache", f"return TransformerCache({call});"
    else:
        kind, call = result, f"{call};"
    const = " const" if parameters[0][0].startswith("const ") else ""
    return f"  {kind} {name}({', '.join(declared)}){const} {{ {before}{call} }}\n"


def constructors(name, prefix, parameters, configs):
    if len(parameters) < 2:
        return (f"  explicit {name}(const Device &) : Layer({prefix}_init()) {{}}\n" if not parameters else
                f"  {name}({parameters[0][0]} {parameters[0][1]}, const Device &) : Layer({prefix}_init({parameters[0][1]})) {{}}\n")
    config = parameters[0][0].removeprefix("const Burn").removesuffix(" *")
    rows, optional = configs[config]
    return (f"  BURN_CPP_LAYER_OPTIONAL({name}, {config}, {prefix})\n" if optional else f"  BURN_CPP_LAYER_NEW({name}, {config}, {prefix}, {rows})\n")


def layer(name, functions, configs, known):
    prefix = next(function.removesuffix("_init") for function, result, _ in functions if result == f"Burn{name}" and function.endswith("_init"))
    made, methods = "", ""
    for function, result, parameters in functions:
        if function == f"{prefix}_init":
            made += constructors(name, prefix, parameters, configs)
        elif result == f"Burn{name}" and not parameters:
            made += f"  static {name} {function.removeprefix(prefix + '_').removeprefix('init_')}() {{ return {name}({function}()); }}\n"
        elif function == f"{prefix}_forward" and [kind for kind, _ in parameters] == [f"const Burn{name} *", "BurnTensor *"]:
            methods += f"  BURN_CPP_FORWARD({prefix}, {parameters[1][1]})\n"
        elif parameters and parameters[0][0].removeprefix("const ") == f"Burn{name} *":
            methods += method(prefix, function, result, parameters, known)
    return f"struct {name} : Layer<{name}, Burn{name}> {{\n  BURN_CPP_LAYER({name})\n{made}{methods}}};\n"


def wrapped(line):
    indent = " " * (len(line) - len(line.lstrip()))
    return "\n".join(textwrap.wrap(line.lstrip(), 120, initial_indent=indent, subsequent_indent=indent + "    ", break_long_words=False, break_on_hyphens=False))


def generated():
    text = source()
    known = structs(text)
    functions = [(m["name"], " ".join(m["result"].split()), split(m["parameters"])) for m in FUNCTION.finditer(text)]
    configs = {m["name"].removeprefix("Burn"): (m["rows"], bool(m["optional"])) for m in CONFIG.finditer(text)}
    modules = MODULE.findall(text)
    with_init = {result.removeprefix("Burn") for function, result, _ in functions if function.endswith("_init")}
    if set(modules) - with_init:
        sys.exit(f"no function burn_<name>_init was found for {', '.join(sorted(set(modules) - with_init))}")
    configs_text = [struct_text(name, members) for name, members in known.items()]
    configs_text += [f"BURN_CPP_CONFIG{'_OPTIONAL' if optional else ''}({name}, Burn{name}, {rows});\n" for name, (rows, optional) in configs.items()]
    layers_text = [layer(name, functions, configs, known) for name in modules]
    return {"nn_hpp_configs.def": file_text("nn_hpp_configs.def", "a class per config of C, and what layers take and give", configs_text),
            "nn_hpp_layers.def": file_text("nn_hpp_layers.def", "a class per module of C", layers_text)}


def file_text(name, what, parts):
    return HEAD.format(name=name, what=what) + "".join(wrapped(line) + "\n" for line in "".join(parts).splitlines())


def main():
    old = {path.name: path.read_text() for path in FOLDER.glob("nn_hpp_*.def")}
    new = generated()
    if "--check" not in sys.argv[1:]:
        for name, text in new.items():
            (FOLDER / name).write_text(text)
        return 0
    if old == new:
        return 0
    print("nn/include/burn/nn_hpp_*.def are not up to date; run tests/lint/make_cpp_layers.py")
    return 1


sys.exit(main())
