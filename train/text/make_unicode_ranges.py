"""Writes unicode_ranges.def beside this file: the letters and numbers of Unicode, by Python's unicodedata.

Run: python3 train/text/make_unicode_ranges.py
"""
import os
import sys
import unicodedata


def ranges(initial):
    first = None
    for code in range(sys.maxunicode + 2):
        wanted = code <= sys.maxunicode and unicodedata.category(chr(code)).startswith(initial)
        if wanted and first is None:
            first = code
        if not wanted and first is not None:
            yield first, code - 1
            first = None


def rows(name, initial):
    line = ""
    for first, last in ranges(initial):
        text = f"{name}({first:#x}, {last:#x})"
        if len(line) + len(text) > 130:
            yield line.strip()
            line = ""
        line += " " + text
    yield line.strip()


def main():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "unicode_ranges.def")
    with open(path, "w") as file:
        file.write(f"/* unicode_ranges.def - letters (L) and numbers (N) of Unicode {unicodedata.unidata_version}: first and last of each range, in order;\n"
                   " * written by make_unicode_ranges.py. */\n")
        for name, initial in ("LETTERS", "L"), ("NUMBERS", "N"):
            file.write(f"#ifdef {name}\n" + "\n".join(rows(name, initial)) + f"\n#undef {name}\n#endif\n")


if __name__ == "__main__":
    main()
