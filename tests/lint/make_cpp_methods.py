#!/usr/bin/env python3
"""Writes core/include/burn/burn_hpp_methods.def: the functions of the public headers that take a tensor first and return one.

Without arguments it writes the file; with --check it fails if the file is not what it would write."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = ROOT / "core/include/burn/burn_hpp_methods.def"
# Written by hand in burn.hpp, not for values, or keywords of C++.
OTHERS = {"clone", "drop", "int", "float", "bool", "cast", "permute", "require_grad", "to_device", "grad"}
PATTERN = re.compile(r"BURN_API\s+BURN_GIVES\s+(?:BURN_TAKES\([^)]*\)\s+)?BurnTensor\s*\*\s*burn_(\w+)\(\s*BurnTensor \*\w+\s*[,)]")
HEAD = """/* burn_hpp_methods.def - the methods of burn::Tensor that are one C function each: burn_<name>.
 * Written by tests/lint/make_cpp_methods.py from the public headers; do not edit. */
"""


def names():
    found = []
    for header in sorted((ROOT / "core/include/burn").glob("*.h")):
        if header.name == "optimizer_ops.h":
            continue
        text = header.read_text()
        if header.name not in (ROOT / "core/include/burn/burn.h").read_text() and f"<burn/{header.name}>" not in "".join(
                other.read_text() for other in (ROOT / "core/include/burn").glob("*.h")):
            continue
        found += [name for name in PATTERN.findall(text) if name not in OTHERS and name not in found]
    return found


def rows():
    found = names()
    twins = {name for name in found if f"{name}_i64" in found}
    for name in found:
        if name.removesuffix("_i64") not in twins or name in twins:
            yield f"BURN_CPP_{'NUMBER_' if name in twins else ''}METHOD({name})\n"


def main():
    text = HEAD + "".join(rows())
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(text)
        return 0
    if TARGET.exists() and TARGET.read_text() == text:
        return 0
    print("core/include/burn/burn_hpp_methods.def is not up to date; run tests/lint/make_cpp_methods.py")
    return 1


sys.exit(main())
