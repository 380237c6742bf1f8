#!/usr/bin/env python3
"""make_inline.py FILE: writes a C file that gives the functions that C's headers define inline (configs' defaults, descriptors of modules)
names for linkers, burn_inline_<name>: for languages that cannot read C's headers. Compile it with the headers of an installed Burn."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "api"))
from api import Api  # noqa: E402


def declared(parameter):
    c = parameter["type"]["c"]
    return c + ("" if c.endswith("*") else " ") + parameter["name"]


def main():
    api = Api()
    functions = [f for f in api.functions.values() if f.get("inline")]
    headers = sorted({f["header"] for f in functions})
    lines = ["/* Written by sdk/bindings/make_inline.py from sdk/api/burn.json. */"] + [f"#include <{h}>" for h in headers]
    for f in functions:
        parameters = ", ".join(declared(p) for p in f["parameters"]) or "void"
        result, passed = f["result"]["type"]["c"], ", ".join(p["name"] for p in f["parameters"])
        name = f"{result}{'' if result.endswith('*') else ' '}burn_inline_{f['name']}({parameters})"
        lines.append(f"{name};\n{name} {{ {'' if result == 'void' else 'return '}{f['name']}({passed}); }}")
    pathlib.Path(sys.argv[1]).write_text("\n".join(lines) + "\n")


main()
