#!/usr/bin/env python3
"""Writes sdk/api/burn.json: the public C API of all libraries as data, for bindings. README.md beside it describes the file.

    make_api.py            writes the file
    make_api.py --check    fails if it is not what the headers say; status 77 where libclang's Python module is missing

The headers are read by libclang (Debian: python3-clang), which sees types and attributes. Rows of BURN_CONFIG and BURN_MODULE are expanded
by macros of ours, so that defaults and texts of rows come out of the compiler, too."""
import json
import pathlib
import re
import sys

try:
    from clang.cindex import CursorKind, Index, TokenKind, TranslationUnit, TypeKind
except ImportError:
    print("make_api: libclang's Python module is missing (Debian: python3-clang)")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = ROOT / "sdk/api/burn.json"
FOLDERS = [ROOT / name / "include" for name in ("core", "nn", "train", "train/sources", "train/dashboard", "import")]
ERROR_H = FOLDERS[0] / "burn/error.h"
INCLUDES = FOLDERS + [ROOT / "plugin-api/include"]
MARKS = """
#undef BURN_TAKES
#undef BURN_GIVES
#undef BURN_API
#undef BURN_USE_RESULT
#define BURN_TAKES(...) __attribute__((annotate("takes " #__VA_ARGS__)))
#define BURN_GIVES __attribute__((annotate("gives")))
#define BURN_API __attribute__((annotate("api")))
#define BURN_USE_RESULT __attribute__((annotate("use_result")))
"""
ROWS = """
#define API_REQ(Type, name, doc) Type name __attribute__((annotate("required"), annotate("doc " doc)));
#define API_OPT(Type, name, fallback, doc) Type name __attribute__((annotate("default " #fallback), annotate("doc " doc)));
#define API_ROW(Type, name, doc) Type name __attribute__((annotate("doc " doc)));
#define API_CASE(Name, Type, name, doc) Type name __attribute__((annotate("doc " doc)));
"""
MACRO = re.compile(r"^BURN_(CONFIG|CONFIG_OPTIONAL|MODULE|MODULE_STATELESS|MODULE_VARIANT|LAYER)\((\w+)(?:, (\w+))?(?:, (\w+))?\);", re.M)
MADE = "config", "module", "module_stateless", "module_variant"

# What BURN_TAKES, which is for tensors, cannot say: parameters that a function takes, by index from 0. Their comments say so.
TAKES = {
    "burn_calibration_end": [0], "burn_calibration_cancel": [0], "burn_dequantize": [0],
    "burn_gradients_accumulate": [1], "burn_gradients_params": [0], "burn_loader_create": [0], "burn_batches_stop": [0],
    "burn_module_option_set": [1], "burn_multi_gradients_params_add": [1], "burn_multi_gradients_params_sum": [0],
    "burn_optimizer_step": [2], "burn_optimizer_step_rates": [2], "burn_optimizer_with_group": [2], "burn_quant_conv2d": [0, 1],
    "burn_quant_matmul": [0, 1], "burn_quant_cat": [0], "burn_quantize": [2], "burn_read_finish": [0], "burn_read_finish_f32": [0],
    "burn_read_finish_f64": [0], "burn_read_finish_i64": [0], "burn_scope_end": [0], "burn_value_append": [1], "burn_value_set": [2],
    "burn_from_dlpack": [0], "burn_from_dlpack_on": [0], "burn_from_dlpack_unversioned": [0], "burn_staging_give": [0],
    "burn_tensor_from_primitive": [1], "burn_folder_unlock": [0], "burn_op": [1], "burn_op_call": [2], "burn_op_calls": [2],
    "burn_graph_set_tensor": [2], "burn_graph_release": [0], "burn_lstm_forward": [2],
    "burn_bi_lstm_forward": [2], "burn_grad_scaler_step": [3], "burn_grad_scaler_step_rates": [3],
}
# Structs whose tensors belong to whoever has the struct: by value they are taken and given as tensors are.
HOLDERS = {"BurnQuantTensor", "BurnQuantParameters", "BurnMhaInput", "BurnTransformerEncoderInput", "BurnTransformerDecoderInput", "BurnStepOutput",
           "BurnLstmState", "BurnMeasured", "BurnMhaOutput", "BurnPaddingMask", "BurnParam", "BurnBuffer", "BurnConstant"}
