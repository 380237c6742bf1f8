#!/usr/bin/env python3
"""Writes what burn._c is made of from sdk/api/burn.json: functions.c with a wrapper per function, tables of types and trampolines for
callbacks; the stubs _c.pyi; and the layers, optimizers, schedules and metrics with their configs as keyword arguments (make_python.py).

    make_module.py FOLDER INCLUDE      functions.c goes to FOLDER, the Python files to FOLDER/burn; INCLUDE has the headers of an installed Burn"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "api"))
import make_python as python  # noqa: E402
from api import ENDS, SCALARS, Api  # noqa: E402

LIMITS = {"int": "INT_MIN, INT_MAX", "int32_t": "INT32_MIN, INT32_MAX", "int64_t": "INT64_MIN, INT64_MAX", "char": "CHAR_MIN, CHAR_MAX",
          "size_t": "SIZE_MAX", "uint64_t": "UINT64_MAX", "uint32_t": "UINT32_MAX", "unsigned int": "UINT_MAX", "uint8_t": "UINT8_MAX"}
NUMBERS = {"bool": "PyBool_FromLong({})", "signed": "PyLong_FromLongLong({})", "unsigned": "PyLong_FromUnsignedLongLong({})",
           "float": "PyFloat_FromDouble({})"}
# What goes on looking at the arguments of a call: the handle that it makes ("result"), one of the arguments by name, or the process
# ("process") until the next such call. A struct by value that has pointers holds them all, without a row here.
HOLDERS = {"burn_calibration_begin": "result", "burn_dqn_create": "result", "burn_device_open_with_host": "result", "burn_loader_start": "result",
           "burn_optimizer_create": "result", "burn_staging_open": "result", "burn_staging_take": "result", "burn_store_open_bytes": "result",
           "burn_value_decode_in_place": "result", "burn_zip_open": "result", "burn_step_give": "output", "burn_guess_add": "guess",
           "burn_optimizer_with_group": "optimizer", "burn_multi_gradients_params_add": "multi", "burn_config_set_bytes": "to",
           "burn_interrupter_on_signals": "process"}
ENDED_BY = {"BurnBatches": "burn_batches_stop"}  # beside api.drop: its status is told where it is called
BORROWED_STATUS = ("burn_status_make", "burn_status_make_at", "burn_tensor_failed")
# Their results borrow handles that lie in the array or struct that they are given: the tensors are cloned, the struct lives on.
HEAD = "/* Written by sdk/python/make_module.py from sdk/api/burn.json. */\n#include \"values.h\"\n\n#include <limits.h>\n#include <string.h>\n\n"


def viewed(type_):
    """What makes the result of a pointer to a struct."""
    return "result_constant" if type_.get("const") else "result_view"


class Wrapper:
    """The wrapper of one function: lines that convert arguments, what is passed, lines that convert results."""

    def __init__(self, api, function):
        self.api, self.function = api, function
        self.names, self.before, self.taking, self.passed, self.outputs, self.status = [], [], [], [], [], False
        self.alone = []  # what is checked when all arguments are there
        parameters = function["parameters"]
        for i, parameter in enumerate(parameters):
            if api.counts(parameters, i):
                self.count(parameters, i)
            elif self.is_room_of(parameters, i):
                self.passed.append(f"({parameter['type']['c']}){parameters[i - 1]['name']}_count")
            else:
                self.parameter(parameter)
            if parameter.get("trusted") and not self.counted(parameter):  # of no items C looks at none
                self.required(parameter)

    def count(self, parameters, i):
        """Of the list before it; two lists before it have it in common, where NULL has any."""
        last, scalar = parameters[i - 1]["name"], parameters[i]["type"]["c"]
        first = parameters[i - 2] if i > 1 else None
        if first and self.is_list(first["type"]):
            other, at = first["name"], self.names.index(last)
            self.before.append(f"const size_t {last}_both = argument_count(call, {at}, {last}, {last}_count, {other}_count);")
            last = f"{last}_both"
        else:
            last = f"{last}_count"
        self.passed.append(f"({scalar}){last}")

    def is_room_of(self, parameters, i):
        """Whether parameter i is how many items the room before it is for."""
        return i > 0 and parameters[i - 1].get("role") == "room" and self.api.scalar(parameters[i]["type"]["base"]) == "size_t" and \
            not self.api.depth(parameters[i]["type"])

    def check_room(self, p, i):
        """Of a room without a number: there is an item for each of a list that is given."""
        parameters = self.function["parameters"]
        at = parameters.index(p)
        given = [parameters[k - 1]["name"] for k in range(1, at) if self.api.counts(parameters, k)]
        if given and not (at + 1 < len(parameters) and self.is_room_of(parameters, at + 1)):
            name = p["name"]
            self.before.append(f"(void)argument_count(call, {i}, {name}, {name}_count, {given[0]}_count);")

    def is_list(self, type_):
        """Whether list() converts it."""
        base = type_["base"]
        single = self.api.depth(type_) == 1 and (base in ("char", "void") or self.api.kind(base) == "handle" or self.api.struct(base))
        return bool(self.api.depth(type_)) and "const" in type_["c"] and not single

    def argument(self, name):
        self.names.append(name)
        return len(self.names) - 1

    def parameter(self, p):
        api, name, type_, role = self.api, p["name"], p["type"], p.get("role", "in")
        base, depth = type_["base"], api.depth(type_)
        scalar, struct, handle = api.scalar(base), api.struct(base), api.kind(base) == "handle"
        if role == "status":
            self.status = True
            self.before.append("BurnStatus status = BURN_OK;")
            self.passed.append("&status")
        elif role == "out":
            self.output(p, scalar, struct, handle)
        elif role == "room":
            i = self.argument(name)
            self.before += [f"size_t {name}_count;", f"void *{name} = argument_room(call, {i}, &{name}_count);"]
            self.passed.append(f"({base} **){name}")
            if not self.function["name"].startswith("burn_op_call"):  # whose results are as many as the op has
                self.check_room(p, i)
            self.outputs.append(f"result_room(&burn_python_handles[HANDLE_{base}], {name}, {name}_count)")
        elif role == "inout":
            i = self.argument(name)
            self.before.append(f"{base} *{name} = argument_handle(call, {i}, &burn_python_handles[HANDLE_{base}]);")
            self.taking.append(f"{name} = take_handle(call, {i}, &burn_python_handles[HANDLE_{base}], {name});")
            self.passed.append(f"&{name}")
            self.outputs.append(self.handle_result(base, name))
        elif type_.get("array") and type_.get("const") and scalar:
            self.before.append(f"const {base} *{name} = argument_array(call, {self.argument(name)}, BURN_PYTHON_KIND(({base})0), sizeof({base}), {type_['array']});")
            self.passed.append(name)
        elif not depth and scalar:
            self.before.append(f"const {type_['c']} {name} = ({type_['c']}){self.number(scalar, self.argument(name))};")
            self.passed.append(name)
        elif not depth and struct:
            self.value(p, struct)
        elif not depth:  # a function
            self.before.append(f"const uintptr_t {name} = (uintptr_t)argument_address(call, {self.argument(name)});")
            self.passed.append(f"({type_['c']}){name}")
        else:
            self.pointer(p, scalar, struct, handle, depth)

    @staticmethod
    def number(scalar, i):
        family = SCALARS[scalar]
        return f"argument_{dict(float='double').get(family, family)}(call, {i}" + (f", {LIMITS[scalar]})" if family in ("signed", "unsigned") else ")")

    def value(self, p, struct):
        name, i = p["name"], self.argument(p["name"])
        self.before += [f"{p['type']['c']} {name};", f"memset(&{name}, 0, sizeof {name});",
                        f"argument_value(call, {i}, &burn_python_structs[STRUCT_{struct}], &{name});"]
        if f"{struct}_clone" in self.api.functions:  # a variant is made of a module by value, and both would end its tensors
            self.taking.append(f"{name} = {struct}_clone(&{name});")
        if p["ownership"] == "take" and not ENDS.search(self.function["name"]):
            self.taking.append(f"take_value(&burn_python_structs[STRUCT_{struct}], &{name});")
        if p["ownership"] == "take" and ENDS.search(self.function["name"]):
            self.taking.append(f"end_value(call, {i}, &burn_python_structs[STRUCT_{struct}], &{name});")
        self.passed.append(name)

    def output(self, p, scalar, struct, handle):
        name, base = p["name"], p["type"]["base"]
        if p["type"].get("pointers") == 1:
            self.before.append(f"{base} {name} = 0;")
            self.outputs.append(NUMBERS[SCALARS[scalar]].format(name))
        else:
            const = "const " if p["type"].get("const") else ""
            self.before.append(f"{const}{p['type']['c'].removeprefix('const ').rstrip('* ')} *{name} = NULL;")
            if handle:
                self.outputs.append(self.handle_result(base, name))
            elif struct:
                self.outputs.append(f"{viewed(p['type'])}(&burn_python_structs[STRUCT_{struct}], {name}, NULL)")
            else:
                self.outputs.append(f"result_text({name})" if base == "char" else f"result_address({name})")
        self.passed.append(f"&{name}")

    def pointer(self, p, scalar, struct, handle, depth):
        name, type_ = p["name"], p["type"]
        base, i = type_["base"], self.argument(name)
        const = "const" in type_["c"]
        if depth == 1 and handle:
            self.before.append(f"{base} *{name} = argument_handle(call, {i}, &burn_python_handles[HANDLE_{base}]);"
                               if not base.startswith("DL") else f"struct {base} *{name} = argument_number_address(call, {i});")
            if p["ownership"] == "take" and not base.startswith("DL"):
                if ENDS.search(self.function["name"]) or not self.api.clone(base):
                    self.alone.append(f"argument_alone(call, {i});")
                take = f"take_always(call, {i}, {name})" if ENDS.search(self.function["name"]) else \
                    f"take_handle(call, {i}, &burn_python_handles[HANDLE_{base}], {name})"
                self.taking.append(f"{name} = {take};")
        elif depth == 1 and base == "char" and const:
            self.before.append(f"const char *{name} = argument_text(call, {i});")
            self.sized(p, i, "1")
        elif depth == 1 and struct and not self.counted(p):
            argument = "argument_struct" if type_.get("const") else "argument_written"
            self.before.append(f"{base} *{name} = {argument}(call, {i}, &burn_python_structs[STRUCT_{struct}]);")
            if not type_.get("const"):
                self.sized(p, i, f"sizeof({base})")
            if p["ownership"] == "take":
                self.before.append(f"{base} {name}_taken;")
                self.taking.append(f"if ({name}) {{ {name}_taken = *{name}; {name} = &{name}_taken; take_value(&burn_python_structs[STRUCT_{struct}], {name}); }}")
        elif const and base != "void" and (scalar or struct or handle) or (depth == 2 and base in ("void", "char")):
            self.list(p, i, scalar, struct, handle, depth)
            return
        else:
            written = "argument_number_address" if base == "FILE" else "argument_address" if const or base != "void" and scalar is None or name in ("context", "config") else "argument_writable"
            self.before.append(f"void *{name} = {written}(call, {i});")
            self.sized(p, i, f"sizeof({base})" if scalar else "1")
        self.passed.append(name)

    def sized(self, p, i, bytes_):
        """Of memory whose items are counted by the parameter after it, or by a shape."""
        parameters = self.function["parameters"]
        after = parameters[parameters.index(p) + 1:][:2]
        if p["type"].get("array"):
            self.alone.append(f"argument_fits(call, {i}, {p['type']['array']}, {'sizeof(void *)' if p['type'].get('pointers') else bytes_});")
        types = [other["type"]["c"] for other in after]
        if types[:1] == ["size_t"] and re.search("count$|bytes$|length$|capacity$", after[0]["name"]):
            self.alone.append(f"argument_fits(call, {i}, {after[0]['name']}, {bytes_});")
        elif p["type"]["c"] == "void *" and p["name"] == "out" and self.module():  # an object of its type
            module = self.module()
            self.alone.append(f"argument_fits(call, {i}, {module}.type ? {module}.type->bytes : 0, 1);")
        elif types[:1] == ["BurnShape"]:
            self.alone.append(f"argument_fits_shape(call, {i}, &{after[0]['name']}, {bytes_});")
        elif types == ["BurnDType", "BurnShape"]:
            self.alone.append(f"argument_fits_shape(call, {i}, &{after[1]['name']}, burn_dtype_bytes({after[0]['name']}));")
        elif self.api.scalar(p["type"]["base"]) and p["type"].get("pointers") and not p["type"].get("const"):
            self.alone.append(f"argument_fits(call, {i}, 1, {bytes_});")

    def module(self):
        return next((p["name"] for p in self.function["parameters"] if p["type"]["c"] == "BurnModule"), None)

    def required(self, p):
        """None is refused where C would look behind it."""
        type_, name = p["type"], p["name"]
        base = type_["base"]
        expected = self.api.struct(base) or ("a str" if type_["c"] == "const char *" else "a list" if self.is_list(type_) else
                                             "a function" if base == "function" or self.api.kind(base) == "callback" else "memory")
        self.before.append(f'argument_required(call, {self.names.index(name)}, (const void *){name}, "{expected}");')

    def counted(self, p):
        parameters = self.function["parameters"]
        at = parameters.index(p)
        return at + 1 < len(parameters) and self.api.counts(parameters, at + 1)

    def list(self, p, i, scalar, struct, handle, depth):
        name, base = p["name"], p["type"]["base"]
        if handle:
            kind, what, size = "KIND_HANDLE", f"&burn_python_handles[HANDLE_{base}]", "sizeof(void *)"
        elif depth == 2:
            kind, what, size = ("KIND_STRING" if base == "char" else "KIND_POINTER"), "NULL", "sizeof(void *)"
        elif struct:
            kind, what, size = "KIND_STRUCT", f"&burn_python_structs[STRUCT_{struct}]", f"sizeof({base})"
        else:
            kind, what, size = f"BURN_PYTHON_KIND(({base})0)", "NULL", f"sizeof({base})"
        function = "argument_list" if self.counted(p) else "argument_uncounted"
        self.before += [f"size_t {name}_count;", f"void *{name} = {function}(call, {i}, {kind}, {what}, {size}, &{name}_count);"]
        if not self.counted(p):
            self.before.append(f"(void){name}_count;")
            if scalar:
                self.sized(p, i, f"sizeof({base})")
        if handle and p["ownership"] == "take":
            self.taking.append(f"take_list(&burn_python_handles[HANDLE_{base}], {name}, {name}_count);")
        if struct and p["ownership"] == "take" or base == "BurnQuantTensor":
            self.taking.append(f"for (size_t k = 0; k < {name}_count; k++) take_value(&burn_python_structs[STRUCT_{struct}], ({base} *){name} + k);")
        self.passed.append(name)

    def handle_result(self, base, name):
        if HOLDERS.get(self.function["name"]) == "result":
            return f"result_holding(call, &burn_python_handles[HANDLE_{base}], {name})"
        return f"result_tensor({name})" if base == "BurnTensor" else \
            f"result_address({name})" if base.startswith("DL") else f"result_handle(&burn_python_handles[HANDLE_{base}], {name}, NULL)"

    def result(self):
        """How C's result becomes Python's, as an expression of `result`; None for void."""
        type_, own = self.function["result"]["type"], self.function["result"].get("ownership")
        base, depth = type_["base"], self.api.depth(type_)
        if type_["c"] == "void":
            return None
        if type_["c"] == "BurnStatus" and not any(p["type"]["c"] == "BurnStatus" for p in self.function["parameters"]) and \
                self.function["name"] not in BORROWED_STATUS:
            return "result_status(c_result)"
        owner = "call->arguments[0]" if self.names else "NULL"
        if not depth:
            scalar = self.api.scalar(base)
            if scalar:
                return NUMBERS[SCALARS[scalar]].format("c_result")
            info = f"&burn_python_structs[STRUCT_{self.api.struct(base)}]"
            looks = self.points(self.api.struct(base)) and any(p["type"].get("pointers") and p["ownership"] == "borrow" for p in self.function["parameters"])
            return f"result_value_holding(call, {info}, &c_result)" if looks else f"result_value({info}, &c_result)"
        if self.api.kind(base) == "handle" and depth == 1:
            if base == "BurnTensor":
                raw = "result_handle(&burn_python_handles[HANDLE_BurnTensor], c_result, NULL)"
                return raw if self.function["name"] == "burn_tensor_failed" else "result_tensor(c_result)" if own == "give" else "result_tensor(burn_clone(c_result))"
            if HOLDERS.get(self.function["name"]) == "result":
                return f"result_holding(call, &burn_python_handles[HANDLE_{base}], c_result)"
            owner = "NULL" if own == "give" else owner if self.names else "Py_None"
            return f"result_handle(&burn_python_handles[HANDLE_{base}], (void *)(uintptr_t)c_result, {owner})"
        if base == "char" and depth == 1:
            return "result_given_text(c_result)" if own == "give" else "result_text(c_result)"
        if self.api.struct(base) and depth == 1:
            return f"{viewed(type_)}(&burn_python_structs[STRUCT_{self.api.struct(base)}], c_result, {owner})"
        return "result_address(c_result)"

    def holding(self):
        holder = HOLDERS.get(self.function["name"], "result")
        return [] if holder == "result" else [f"hold_arguments(call, {-1 if holder == 'process' else self.names.index(holder)});"]

    def points(self, struct):
        """Whether a struct that is no module has pointers to what is not its own."""
        fields = self.api.types[struct].get("fields", [])
        return self.api.kind(struct) == "struct" and struct not in ("BurnParam", "BurnBuffer") and any(
            f["type"].get("pointers") and f["type"]["base"] != "BurnTensor" or self.api.struct(f["type"]["base"]) and not f["type"].get("pointers")
            and self.points(self.api.struct(f["type"]["base"])) for f in fields if "callback" not in f)

    def text(self):
        name, result = self.function["name"], self.result()
        passed = ", ".join(self.passed)
        if self.function.get("variadic"):
            passed = passed.replace("format", '"%s", format')
        kind = self.function["result"]["type"]["c"]
        lines = [f"static PyObject *call_{name}(Call *call) {{", "  (void)call;"] + [f"  {line}" for line in self.before]
        lines += [f"  {line}" for line in self.alone + self.holding()]
        lines += ["  if (call->failed) return NULL;"] * bool(self.names) + [f"  {line}" for line in self.taking]
        lines += [f"  {kind} c_result;" if result else "", "  PyThreadState *python_state = PyEval_SaveThread();",
                  f"  {'c_result = ' if result else ''}{name}({passed});", "  PyEval_RestoreThread(python_state);"]
        first = result or "result_none()"
        if self.status:
            drop = self.api.drop(self.function["result"]["type"]["base"])
            lines.append(f"  if (status != BURN_OK) {{ {f'if (c_result) {drop}(c_result);' if drop and result else ''} return result_status(status); }}")
        if self.outputs:
            lines.append(f"  PyObject *python_outputs[] = {{{', '.join(self.outputs)}}};")
            first = f"result_with({first}, {len(self.outputs)}, python_outputs)"
        lines += [f"  return {first};", "}"]
        names = ", ".join(f'"{n}"' for n in self.names) or "NULL"
        lines += [f"static const char *const names_{name}[] = {{{names}}};",
                  f'static const Function function_{name} = {{"{name}", call_{name}, {len(self.names)}, names_{name}}};', f"BURN_PYTHON_EXPOSE({name})"]
        return "\n".join(line for line in lines if line) + "\n"

    def is_method(self):
        first = self.function["parameters"][:1]
        return bool(first and first[0]["type"]["base"] == "BurnTensor" and self.api.depth(first[0]["type"]) == 1)


def c_text(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def member_line(api, struct, field):
    type_, name = field["type"], field["name"]
    base, pointers, array = type_["base"], type_.get("pointers", 0), type_.get("array")
    item = f"(({struct} *)0)->{name}" + ("[0]" if array is not None else "")
    what = "NULL"
    if base == "union":
        return None
    if "callback" in field or base == "function" or api.kind(base) == "callback":
        kind = "KIND_POINTER"
    elif base == "char" and array and not pointers:
        kind = "KIND_TEXT"
    elif pointers == 1 and base == "char" and type_.get("const"):
        kind = "KIND_STRING"
    elif pointers == 2 and base == "char" and array is None and type_.get("const"):
        kind = "KIND_STRINGS"
    elif type_["c"] == "BurnDevice *const *":  # of tensors every struct would have handles of its own
        kind, what = "KIND_HANDLES", f"&burn_python_handles[HANDLE_{base}]"
    elif pointers == 1 and api.kind(base) == "handle":
        kind, what = "KIND_HANDLE", f"&burn_python_handles[HANDLE_{base}]"
    elif pointers:
        kind = "KIND_POINTER"
        if pointers == 1 and api.struct(base):
            what = f"&burn_python_structs[STRUCT_{api.struct(base)}]"
    elif api.struct(base):
        kind, what = "KIND_STRUCT", f"&burn_python_structs[STRUCT_{api.struct(base)}]"
    else:
        kind = f"BURN_PYTHON_KIND({item})"
    return f'  {{"{name}", offsetof({struct}, {name}), sizeof({item}), {kind}, {array or 0}, {what}}},'


def tables(api):
    handles = [h["name"] for h in api.handles]
    lines = ["enum {"] + [f"  HANDLE_{name}," for name in handles] + ["};", "enum {"] + [f"  STRUCT_{s['name']}," for s in api.structs] + ["};"]
    for name, end in ENDED_BY.items():
        if end in api.functions:
            lines.append(f"static void drop_{name}(void *pointer) {{ if ({end}(pointer) != BURN_OK) return; }}")
    for name in handles:
        if api.drop(name):
            lines.append(f"static void drop_{name}(void *pointer) {{ {api.drop(name)}(pointer); }}")
        if api.clone(name):
            lines.append(f"static void *clone_{name}(void *pointer) {{ return {api.clone(name)}(pointer); }}")
    lines.append("HandleInfo burn_python_handles[] = {")
    for name in handles:
        lines.append(f'  {{"{name}", {f"drop_{name}" if api.drop(name) or ENDED_BY.get(name) in api.functions else "NULL"}, {f"clone_{name}" if api.clone(name) else "NULL"}, NULL}},')
    lines += ["};", f"const size_t burn_python_handle_count = {len(handles)};",
              "HandleInfo *const tensor_info = &burn_python_handles[HANDLE_BurnTensor], *const device_info = &burn_python_handles[HANDLE_BurnDevice];"]
    infos = []
    for s in api.structs:
        members = [line for line in (member_line(api, s["name"], f) for f in s["fields"]) if line] if s["kind"] != "module_stateless" else []
        if members:
            lines += [f"static const Member members_{s['name']}[] = {{"] + members + ["};"]
        described = f"{s['name']}_type" if f"{s['name']}_type" in api.functions else "NULL"
        module = "true" if s["kind"].startswith("module") else "false"
        holder = "true" if any("take" == p["ownership"] and p["type"]["c"] == s["name"] for f in api.functions.values() for p in f["parameters"]) or \
            any(f["result"].get("ownership") == "give" and f["result"]["type"]["c"] == s["name"] for f in api.functions.values()) or \
            s["name"] in ("BurnStepOutput", "BurnMeasured", "BurnLstmState", "BurnQuantParameters") else "false"
        rows = f"members_{s['name']}" if members else "NULL"
        infos.append(f'  {{"{s["name"]}", sizeof({s["name"]}), {rows}, {len(members)}, {described}, {module}, {holder}, NULL}},')
    return "\n".join(lines + ["StructInfo burn_python_structs[] = {"] + infos + ["};", f"const size_t burn_python_struct_count = {len(infos)};"]) + "\n\n"


class Trampoline:
    """A function of C that calls one of Python: its first parameter, the context, is a Python object."""

    def __init__(self, api, name, field, result, parameters):
        self.api, self.name, self.field, self.result, self.parameters = api, name, field, result, parameters

    def passed(self, i):
        p, type_ = self.parameters[i], self.parameters[i]["type"]
        api, base, depth, name = self.api, type_["base"], self.api.depth(type_), self.parameters[i]["name"]
        if not depth:
            return NUMBERS[SCALARS[api.scalar(base)]].format(name)
        follows = i + 1 < len(self.parameters) and self.parameters[i + 1]["name"] == "count"
        if depth == 1 and type_.get("const") and follows:
            kind, what = ("KIND_STRUCT", f"&burn_python_structs[STRUCT_{base}]") if api.struct(base) else (f"BURN_PYTHON_KIND(({base})0)", "NULL")
            return f"callback_list({kind}, {what}, sizeof({base}), {name}, count)"
        if depth == 1 and base == "char":
            return f"result_text({name})"
        if depth == 1 and api.kind(base) == "handle":
            return f"result_handle(&burn_python_handles[HANDLE_{base}], {name}, NULL)"
        if depth == 1 and api.struct(base):
            return f"{viewed(type_)}(&burn_python_structs[STRUCT_{api.struct(base)}], {name}, NULL)"
        return f"result_address({name})"

    def ending(self):
        c, base = self.result["c"], self.result["base"]
        if c == "void":
            return "", ""
        if c == "BurnStatus":
            return "BurnStatus c_out = BURN_OK;", "c_out = callback_status();"
        if c == "BurnTensor *":
            return "BurnTensor *c_out = NULL;", "c_out = callback_tensor(python_value);"
        if self.api.struct(base):
            failed = {"BurnStepOutput": 'burn_step_give(&c_out, "loss", burn_tensor_failed(callback_status()))',
                      "BurnMeasured": "c_out.numbers = burn_tensor_failed(callback_status())"}[base]
            return f"{c} c_out;", f"callback_value(python_value, &burn_python_structs[STRUCT_{base}], &c_out); if (burn_python_pending()) {failed};"
        family = SCALARS[self.api.scalar(base)]
        return f"{c} c_out = 0;", f"c_out = ({c})callback_{dict(bool='bool', float='double').get(family, 'integer')}(python_value);"

    def text(self):
        declared = ", ".join(p["type"]["c"] + ("" if p["type"]["c"].endswith("*") else " ") + p["name"] for p in self.parameters)
        arguments = "".join(", " + self.passed(i) for i in range(1, len(self.parameters)))
        first, last = self.ending()
        field = f'"{self.field}"' if self.field else "NULL"
        lines = [f"static {self.result['c']} trampoline_{self.name}({declared}) {{", f"  {first}" if first else "",
                 "  const PyGILState_STATE python_state = PyGILState_Ensure();",
                 f"  PyObject *python_value = call_back({self.parameters[0]['name']}, {field}, {len(self.parameters) - 1}{arguments});",
                 f"  {last}" if last else "", "  Py_XDECREF(python_value);", "  PyGILState_Release(python_state);", "  return c_out;" if first else "", "}"]
        return "\n".join(line for line in lines if line) + "\n"


def trampolines(api):
    found = []
    for s in api.structs:
        for field in s["fields"]:
            parameters = field.get("callback", {}).get("parameters", [])
            if parameters and parameters[0]["name"] in ("context", "config"):
                found.append((f"{s['name']}.{field['name']}", Trampoline(api, f"{s['name']}_{field['name']}", field["name"], field["callback"]["result"], parameters)))
    for c in api.callbacks:
        if c["parameters"] and c["parameters"][0]["name"] == "context":
            found.append((c["name"], Trampoline(api, c["name"], None, c["result"], c["parameters"])))
    types = [n for n, f in api.functions.items() if n.endswith("_type") and not f.get("inline") and not f["parameters"]]
    lines = [t.text() for _, t in found] + ["const Callback burn_python_callbacks[] = {\n"]
    lines += [f'  {{"{name}", (uintptr_t)trampoline_{t.name}}},\n' for name, t in found]
    lines += [f'  {{"{name}", (uintptr_t){name}}},\n' for name in types]
    return "".join(lines) + f"}};\nconst size_t burn_python_callback_count = {len(found) + len(types)};\n\n"


def numbers(api):
    values = [v["name"] for e in api.enums for v in e["values"]]
    lines = [f'  {{"{name}", {name}}},\n' for name in values]
    return "const Constant burn_python_constants[] = {\n" + "".join(lines) + f"}};\nconst size_t burn_python_constant_count = {len(values)};\n"


def functions_text(api, wrappers):
    methods = [w for w in wrappers if w.is_method()]
    headers = sorted({f["header"] for f in api.functions.values()})
    lines = [HEAD.replace("\n#include <limits", "\n" + "".join(f"#include <{h}>\n" for h in headers) + "#undef burn_status_make\n#include <limits"), tables(api)] + [w.text() for w in wrappers] + [f"BURN_PYTHON_METHOD({w.function['name']})\n" for w in methods]
    for array, chosen, prefix in (("functions", wrappers, "python"), ("tensor_methods", methods, "method")):
        lines.append(f"PyMethodDef burn_python_{array}[] = {{\n")
        for w in chosen:
            name = w.function["name"]
            shown = name if prefix == "python" else python.short(name)
            doc = c_text(f"{name}({', '.join(w.names)})\n\n{w.function['doc']}")
            lines.append(f'  {{"{shown}", (PyCFunction)(void (*)(void)){prefix}_{name}, METH_VARARGS | METH_KEYWORDS, {doc}}},\n')
        lines.append("  {NULL, NULL, 0, NULL}};\n")
    return "".join(lines) + trampolines(api) + numbers(api)


def main():
    folder = pathlib.Path(sys.argv[1])
    (folder / "burn").mkdir(parents=True, exist_ok=True)
    api = Api(include=sys.argv[2])
    wrappers = [Wrapper(api, function) for function in api.functions.values()]
    optimizers = python.makers(api, "burn_", "_create", "BurnOptimizer"), "Optimizer", "Optimizers, with Burn's defaults"
    schedules = python.makers(api, "burn_schedule_", "", "BurnSchedule"), "Schedule", "Learning rates that change during a run"
    imports = "from .config import _c_value, configured  # noqa: F401\nfrom .optimizer import {}  # noqa: F401\n"
    files = {"functions.c": functions_text(api, wrappers), "burn/_c.pyi": python.Stub(api).text(wrappers),
             "burn/nn.py": python.layers_text(api, Wrapper), "burn/metric.py": python.metrics_text(api),
             "burn/optim.py": python.configured_text(api, *optimizers, imports.format("Lbfgs, Optimizer")),
             "burn/schedule.py": python.configured_text(api, *schedules, imports.format("Schedule, Sequential, WarmUp"))}
    for name, text in files.items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    main()
