#!/usr/bin/env python3
"""Writes data_golden.h beside this file: files as other tools make them (NumPy, Pillow, Python's sqlite3, Hugging Face's tokenizers),
and what those tools read from them, without a line of ours.

Run: python3 tests/golden/make_data_golden.py, with numpy, pillow and tokenizers installed
"""
import io
import os

import numpy

OUT = []


def array(name, data, form="unsigned char"):
    texts = [repr(v) for v in data]
    lines, line = [], "   "
    for text in texts:
        if len(line) + len(text) + 2 > 118:
            lines.append(line)
            line = "   "
        line += f" {text},"
    lines.append(line)
    OUT.append(f"BURN_UNUSED static const {form} {name}[] = {{\n" + "\n".join(lines) + "\n};\n")


def saved(save, *args, **kwargs):
    out = io.BytesIO()
    save(out, *args, **kwargs)
    return out.getvalue()


def numpy_files():
    x = numpy.arange(6, dtype="<f4").reshape(2, 3) / 2
    array("npy_f32", saved(numpy.save, x))
    array("npy_fortran", saved(numpy.save, numpy.asfortranarray(x)))
    array("npy_big", saved(numpy.save, x.astype(">f8")))
    array("npy_scalar", saved(numpy.save, numpy.int64(-7)))
    array("npy_turned", saved(numpy.save, numpy.asfortranarray(numpy.arange(24, dtype="<i2").reshape(2, 3, 4))))
    array("npy_unsigned", saved(numpy.save, numpy.arange(3, dtype="<u2")))
    array("npy_object", saved(numpy.save, numpy.array([{}, []], dtype=object)))
    array("npy_struct", saved(numpy.save, numpy.zeros(2, dtype=[("a", "<i4"), ("b", "<f4")])))
    out = io.BytesIO()
    numpy.lib.format.write_array(out, x.astype("<f2"), version=(2, 0))
    array("npy_version_2", out.getvalue())
    y = numpy.array([3, 1], dtype="<i8")
    array("npz_stored", saved(numpy.savez, x=x, y=y))
    array("npz_deflated", saved(numpy.savez_compressed, x=x, y=y, flags=numpy.array([True, False])))


def main():
    numpy_files()
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data_golden.h")
    with open(path, "w") as file:
        file.write("/* data_golden.h - files of other tools and what they hold, written by make_data_golden.py. */\n"
                   "#ifndef BURN_DATA_GOLDEN_H\n#define BURN_DATA_GOLDEN_H\n\n/* clang-format off */\n")
        file.write("\n".join(OUT))
        file.write("/* clang-format on */\n\n#endif\n")


if __name__ == "__main__":
    main()