ENDS = re.compile(r"_(drop|destroy|close|cancel)$")  # these take what they end
RELEASES = re.compile(r"_(drop|destroy|close|cancel|release)$")  # these do nothing with NULL
LEAVES = {"BurnParam", "BurnBuffer", "BurnConstant"}  # a forward pass asks for their values
# Parameters that are neither input nor one output: what is behind the pointer is read and replaced, or has room for several.
ROLES = {("burn_write", "x"): "inout", ("burn_gradients_accumulate", "sum"): "inout", ("burn_split", "parts"): "room",
         ("burn_chunk", "parts"): "room", ("burn_meshgrid", "grids"): "room", ("burn_op_call", "outputs"): "room",
         ("burn_op_calls", "outputs"): "room", ("burn_dataset_split", "parts"): "room", ("burn_move", "x"): "inout",
         ("burn_iter_dim", "parts"): "room", ("burn_nonzero", "indices"): "room", ("burn_split_with_sizes", "parts"): "room",
         ("burn_graph_run", "outputs"): "room", ("burn_graph_run_named", "outputs"): "room", ("burn_store_select", "chosen"): "in"}
NOT_SCALARS = {"void", "char", "uint8_t", "FILE"}


def public_headers():
    return [path for folder in FOLDERS for path in sorted(folder.rglob("*.h"))]


def main_text(headers):
    lines = [f"#include <burn/{path.as_posix().split('/include/burn/')[1]}>\n" for path in headers] + [ROWS]
    for path in headers:
        for kind, name, rows, _ in MACRO.findall(path.read_text()):
            arguments = {"CONFIG": "API_REQ, API_OPT", "CONFIG_OPTIONAL": "API_REQ, API_OPT", "MODULE": "API_ROW",
                         "MODULE_VARIANT": f"API_CASE, {name}"}.get(kind)
            if arguments:
                lines.append(f"struct api_{name} {{ {rows}({arguments}) }};\n")
    return "".join(lines)


def text_of_header(path):
    """What is parsed: the file, and error.h with marks of ours."""
    text = path.read_text()
    if path != ERROR_H:
        return text
    end = "#define BURN_TAKES(...)\n#define BURN_GIVES BURN_USE_RESULT\n#endif\n"
    if text.count(end) != 1:
        sys.exit("make_api: error.h has no longer the lines that end the marks of ownership; see text_of_header()")
    return text.replace(end, end + MARKS)


def parse(headers):
    unsaved = [(str(ERROR_H), text_of_header(ERROR_H)), ("api.c", main_text(headers))]
    arguments = ["-std=c11", "-D_POSIX_C_SOURCE=200809L"] + [f"-I{folder}" for folder in INCLUDES]
    unit = Index.create().parse("api.c", arguments, unsaved, TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD)
    errors = [str(d) for d in unit.diagnostics if d.severity >= 3]
    if errors:
        sys.exit("make_api: " + "\n".join(errors))
    return unit


class Comments:
    """The comments of a header, by line: before a declaration, after it on its last line, or shared by a block of declarations."""

    def __init__(self, unit, path):
        self.lines = text_of_header(path).split("\n")
        self.before, self.after = {}, {}
        extent = unit.get_extent(str(path), ((1, 1), (len(self.lines) + 1, 1)))
        for token in unit.get_tokens(extent=extent):
            if token.kind == TokenKind.COMMENT:
                start, end = token.extent.start, token.extent.end
                alone = not self.lines[start.line - 1][:start.column - 1].strip()
                (self.before if alone else self.after)[end.line if alone else start.line] = self.plain(token.spelling)

    @staticmethod
    def plain(comment):
        body = re.sub(r"^/\*+|\*/$", "", comment)
        return "\n".join(re.sub(r"^\s*\* ?", "", line).rstrip() if i else line.strip() for i, line in enumerate(body.split("\n"))).strip()

    def of(self, first, last):
        line, found = min(first - 1, len(self.lines)), ""
        while line > 0 and self.lines[line - 1].strip():  # up to the empty line in front of the block
            if line in self.before:
                found = self.before[line]
                break
            line -= 1
        if found.startswith("-- "):
            found = ""
        trailing = self.after.get(last, "")
        return "\n".join(part for part in (found, trailing) if part)

    def of_section(self, first):
        """What stands alone below the line that begins a section: it is said of all in it."""
        line, found = min(first - 1, len(self.lines) - 1), []
        while line > 0 and not self.before.get(line, "").startswith("-- "):
            if line in self.before and not self.lines[line].strip():
                found.append(self.before[line])
            line -= 1
        return "\n".join(found) if line else ""

    def own(self, first, last):
        """Of a member: the comment on its lines, or the one that ends right above."""
        trailing = next((self.after[line] for line in range(first, last + 1) if line in self.after), "")
        return "\n".join(part for part in (self.before.get(first - 1, ""), trailing) if part)


