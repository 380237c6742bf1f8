#!/usr/bin/env python3
"""Writes core/include/burn/burn_hpp_methods.def: the functions of the public headers that take a tensor first and return one, with
the parameters that C++ gives them: tensors by value, shapes and lists so that braces will do.

Without arguments it writes the file; with --check it fails if the file is not what it would write."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = ROOT / "core/include/burn/burn_hpp_methods.def"
# Written by hand in burn.hpp, not for values, or keywords of C++.
OTHERS = {"clone", "drop", "int", "float", "bool", "cast", "permute", "repeat", "movedims", "roll", "pad", "pad_i64", "require_grad", "to_device", "grad"}
PATTERN = re.compile(r"BURN_API\s+BURN_GIVES\s+(?:BURN_TAKES\([^)]*\)\s+)?BurnTensor\s*\*\s*burn_(\w+)\(\s*BurnTensor \*\w+\s*(?:,\s*([^;]*))?\);")
PARAMETER = re.compile(r"(?P<type>.*?)(?P<name>\w+)(?:\[(?P<size>\d)\])?$")
LIST = re.compile(r"const (\w+) \*$")
HEAD = """/* burn_hpp_methods.def - the methods of burn::Tensor that are one C function each: burn_<name>.
 * Written by tests/lint/make_cpp_methods.py from the public headers; do not edit. */
"""


def split(function, text):
    found = [PARAMETER.match(part.strip()) for part in text.split(",")] if text else []
    parameters = [(p["type"].strip(), p["name"], p["size"]) for p in found]
    for i, (kind, name, size) in enumerate(parameters):
        counted = i + 1 < len(parameters) and parameters[i + 1][0] in ("uint32_t", "size_t")
        if LIST.match(kind) and not size and not counted:
            sys.exit(f"burn_{function}: no count follows the list '{name}'; write the method by hand in burn.hpp, and its name into OTHERS")
    return parameters


def method(function, text, has_twin):
    """BURN_CPP_METHOD(name, (C++ parameters), (C arguments)); the count after a list is that of the vector. With a twin
    burn_<name>_i64: BURN_CPP_NUMBER_METHOD with the arguments of that, and when it is called, at the end."""
    parameters, arguments, whole, tests, counted = [], ["self"], ["self"], [], None
    for kind, name, size in split(function, text):
        if counted:
            arguments.append(f"static_cast<{kind}>({counted}.size())")
            whole.append(arguments[-1])
            counted = None
            continue
        argument = name
        if kind == "double" and has_twin:
            parameters.append(f"Number {name}")
            arguments.append(f"{name}.real()")
            whole.append(f"{name}.whole()")
            tests.append(f"{name}.is_whole()")
            continue
        if kind == "BurnTensor *":
            parameter, argument = f"Tensor {name}", f"{name}.release()"
        elif kind == "BurnShape":
            parameter = f"const Shape &{name}"
        elif size:
            parameter, argument = f"const std::array<{kind.removeprefix('const ')}, {size}> &{name}", f"{name}.data()"
        elif LIST.match(kind):
            parameter, argument, counted = f"const std::vector<{LIST.match(kind)[1]}> &{name}", f"{name}.data()", name
        else:
            parameter = f"{kind}{'' if kind.endswith('*') else ' '}{name}"
        parameters.append(parameter)
        arguments.append(argument)
        whole.append(argument)
    parts = [f"BURN_CPP_METHOD({function}", f"({', '.join(parameters)})", f"({', '.join(arguments)})"]
    if has_twin:
        parts[0] = f"BURN_CPP_NUMBER_METHOD({function}"
        parts += [f"({', '.join(whole)})", " && ".join(tests)]
    parts[-1] += ")\n"
    line = ", ".join(parts)
    return line if len(line) <= 120 else ",\n  ".join(parts)


def methods():
    found = {}
    for header in sorted((ROOT / "core/include/burn").glob("*.h")):
        if header.name == "ops_optimizer.h":
            continue
        text = header.read_text()
        if header.name not in (ROOT / "core/include/burn/burn.h").read_text() and f"<burn/{header.name}>" not in "".join(
                other.read_text() for other in (ROOT / "core/include/burn").glob("*.h")):
            continue
        for name, parameters in PATTERN.findall(text):
            if name not in OTHERS and name not in found:
                found[name] = " ".join(parameters.split())
    twins = {name for name in found if f"{name}_i64" in found}
    return [method(name, text, name in twins) for name, text in found.items()
            if name in twins or name.removesuffix("_i64") not in twins]


def main():
    text = HEAD + "".join(methods())
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(text)
        return 0
    if TARGET.exists() and TARGET.read_text() == text:
        return 0
    print("core/include/burn/burn_hpp_methods.def is not up to date; run tests/lint/make_cpp_methods.py")
    return 1


sys.exit(main())
