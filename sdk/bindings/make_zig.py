#!/usr/bin/env python3
"""make_zig.py FILE: writes the C API as Zig, `extern fn` and `extern struct`, from sdk/api/burn.json."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "api"))
from api import Api  # noqa: E402

WORDS = {"align", "and", "const", "defer", "else", "enum", "error", "export", "extern", "fn", "for", "if", "inline", "or", "pub", "resume", "return",
         "struct", "suspend", "switch", "test", "try", "type", "union", "var", "while", "null", "undefined", "opaque", "packed", "continue", "break"}
TYPES = {"bool": "bool", "char": "u8", "int": "c_int", "unsigned int": "c_uint", "int8_t": "i8", "int16_t": "i16", "int32_t": "i32", "int64_t": "i64",
         "uint8_t": "u8", "uint16_t": "u16", "uint32_t": "u32", "uint64_t": "u64", "size_t": "usize", "uintptr_t": "usize", "float": "f32",
         "double": "f64", "void": "anyopaque", "FILE": "anyopaque"}
HEAD = "// Written by sdk/bindings/make_zig.py from sdk/api/burn.json.\n"


def named(name):
    return f'@"{name}"' if name in WORDS else name


class Zig:
    def __init__(self, api):
        self.api = api

    def type(self, t, parameter=False):
        if t["base"] == "function":
            return "?*const anyopaque"
        out = TYPES.get(t["base"], t["base"])
        single = out == "anyopaque" or self.api.kind(t["base"]) == "handle"
        for level in range(t.get("pointers", 0)):
            constant = t.get("const") if level == 0 else "*const" in t["c"]
            out = f"{'?*' if single and level == 0 else '[*c]'}{'const ' if constant else ''}{out}"
        if "array" in t:
            out = f"[*c]{'const ' if t.get('const') else ''}{out}" if parameter else f"[{t['array']}]{out}"
        return out

    def result(self, t):
        return "void" if t["c"] == "void" else self.type(t)

    def signature(self, parameters, result, variadic=False):
        listed = [f"{named(p['name'])}: {self.type(p['type'], True)}" for p in parameters] + ["..."] * variadic
        return f"({', '.join(listed)})", self.result(result)

    def pointer(self, parameters, result):
        listed = ", ".join(self.type(p["type"], True) for p in parameters)
        return f"?*const fn ({listed}) callconv(.c) {self.result(result)}"

    def field(self, f):
        return self.pointer(f["callback"]["parameters"], f["callback"]["result"]) if "callback" in f else self.type(f["type"])

    def struct(self, s):
        if "bytes" in s or s["kind"] == "module_stateless":
            fields = f"    bytes: [{s.get('bytes', 1)}]u8 align({s.get('align', 1)}),\n"
        else:
            fields = "".join(f"    {named(f['name'])}: {self.field(f)},\n" for f in s["fields"])
        row = f"    pub const descriptor = {s['name']}_type;\n" if f"{s['name']}_type" in self.api.functions else ""
        return f"pub const {s['name']} = extern struct {{\n{fields}{row}}};\n"

    def types(self):
        for t in self.api.types.values():
            if t["kind"] == "handle":
                yield f"pub const {t['name']} = opaque {{}};\n"
            elif t["kind"] == "enum":
                yield ("" if t["name"].startswith("one of") else f"pub const {t['name']} = c_uint;\n") + \
                    "".join(f"pub const {v['name']} = {v['value']};\n" for v in t["values"])
            elif t["kind"] == "alias":
                yield f"pub const {t['name']} = {self.type(t['type'])};\n"
            elif t["kind"] == "callback":
                yield f"pub const {t['name']} = {self.pointer(t['parameters'], t['result'])};\n"
            else:
                yield self.struct(t)

    def functions(self):
        for f in self.api.functions.values():
            doc = "".join(f"/// {line}\n" for line in f["doc"].split("\n") if line)
            linked = f"burn_inline_{f['name']}" if f.get("inline") else f["name"]
            parameters, result = self.signature(f["parameters"], f["result"]["type"], f.get("variadic", False))
            alias = f"pub const {f['name']} = {linked};\n" if f.get("inline") else ""
            yield f"{doc if not alias else ''}pub extern fn {linked}{parameters} {result};\n{doc + alias if alias else ''}"


def main():
    zig = Zig(Api())
    pathlib.Path(sys.argv[1]).write_text("\n".join([HEAD, *zig.types(), *zig.functions()]))


main()