def annotations(cursor):
    return [child.spelling for child in cursor.get_children() if child.kind == CursorKind.ANNOTATE_ATTR]


def callback(type_):
    function = type_.get_pointee()
    while function.kind in (TypeKind.UNEXPOSED, TypeKind.ELABORATED) and function.get_canonical() != function:
        named = function.get_named_type()  # without the parentheses, with the names of typedefs
        function = named if named.kind != TypeKind.INVALID and named != function else function.get_canonical()
    return {"result": described(function.get_result()), "parameters": [described(t) for t in function.argument_types()]}


def described(type_):
    """A type: as C writes it, and taken apart: the name at its base, how many pointers, whether what they lead to is const, array."""
    if "(unnamed" in type_.spelling:  # a union: its members are reached in C only
        return {"c": "union", "base": "union"}
    out = {"c": type_.spelling.replace("_Bool", "bool")}
    pointers, array = 0, None
    while type_.kind in (TypeKind.POINTER, TypeKind.CONSTANTARRAY, TypeKind.INCOMPLETEARRAY):
        if type_.kind == TypeKind.POINTER:
            pointers += 1
            type_ = type_.get_pointee()
            if type_.kind in (TypeKind.FUNCTIONPROTO, TypeKind.FUNCTIONNOPROTO):
                return out | {"base": "function"}
        else:
            array = type_.element_count if type_.kind == TypeKind.CONSTANTARRAY else 0
            type_ = type_.element_type
    out["base"] = re.sub(r"^(const |struct |enum )+", "", type_.spelling).replace("_Bool", "bool")
    if pointers:
        out["pointers"] = pointers
    if array is not None:
        out["array"] = array
    if type_.is_const_qualified():
        out["const"] = True
    return out


def is_callback(type_):
    return type_.kind == TypeKind.POINTER and type_.get_pointee().get_canonical().kind == TypeKind.FUNCTIONPROTO


def parameters_of(cursor, takes):
    out = []
    for i, argument in enumerate(cursor.get_arguments()):
        kind = described(argument.type)
        out.append({"name": argument.spelling, "type": kind, "ownership": ownership(cursor.spelling, i, kind, takes)})
        role = role_of(cursor.spelling, argument.spelling, kind)
        if role != "in":
            out[-1]["role"] = role
    return out


def ownership(function, index, kind, takes):
    if index + 1 in takes or index in TAKES.get(function, []):
        return "take"
    if index == 0 and ENDS.search(function) and kind.get("pointers"):
        return "take"
    if kind["c"] == "BurnTensor *const *" and function != "burn_op_calls":
        return "take"  # lists of tensors are taken, in all functions
    if kind["base"] in HOLDERS and not kind.get("pointers"):
        return "take"
    if kind["base"] == "BurnDataset" and not kind.get("const") and not function.endswith("_clone"):
        return "take"  # datasets that are kept are taken; the others are const
    if kind["c"] == "BurnDataset *const *":
        return "take"
    return "borrow" if kind.get("pointers") or kind["base"] == "function" else "copy"


def role_of(function, name, kind):
    if (function, name) in ROLES:
        return ROLES[function, name]
    if kind["c"] == "BurnStatus *":
        return "status"
    if kind.get("pointers") == 2 and "*const" not in kind["c"]:
        return "out"
    if name != "data" and kind["c"] == f"{kind['base']} *" and re.fullmatch(r"bool|int|double|\w+_t", kind["base"]) and kind["base"] not in NOT_SCALARS:
        return "out"
    return "in"


