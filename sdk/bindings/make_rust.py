#!/usr/bin/env python3
"""make_rust.py FILE: writes the C API as Rust, `extern "C"` functions and #[repr(C)] types, from sdk/api/burn.json."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "api"))
from api import Api  # noqa: E402

WORDS = {"abstract", "as", "async", "await", "become", "box", "const", "do", "dyn", "else", "enum", "extern", "final", "fn", "for", "if", "impl", "in",
         "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "static", "struct", "trait", "try", "type",
         "typeof", "use", "virtual", "where", "while", "yield"}
TYPES = {"bool": "bool", "char": "c_char", "int": "c_int", "unsigned int": "c_uint", "int8_t": "i8", "int16_t": "i16", "int32_t": "i32", "int64_t": "i64",
         "uint8_t": "u8", "uint16_t": "u16", "uint32_t": "u32", "uint64_t": "u64", "size_t": "usize", "uintptr_t": "usize", "float": "f32",
         "double": "f64", "void": "c_void", "FILE": "c_void"}
HEAD = """// Written by sdk/bindings/make_rust.py from sdk/api/burn.json.
#![allow(non_camel_case_types, non_snake_case, non_upper_case_globals, dead_code, clippy::all)]
use std::os::raw::{c_char, c_int, c_uint, c_void};

/// What may stand in a row of a module: the function that gives its descriptor.
pub trait Row {
    const TYPE: unsafe extern "C" fn() -> *const BurnType;
}
"""


def named(name):
    return name + "_" * (name in WORDS)


class Rust:
    def __init__(self, api):
        self.api = api

    def type(self, t, parameter=False):
        if t["base"] == "function":
            return "*const c_void"
        out = TYPES.get(t["base"], t["base"])
        for level in range(t.get("pointers", 0)):
            constant = t.get("const") if level == 0 else "*const" in t["c"]
            out = f"*{'const' if constant else 'mut'} {out}"
        if "array" in t:
            out = f"*{'const' if t.get('const') else 'mut'} {out}" if parameter else f"[{out}; {t['array']}]"
        return out

    def signature(self, parameters, result):
        listed = ", ".join(f"{named(p['name'])}: {self.type(p['type'], True)}" for p in parameters)
        return f"({listed})" + ("" if result["c"] == "void" else f" -> {self.type(result)}")

    def field(self, f):
        if "callback" in f:
            called = f["callback"]
            return f"Option<unsafe extern \"C\" fn{self.signature(called['parameters'], called['result'])}>"
        return self.type(f["type"])

    def struct(self, s):
        if "bytes" in s or s["kind"] == "module_stateless":
            return f"#[repr(C, align({s.get('align', 1)}))]\n#[derive(Clone, Copy)]\npub struct {s['name']} {{\n    bytes: [u8; {s.get('bytes', 1)}],\n}}\n"
        fields = "".join(f"    pub {named(f['name'])}: {self.field(f)},\n" for f in s["fields"])
        return f"#[repr(C)]\n#[derive(Clone, Copy)]\npub struct {s['name']} {{\n{fields}}}\n"

    def types(self):
        for t in self.api.types.values():
            if t["kind"] == "handle":
                yield f"#[repr(C)]\npub struct {t['name']} {{\n    _private: [u8; 0],\n}}\n"
            elif t["kind"] == "enum":
                yield ("" if t["name"].startswith("one of") else f"pub type {t['name']} = c_uint;\n") + "".join(self.constant(v) for v in t["values"])
            elif t["kind"] == "alias":
                yield f"pub type {t['name']} = {self.type(t['type'])};\n"
            elif t["kind"] == "callback":
                yield f"pub type {t['name']} = Option<unsafe extern \"C\" fn{self.signature(t['parameters'], t['result'])}>;\n"
            else:
                yield self.struct(t)

    @staticmethod
    def constant(value):
        kind = "c_uint" if 0 <= value["value"] < 1 << 32 else "i64"
        return f"pub const {value['name']}: {kind} = {value['value']};\n"

    def functions(self):
        for f in self.api.functions.values():
            link = f"    #[link_name = \"burn_inline_{f['name']}\"]\n" if f.get("inline") else ""
            doc = "".join(f"    /// {line}\n" for line in f["doc"].split("\n") if line)
            signature = self.signature(f["parameters"], f["result"]["type"])
            yield doc + link + f"    pub fn {f['name']}{signature.replace(')', ', ...)', 1) if f.get('variadic') else signature};\n"

    def rows(self):
        for s in self.api.structs:
            if f"{s['name']}_type" in self.api.functions:
                yield f"impl Row for {s['name']} {{\n    const TYPE: unsafe extern \"C\" fn() -> *const BurnType = {s['name']}_type;\n}}\n"


def main():
    rust = Rust(Api())
    parts = [HEAD] + list(rust.types()) + ["extern \"C\" {\n", *rust.functions(), "}\n"] + list(rust.rows())
    pathlib.Path(sys.argv[1]).write_text("\n".join(parts))


main()
