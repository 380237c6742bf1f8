"""Compares burn tokenize with the packages tokenizers and sentencepiece on random texts, by small tokenizers that are trained
here: numbers, offsets and decoded texts are equal. Run: tokenizer_compare.py BURN GOLDEN_FOLDER [TEXTS]; 77: skipped.
With a number of megabytes in BURN_TOKENIZER_SPEED it says how long both take for so much text in lines, on one thread,
with starting a process for burn and without reading the file for tokenizers.

Characters are those of Unicode 3.2: tables of later versions differ between libraries.
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import unicodedata

os.environ["TOKENIZERS_PARALLELISM"] = "false"
try:
    import tokenizers  # noqa: F401
except ImportError:
    print("skipped: this Python has no package tokenizers")
    sys.exit(77)
sys.path.insert(0, sys.argv[2])
sys.dont_write_bytecode = True
import tokenizer_files  # noqa: E402

RANGES = [(0x20, 0x7f)] * 6 + [(1, 0x20), (0xa0, 0x17f), (0x300, 0x36f), (0x370, 0x4ff), (0x590, 0x6ff), (0x900, 0x97f), (0xe00, 0xe7f),
          (0x1100, 0x11ff), (0x2000, 0x218f), (0x2460, 0x24ff), (0x3000, 0x30ff), (0x4e00, 0x4fff), (0xac00, 0xad00), (0xfb00, 0xfb4f),
          (0xff00, 0xffef), (0x1d400, 0x1d4ff)]
PIECES = ["<s>", "</s>", "[MASK]", "<|endoftext|>", "whole", "<x>", "<sep>", "a b", "▁", "##", "é", "e\u0301", "'s", "n't", " ' ", " .", "123456",
          "\n\n", "  ", "\t", "\u200d", "İ", "ß", "ﬁ", "Σ", "🙂", "<0x41>"]


def random_text(dice):
    out = []
    for _ in range(dice.randint(0, 12)):
        kind = dice.random()
        if kind < 0.35:
            out.append(" ".join(dice.choice(tokenizer_files.TEXTS).split()[:dice.randint(1, 6)]))
        elif kind < 0.5:
            out.append(dice.choice(PIECES))
        elif kind < 0.6:
            out.append(" " * dice.randint(1, 4))
        else:
            first, last = dice.choice(RANGES)
            codes = [chr(dice.randint(first, last)) for _ in range(dice.randint(1, 6))]
            out += [code for code in codes if unicodedata.ucd_3_2_0.category(code) not in ("Cn", "Cs", "Co")]
    return "".join(out)


def burn(program, path, options, inputs):
    text = b"".join(item.encode() + b"\0" for item in inputs)
    lines = subprocess.run([program, "tokenize", path, "--json", "--zero", *options], input=text, stdout=subprocess.PIPE, check=True).stdout
    return [json.loads(line) for line in lines.decode().split("\n")[:-1]]


def compare(program, path, name, tokenizer, texts):
    wrong = 0
    wanted = [tokenizer_files.reference(tokenizer, text) for text in texts]
    ours = burn(program, path, [], texts)
    decoded = burn(program, path, ["--decode"], [" ".join(map(str, ids)) for ids, _, _ in wanted])
    for text, (ids, offsets, back), got, got_back in zip(texts, wanted, ours, decoded):
        spans = list(zip(got["begins"], got["ends"]))
        if got["ids"] != ids or (offsets is not None and spans != offsets) or got_back != back:
            wrong += 1
            if wrong < 3:
                print(name, repr(text), "\n  ", got["ids"], spans, repr(got_back), "\n  ", ids, offsets, repr(back))
    print("%-14s %d texts, %d differ" % (name, len(texts), wrong + abs(len(ours) - len(texts))))
    return wrong + abs(len(ours) - len(texts))


def speed(program, path, name, tokenizer, megabytes):
    lines = [" ".join(tokenizer_files.TEXTS[k % 10] for k in range(i, i + 8)) for i in range(10)]
    lines *= megabytes * 1000000 // sum(len(line.encode()) for line in lines)
    text = "\n".join(lines).encode()
    encode = tokenizer.encode_batch if isinstance(tokenizer, tokenizers.Tokenizer) else tokenizer.encode
    best = [1e9, 1e9]
    for _ in range(3):
        begin = time.perf_counter()
        subprocess.run([program, "tokenize", path, "--count"], input=text, stdout=subprocess.DEVNULL, check=True)
        middle = time.perf_counter()
        encode(lines)
        best = [min(best[0], middle - begin), min(best[1], time.perf_counter() - middle)]
    print("%-14s %d MB: burn %.2f s, %s %.2f s, ratio %.2f" % (name, megabytes, best[0], type(tokenizer).__name__, best[1], best[0] / best[1]))


def main():
    program, count = sys.argv[1], int(sys.argv[3]) if len(sys.argv) > 3 else 1000
    dice = random.Random(7)
    texts = [random_text(dice) for _ in range(count)]
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, data, tokenizer in tokenizer_files.files():
            path = pathlib.Path(folder) / name
            path.write_bytes(data)
            wrong += compare(program, path, name, tokenizer, texts)
            if "BURN_TOKENIZER_SPEED" in os.environ:
                speed(program, path, name, tokenizer, int(os.environ["BURN_TOKENIZER_SPEED"]))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