def result_of(function, kind, marks):
    if kind["c"] == "void":
        return {"type": kind}
    gives = "gives" in marks or ("use_result" in marks and kind.get("pointers") and not kind.get("const")) or function.endswith("_clone")
    owned = kind.get("pointers") or kind["base"] in HOLDERS
    return {"type": kind, "ownership": ("give" if gives or not kind.get("pointers") else "borrow") if owned else "copy"}


def function_of(cursor, header, doc):
    marks = annotations(cursor)
    takes = {int(n) for mark in marks if mark.startswith("takes ") for n in mark[6:].split(",")}
    out = {"name": cursor.spelling, "header": header, "doc": doc, "result": result_of(cursor.spelling, described(cursor.result_type), marks),
           "parameters": parameters_of(cursor, takes)}
    if "use_result" in marks or "gives" in marks:
        out["use_result"] = True
    if "api" not in marks:
        out["inline"] = True
    if cursor.type.is_function_variadic():
        out["variadic"] = True
    return out


def field_of(cursor, comments):
    out = {"name": cursor.spelling, "type": described(cursor.type)}
    if is_callback(cursor.type):
        kind = cursor.type if cursor.type.kind == TypeKind.POINTER else cursor.type.get_declaration().underlying_typedef_type
        out["callback"] = named_callback(cursor, callback(kind))
    marks = {mark.partition(" ")[0]: mark.partition(" ")[2] for mark in annotations(cursor)}
    doc = marks.get("doc") if "doc" in marks else comments.own(cursor.extent.start.line, cursor.extent.end.line) if comments else ""
    if doc:
        out["doc"] = doc
    out |= {"required": True} if "required" in marks else {}
    return out | ({"default": marks["default"]} if "default" in marks else {})


def named_callback(cursor, kind):
    names = [child.spelling for child in cursor.get_children() if child.kind == CursorKind.PARM_DECL]
    if len(names) == len(kind["parameters"]):
        kind["parameters"] = [{"name": name, "type": type_} for name, type_ in zip(names, kind["parameters"])]
    else:
        kind["parameters"] = [{"name": f"argument{i}", "type": type_} for i, type_ in enumerate(kind["parameters"])]
    return kind


def constants_of(unit, headers, known):
    """Macros without parameters that are a number or a text."""
    out = []
    for cursor in unit.cursor.get_children():
        if cursor.kind == CursorKind.MACRO_DEFINITION and cursor.location.file and cursor.location.file.name in headers:
            tokens = [token.spelling for token in cursor.get_tokens()][1:]
            value = "".join(tokens)
            if len(tokens) == 1 and re.match("BURN_(?!INTERNAL_)", cursor.spelling) and re.fullmatch(r'-?[\d.]+(e-?\d+)?[uU]?|"[^"]*"', value):
                header, comments = known[cursor.location.file.name]
                line = cursor.extent.start.line
                out.append({"name": cursor.spelling, "header": header, "value": value, "doc": comments.of(line, line)})
    return out


