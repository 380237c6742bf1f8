"""Writes tokenizer_golden.h: small tokenizers as bytes (tokenizer_files.py), and what the packages tokenizers and
sentencepiece make of texts with them. Run: python3 make_tokenizer_golden.py (needs both, and gguf)
"""
import pathlib

import tokenizer_files

OUT = pathlib.Path(__file__).resolve().parent / "tokenizer_golden.h"
TEXTS = ["", " ", "The rain in Spain!", "  two  spaces ", "don't we'll 12345 $9.99", "Naïve CAFÉ re\u0301sume\u0301 ﬁn Ａ①", "Привет, 日本 한국 🙂👨‍👩‍👧",
         "tab\tline\nfeed\r\n\n  end", "a b<sep><x> [MASK] whole wholesome <s></s>", "numbers tokens stays plainly", "\x01\u200b\u3000x\ufffd"]


def quoted(text):
    return '"' + "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else "\\%03o" % b for b in text.encode()) + '"'


def main():
    lines = ["/* Written by make_tokenizer_golden.py; do not edit. */"]
    rows = []
    for name, data, tokenizer in tokenizer_files.files():
        lines.append("static const unsigned char %s_file[] = {" % name)
        numbers = ["%d," % byte for byte in data]
        while numbers:
            row = ""
            while numbers and len(row) + len(numbers[0]) < 150:
                row += numbers.pop(0)
            lines.append(row)
        lines.append("};")
        for index, text in enumerate(TEXTS):
            ids, offsets, decoded = tokenizer_files.reference(tokenizer, text)
            spans = offsets if offsets is not None else []
            rows.append("{%s_file, sizeof %s_file, \"%s\", %s, %d, {%s}, %d, {%s}, %s}," % (
                name, name, name, quoted(text), len(ids), ", ".join(map(str, ids)) or "0", len(spans),
                ", ".join("{%d, %d}" % span for span in spans) or "{0, 0}", quoted(decoded)))
    lines += ["static const struct {", "  const unsigned char *file;", "  size_t bytes;", "  const char *name, *text;", "  size_t count;",
              "  int64_t ids[96];", "  size_t spans; /* 0: not told */", "  size_t offsets[96][2];", "  const char *decoded;",
              "} tokenizer_cases[] = {"] + rows + ["};"]
    OUT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
