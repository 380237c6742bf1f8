#!/usr/bin/env python3
"""Writes data_golden.h beside this file: files as other tools make them (NumPy, Pillow, Python's sqlite3, Hugging Face's tokenizers),
and what those tools read from them, without a line of ours.

Run: python3 tests/golden/make_data_golden.py, with numpy, pillow and tokenizers installed
"""
import io
import os
import sqlite3
import struct
import tempfile

import numpy
from PIL import Image

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


def picture():
    """7 x 5 pixels that differ in every channel."""
    y, x = numpy.mgrid[0:5, 0:7]
    return numpy.stack([x * 40, y * 60, (x * y * 11) % 256], axis=2).astype("uint8")


def pixels(name, image):
    array(name, numpy.asarray(image).reshape(-1).tolist())


def images():
    rgb = Image.fromarray(picture())
    array("png_rgb", saved(rgb.save, "PNG"))
    array("png_palette", saved(rgb.quantize(8).save, "PNG"))
    pixels("png_palette_pixels", rgb.quantize(8).convert("RGB"))
    array("png_grey", saved(rgb.convert("L").save, "PNG"))
    pixels("png_rgb_pixels", rgb)
    pixels("png_grey_pixels", rgb.convert("L"))
    half = Image.fromarray(numpy.concatenate([picture(), numpy.full((5, 7, 1), 128, "uint8")], axis=2))
    array("png_alpha", saved(half.save, "PNG"))
    deep = Image.fromarray((numpy.arange(12, dtype="uint16") * 5000).reshape(3, 4))
    array("png_16", saved(deep.save, "PNG"))
    pixels("png_16_pixels", (numpy.arange(12) * 5000) >> 8)
    y, x = numpy.mgrid[0:16, 0:24]
    smooth = Image.fromarray(numpy.stack([x * 8, y * 12, 255 - x * 5 - y * 3], axis=2).astype("uint8"))
    array("jpeg_rgb", saved(smooth.save, "JPEG", quality=90))
    array("jpeg_progressive", saved(smooth.save, "JPEG", quality=90, progressive=True))
    array("jpeg_cmyk", saved(smooth.convert("CMYK").save, "JPEG"))
    again = Image.open(io.BytesIO(saved(smooth.save, "JPEG", quality=90)))
    pixels("jpeg_pixels", again)
    pixels("jpeg_grey_pixels", Image.open(io.BytesIO(saved(smooth.save, "JPEG", quality=90))).convert("L"))
    pixels("resized_smaller", rgb.resize((3, 2), Image.BILINEAR))
    pixels("resized_larger", rgb.resize((10, 9), Image.BILINEAR))
    pixels("resized_mixed", rgb.resize((12, 3), Image.BILINEAR))
    pixels("resized_part", rgb.resize((3, 3), Image.BILINEAR, box=(1, 1, 6, 5)))


def databases():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.db")
        with sqlite3.connect(path) as data:
            data.execute("pragma page_size = 512")
            data.execute("create table train (row_id integer primary key autoincrement not null, label integer, weight real, image blob,"
                         " name text)")
            for i in range(3):
                data.execute("insert into train (label, weight, image, name) values (?, ?, ?, ?)",
                             (i * 7, i / 4, struct.pack("<4f", *[i + j for j in range(4)]), "n" * i))
            data.execute("create table gap (row_id integer primary key autoincrement not null, label integer)")
            data.execute("insert into gap values (1, 5), (3, 6), (4, 'text'), (5, null)")
        data.close()
        with open(path, "rb") as file:
            array("sqlite_database", file.read())


TEXT = """The quick brown fox jumps over the lazy dog; the dogs, they're lazy, aren't they? We'll see: it's 2024, and I'd say
they've jumped 1,234 times (twice in Zürich, once in 東京).   Spaces   matter,\tand so do\r\n\r\nlines. Naïve café – déjà vu! 🔥🔥🔥
hello hello hello world worldly words, wordy worlds; under the thunder, the other mother's brother bothered another.
""" * 3
SAMPLES = ["the other brother's worlds", "They'll say: we've 42 dogs!", "  two  spaces\n\n and lines \n", "Zürich 東京 🔥 ½ ٣ x²",
           "", " ", "<|endoftext|>hello<|endoftext|>\n", "aaaaaaaaaaaaaaaaaaaaaaaaaaa", "'s 'S don't '' ' 't\u00a0\u3000end"]


def tokens():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=330, special_tokens=["<|endoftext|>"], show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator([TEXT], trainer)
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.model.save(folder)
        for name in "vocab.json", "merges.txt":
            with open(os.path.join(folder, name), "rb") as file:
                array("tokens_" + name.split(".")[0], file.read())
    array("tokens_text", TEXT.encode())
    samples = b"".join(sample.encode() + b"\0" for sample in SAMPLES)
    array("tokens_samples", samples)
    ids = [tokenizer.encode(sample).ids for sample in SAMPLES]
    array("tokens_counts", [len(each) for each in ids], "int")
    array("tokens_ids", [value for each in ids for value in each], "int")


def main():
    tokens()
    numpy_files()
    images()
    databases()
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data_golden.h")
    with open(path, "w") as file:
        file.write("/* data_golden.h - files of other tools and what they hold, written by make_data_golden.py. */\n"
                   "#ifndef BURN_DATA_GOLDEN_H\n#define BURN_DATA_GOLDEN_H\n\n/* clang-format off */\n")
        file.write("\n".join(OUT))
        file.write("/* clang-format on */\n\n#endif\n")


if __name__ == "__main__":
    main()