class Api:
    def __init__(self):
        self.paths = public_headers()
        self.unit = parse(self.paths)
        names = {str(path) for path in self.paths}
        beside = {node.include.name for node in self.unit.get_includes() if "/plugin-api/include/" in node.include.name}
        self.headers = {}
        for name in sorted(names | beside):
            short = name.split("/include/")[1]
            if not name.endswith(".def"):
                self.headers[name] = short, Comments(self.unit, pathlib.Path(name))
        self.public = names
        self.made = {name: (kind.lower(), rows) for path in self.paths for kind, name, rows, _ in MACRO.findall(path.read_text())
                     if kind != "LAYER"}
        self.rows, self.functions, self.types, self.sections = {}, {}, {}, {}
        self.collect()

    def collect(self):
        cursors = list(self.unit.cursor.get_children())
        for cursor in cursors:
            if cursor.kind == CursorKind.STRUCT_DECL and cursor.spelling.startswith("api_"):
                self.rows[cursor.spelling[4:]] = [field_of(c, None) for c in cursor.get_children() if c.kind == CursorKind.FIELD_DECL]
        for cursor in cursors:
            file = cursor.location.file.name if cursor.location.file else ""
            if file not in self.headers:
                continue
            header, comments = self.headers[file]
            doc = comments.of(cursor.extent.start.line, cursor.extent.end.line)
            if cursor.kind == CursorKind.FUNCTION_DECL and file in self.public and not re.search(r"__", cursor.spelling):
                old = self.functions.get(cursor.spelling)
                if not old or not old["doc"]:
                    self.functions[cursor.spelling] = function_of(cursor, header, doc)
                    self.sections[cursor.spelling] = comments.of_section(cursor.extent.start.line)
            elif cursor.kind in (CursorKind.STRUCT_DECL, CursorKind.ENUM_DECL, CursorKind.TYPEDEF_DECL):
                self.type(cursor, header, doc, comments)

    def type(self, cursor, header, doc, comments):
        name = cursor.spelling
        base = {"name": name, "header": header, "doc": doc}
        if cursor.kind == CursorKind.ENUM_DECL:
            values = [{"name": c.spelling, "value": c.enum_value, "doc": comments.own(c.extent.start.line, c.extent.end.line)}
                      for c in cursor.get_children() if c.kind == CursorKind.ENUM_CONSTANT_DECL]
            values = [v if v["doc"] else {"name": v["name"], "value": v["value"]} for v in values]
            name = name if name and "(" not in name else "one of " + values[0]["name"]
            self.types[name] = base | {"name": name, "kind": "enum", "values": values}
        elif cursor.kind == CursorKind.TYPEDEF_DECL:
            under = cursor.underlying_typedef_type
            if is_callback(under):
                kind = named_callback(cursor, callback(under))
                self.types[name] = base | {"kind": "callback", "result": kind["result"], "parameters": kind["parameters"]}
            elif under.get_canonical().kind not in (TypeKind.RECORD, TypeKind.ENUM) or described(under)["base"] != name:
                self.types[name] = base | {"kind": "alias", "type": described(under)}
        elif not name.startswith("api_"):
            self.struct(cursor, name, base, comments)

    def struct(self, cursor, name, base, comments):
        if not cursor.is_definition():
            self.types.setdefault(name, base | {"kind": "handle"})
            return
        made, _ = self.made.get(name, ("struct", ""))
        kind = made.replace("_optional", "") if made in ("config", "config_optional", "module", "module_stateless", "module_variant") else "struct"
        fields = self.rows.get(name)
        if fields is None or kind == "module_variant":
            members = cursor.type.get_fields() if kind != "module_stateless" else []
            fields = [field_of(c, comments) for c in members]
        out = base | {"kind": kind, "fields": fields}
        if kind == "module_variant":
            out["cases"] = self.rows[name]
            out["fields"] = [f for f in out["fields"] if f["name"] == "kind"]
        if kind == "module_variant" or any(f["type"]["base"] == "union" for f in out["fields"]):
            out |= {"bytes": cursor.type.get_size(), "align": cursor.type.get_align()}  # what the fields do not tell (LP64)
        old = self.types.get(name, {})
        if not out["doc"] and old.get("doc"):
            out["doc"] = old["doc"]
        self.types[name] = out

    def used(self):
        """All types of public headers, and what they lead to in those of plugins: behind pointers only as handles."""
        wanted = {t["name"] for t in self.types.values() if t["header"] in {self.headers[p][0] for p in self.public}}
        lists = [f["parameters"] + [f["result"]] for f in self.functions.values()]
        todo = [entry["type"]["base"] for entries in lists for entry in entries] + sorted(wanted)
        by_value = self.by_value()
        done = set()
        while todo:
            name = todo.pop()
            if name in done or name not in self.types:
                continue
            done.add(name)
            entry = self.types[name]
            if entry["header"].startswith("burn/plugin/") and name not in by_value and entry["kind"] == "struct":
                self.types[name] = {key: entry[key] for key in ("name", "header", "doc")} | {"kind": "handle"}
                continue
            for part in entry.get("fields", []) + entry.get("cases", []) + entry.get("parameters", []):
                todo += [part["type"]["base"]] + [p["type"]["base"] for p in part.get("callback", {}).get("parameters", [])]
            todo += [entry["type"]["base"]] if "type" in entry else []
        tables = {"status.h": ("BurnStatusCode",), "types.h": ("BurnDTypeNumber", "BurnKind")}
        return done | {name for names in tables.values() for name in names}

    def by_value(self):
        """Structs that public functions and structs have as values, and so what is in them; and those whose members programs set."""
        todo = [p["type"] for f in self.functions.values() for p in f["parameters"] + [f["result"]]]
        public = {self.headers[path][0] for path in self.public}
        todo += [field["type"] for t in self.types.values() if t["header"] in public for field in t.get("fields", [])]
        found = {"BurnAttr", "BurnOpInfo", "BurnDeviceDescription"}
        for type_ in todo:
            if not type_.get("pointers") and type_["base"] in self.types and type_["base"] not in found:
                found.add(type_["base"])
                todo += [field["type"] for field in self.types[type_["base"]].get("fields", [])]
        return found

    def data(self):
        used = self.used()
        trust = Trust(self.types, self.sections)
        for function in self.functions.values():
            trust.mark(function)
        version = re.search(r"project\(burn VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
        entries = sorted((t for t in self.types.values() if t["name"] in used), key=lambda t: t["name"])
        constants = constants_of(self.unit, self.public, self.headers)
        return {"version": version, "functions": sorted(self.functions.values(), key=lambda f: f["name"]),
                "types": entries, "constants": sorted(constants, key=lambda c: c["name"])}


class Trust:
    """Which pointers a function looks behind without looking at them first, as the head of burn/error.h says."""

    def __init__(self, types, sections):
        self.sections = sections
        self.kinds = {name: entry["kind"] for name, entry in types.items()}

    def mark(self, function):
        tells = self.tells(function)
        for parameter in function["parameters"]:
            if self.needed(function, parameter) and (not tells or self.is_asked(function, parameter)):
                parameter["trusted"] = True

    def tells(self, function):
        """Whether there is a way to say that an argument is NULL: a status, a tensor, or what has tensors, whose use fails then."""
        result = function["result"]["type"]
        by_value = not result.get("pointers") and (result["base"] in HOLDERS or self.kinds.get(result["base"], "").startswith("module"))
        return result["c"] in ("BurnStatus", "BurnTensor *") or by_value or any(p.get("role") == "status" for p in function["parameters"])

    @staticmethod
    def is_asked(function, parameter):
        return parameter["type"]["base"] in LEAVES and function["result"]["type"]["c"] != "BurnStatus"

    def needed(self, function, parameter):
        """Whether it is a pointer for which NULL has no meaning."""
        kind, name = parameter["type"], parameter["name"]
        is_pointer = kind.get("pointers") or "array" in kind or kind["base"] == "function" or self.kinds.get(kind["base"]) == "callback"
        is_handle = kind.get("pointers") == 1 and "array" not in kind and self.kinds.get(kind["base"]) == "handle"
        is_name = kind["c"] == "const char *" and name != "text"  # which is found nowhere
        if not is_pointer or is_handle or is_name or name == "context" or parameter.get("role", "in") != "in":
            return False
        said = function["doc"] + "\n\n" + self.sections[function["name"]]
        return not RELEASES.search(function["name"]) and not allows_null(said, name)


def allows_null(doc, name):
    """Whether a comment says what NULL means: "`config` NULL means the defaults", "settings (NULL: defaults)", "a group that is NULL has all"."""
    return bool(re.search(rf"\b{name}`?(?:\s+may\s+be|\s+that\s+is|\s+is)?\s+\(?NULL\b", doc))


def complaints(data):
    """What of TAKES the headers do not know."""
    known = {f["name"]: len(f["parameters"]) for f in data["functions"]}
    return [f"make_api: TAKES names {name}, or a parameter of it, which is not there" for name, takes in TAKES.items()
            if max(takes) >= known.get(name, 0)]


def text_of(data):
    """JSON with a line per function, type and constant, so that a difference shows what changed."""
    lists = [f'"{key}": [\n' + ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in data[key]) + "\n]"
             for key in ("functions", "types", "constants")]
    return f'{{"version": "{data["version"]}",\n' + ",\n".join(lists) + "}\n"


def main():
    data = Api().data()
    wrong = complaints(data)
    if wrong:
        sys.exit("\n".join(wrong))
    text = text_of(data)
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(text)
        return 0
    if TARGET.exists() and TARGET.read_text() == text:
        return 0
    print("sdk/api/burn.json is not up to date; run sdk/api/make_api.py")
    return 1


sys.exit(main())
