#!/usr/bin/env python3
"""Writes record_golden.h beside this file: the bytes of a .bin and of JSON records, made from the description of the formats
alone (serde's data model, bincode's standard configuration, serde_json), without a line of ours.

The structs are those that Burn's recorders serialize: the .bin that of 0.21, the JSON that of 0.20. The bytes have been compared
with those of the crates bincode 2.0.0-rc.3 and serde_json 1.0.140, given the same structs with serde's derive: they are equal.

Run: python3 tests/golden/make_record_golden.py
"""
import json
import os
import struct


def settings(recorder, version):
    form = f"burn_core::record::file::{recorder}<burn_core::record::settings::FullPrecisionSettings>"
    return {"float": "f32", "int": "i32", "format": form, "version": version, "settings": "FullPrecisionSettings"}


def count_of(shape):
    count = 1
    for size in shape:
        count *= size
    return count


def values(shape, first):
    return struct.pack(f"<{count_of(shape)}f", *[first + i for i in range(count_of(shape))])


# -- bincode: fields one after the other, without names ----------------------------------------------------------------

def integer(value):
    for low, form, limit in ((None, "<B", 251), (251, "<H", 1 << 16), (252, "<I", 1 << 32), (253, "<Q", 1 << 64)):
        if value < limit:
            return (b"" if low is None else bytes([low])) + struct.pack(form, value)
    raise ValueError(value)


def text(value):
    return integer(len(value.encode())) + value.encode()


EMPTY = NONE = b"\0"
DTYPES = ["F64", "F32", "Flex32", "F16", "BF16", "I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8", "Bool", "QFloat"]


def some(value):
    return b"\1" + value


def param(identity, shape, first):
    data = values(shape, first)
    return (text(identity) + integer(len(data)) + data + integer(len(shape)) + b"".join(map(integer, shape))
            + integer(DTYPES.index("F32")))


def linear(weight, bias, first):
    return param(weight, [3, 2], first) + (some(param(bias, [2], first + 6)) if bias else NONE)


def conv2d(weight, bias, first):
    constants = EMPTY * 5  # stride, kernel_size, dilation, groups, padding
    return param(weight, [2, 1, 1, 40], first) + (some(param(bias, [2], first + 80)) if bias else NONE) + constants


def net():
    convs = integer(2) + conv2d("0000000000002", "0000000000004", 1) + conv2d("0000000000006", None, 101)
    head = integer(1) + linear("0000000000008", None, 201)  # the second case
    option = some(linear("000000000000a", "000000000000c", 301))
    return convs + head + option + NONE + EMPTY + linear("000000000000e", "000000000000g", 401)


def net_bin():
    return b"".join(map(text, settings("BinFileRecorder", "0.21.0").values())) + net()


# -- JSON --------------------------------------------------------------------------------------------------------------

def linear_json(recorder):
    weight = {"id": "0000000000002", "param": {"bytes": list(values([3, 2], 1)), "shape": [3, 2], "dtype": "F32"}}
    return {"metadata": settings(recorder, "0.20.1"), "item": {"weight": weight, "bias": None}, "_b": None}


def pretty():
    return json.dumps(linear_json("PrettyJsonFileRecorder"), indent=2).encode()


def compact():
    return json.dumps(linear_json("JsonGzFileRecorder"), separators=(",", ":")).encode()


def array(name, data):
    lines, line = [], "   "
    for byte in data:
        if len(line) > 112:
            lines.append(line)
            line = "   "
        line += f" {byte},"
    return f"static const unsigned char {name}[] = {{\n" + "\n".join(lines + [line]) + "\n};\n"


def main():
    parts = ["/* record_golden.h - records in Burn's formats, written by make_record_golden.py. */",
             "#ifndef BURN_RECORD_GOLDEN_H", "#define BURN_RECORD_GOLDEN_H", "", "/* clang-format off */", array("golden_bin", net_bin()),
             array("golden_json", pretty()), array("golden_json_compact", compact()) + "/* clang-format on */", "", "#endif", ""]
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "record_golden.h"), "w") as file:
        file.write("\n".join(parts))


if __name__ == "__main__":
    main()
