#!/usr/bin/env python3
"""make_go.py FILE: writes methods of Go's Tensor, one per function of C that takes a tensor first and returns one, from sdk/api/burn.json.
cgo reads C's headers by itself: everything else is there as C.<name>."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "api"))
from api import Api  # noqa: E402

TYPES = {"bool": "bool", "int": "int", "int64_t": "int64", "uint32_t": "uint32", "size_t": "int", "double": "float64"}
C_TYPES = {"bool": "C.bool", "int": "C.int", "int64_t": "C.int64_t", "uint32_t": "C.uint32_t", "size_t": "C.size_t", "double": "C.double"}
WORDS = {"type", "func", "range", "map", "select", "var", "case", "default", "go", "chan"}
HEAD = """// Written by sdk/bindings/make_go.py from sdk/api/burn.json.

package burn

/*
#include <burn/burn.h>
#include <burn/nn.h>
#include <burn/train.h>
*/
import "C"
"""


def method_name(name):
    return "".join(part[:1].upper() + part[1:] for part in name.removeprefix("burn_").split("_"))


def method(api, function):
    """Its text, or None where a parameter is not a tensor, number or shape."""
    first, *others = function["parameters"]
    declared, passed = [], [f"x.taken()"]
    for p in others:
        base, name = p["type"]["base"], p["name"] + "_" * (p["name"] in WORDS | {"x"})
        scalar = api.scalar(base)
        if p["type"]["c"] == "BurnTensor *":
            declared.append(f"{name} *Tensor")
            passed.append(f"{name}.taken()")
        elif p["type"]["c"] == "BurnShape":
            declared.append(f"{name} []int64")
            passed.append(f"shapeOf({name})")
        elif scalar in TYPES and not api.depth(p["type"]):
            declared.append(f"{name} {TYPES[scalar]}")
            passed.append(f"{C_TYPES[scalar] if base in C_TYPES else 'C.' + base}({name})")
        else:
            return None
    doc = "".join(f"// {line}\n" for line in function["doc"].split("\n") if line)
    return f"{doc}func (x *Tensor) {method_name(function['name'])}({', '.join(declared)}) *Tensor {{\n\treturn own(C.{function['name']}({', '.join(passed)}))\n}}\n"


def main():
    api = Api()
    chosen = [f for f in api.functions.values() if f["result"]["type"]["c"] == "BurnTensor *" and f["result"].get("ownership") == "give" and
              f["parameters"] and f["parameters"][0]["type"]["c"] == "BurnTensor *" and f["parameters"][0]["ownership"] == "take" and not f.get("inline")
              and not re.search(r"ops_optimizer", f["header"])]
    texts = [text for text in (method(api, f) for f in chosen) if text]
    pathlib.Path(sys.argv[1]).write_text("\n".join([HEAD] + texts))


main()
