"""Writes gguf_golden.h: a GGUF file by the package gguf, and what its dequantize makes of every tensor, as bits.

Quantized blocks are random bytes with small scales. Run: python3 make_gguf_golden.py (needs gguf and numpy)
"""
import pathlib
import tempfile

import gguf
import numpy as np

OUT = pathlib.Path(__file__).resolve().parent / "gguf_golden.h"
TYPES = gguf.GGMLQuantizationType
# where the float16 scales stand in a block
SCALES = {TYPES.Q4_0: [0], TYPES.Q8_0: [0], TYPES.Q4_K: [0, 2], TYPES.Q6_K: [208], TYPES.Q5_K: [0, 2]}


def blocks(dice, kind, rows, columns):
    block, size = gguf.GGML_QUANT_SIZES[kind]
    data = dice.integers(0, 256, (rows * columns // block, size), dtype=np.uint8)
    for at in SCALES[kind]:
        scales = dice.uniform(-0.01, 0.01, len(data)).astype(np.float16)
        data[:, at:at + 2] = scales.view(np.uint8).reshape(-1, 2)
    return data.reshape(rows, -1)


def main():
    dice = np.random.default_rng(7)
    tensors = [("plain", np.arange(6, dtype=np.float32).reshape(2, 3) / 4, None),
               ("half", np.array([1.5, -2, 65504], np.float16), None),
               ("brain", np.array([[0xc0, 0x3f, 0x00, 0xc0]], np.uint8), TYPES.BF16),
               ("count", np.array([-5], np.int32), None)]
    for kind, rows, columns in ((TYPES.Q4_0, 2, 64), (TYPES.Q8_0, 2, 32), (TYPES.Q4_K, 1, 512), (TYPES.Q6_K, 2, 256), (TYPES.Q5_K, 1, 256)):
        tensors.append((kind.name.lower(), blocks(dice, kind, rows, columns), kind))
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "golden.gguf"
        writer = gguf.GGUFWriter(path, "llama")
        writer.add_uint32("llama.block_count", 2)
        writer.add_float32("llama.epsilon", 0.25)
        writer.add_bool("flag", True)
        writer.add_int8("small", -3)
        writer.add_string("general.name", "tiny")
        writer.add_array("tokenizer.ggml.tokens", ["a", "b", "c"])
        writer.add_array("tokenizer.ggml.token_type", list(range(300)))
        for name, data, kind in tensors:
            writer.add_tensor(name, data, raw_dtype=kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        data = path.read_bytes()
    rows = [", ".join("0x%02x" % byte for byte in data[at:at + 20]) for at in range(0, len(data), 20)]
    lines = ["/* Written by make_gguf_golden.py; do not edit. */", "static const unsigned char gguf_file[] = {"]
    lines += ["    %s," % row for row in rows] + ["};"]
    for name, data, kind in tensors:
        if kind is None or kind in (TYPES.BF16, TYPES.Q5_K):
            continue
        bits = gguf.dequantize(data, kind).astype(np.float32).ravel().view(np.uint32)
        lines.append("static const uint32_t gguf_%s[] = {" % name)
        lines += ["    %s," % ", ".join("0x%08x" % word for word in bits[at:at + 9]) for at in range(0, len(bits), 9)] + ["};"]
    OUT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
