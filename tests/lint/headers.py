"""Public headers as declarations with their comments; shared by the check below and by the filter of ./dev docs.

The comments of this tree stand before a declaration, or before several without an empty line between, or after one on its line. A line such as
/* -- title --- */ is a title; one with a text is that of all declarations below it that have no comment of their own. Run as a program, it names the public symbols that have no comment; exits 1 if there are any.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ["plugin-api/include", "plugins/common/include", "core/include", "nn/include", "train/include", "train/sources/include", "train/dashboard/include",
           "import/include"]
TITLE = re.compile(r"/\* -- (.*?) ?-+ \*/")


class Declaration:
    """`text` as it stands, `comment` its comment or "", `first` of those that share it."""

    def __init__(self, text, line, comment, first):
        self.text, self.line, self.comment, self.first = text, line, comment, first


def comment_end(lines, i):
    while "*/" not in lines[i]:
        i += 1
    return i


def declaration_end(lines, i):
    """The last line of the directive or declaration that begins on line i."""
    if lines[i].startswith("#"):
        while lines[i].endswith("\\"):
            i += 1
        return i
    depth = 0
    while True:
        code = re.sub(r"/\*.*?\*/|\"(\\.|[^\"])*\"", "", lines[i])
        depth += code.count("{") + code.count("(") - code.count("}") - code.count(")")
        if depth <= 0 and (re.search(r"[;}]\s*$", code) or re.match(r"[A-Z_]+(\(.*\))?$", code.strip())):
            return i
        if i + 1 == len(lines):
            return i
        if "/*" in lines[i] and "*/" not in lines[i]:
            i = comment_end(lines, i)
        i += 1


def declarations(text):
    """All of a header, in order: titles as strings, and declarations."""
    lines, i, comment, first, lasting = text.split("\n"), 0, "", True, False
    if lines[0].startswith("/*"):
        i = comment_end(lines, 0) + 1
    while i < len(lines):
        line = lines[i]
        if TITLE.match(line):
            comment, first, lasting = "", True, False
            yield TITLE.match(line).group(1)
        elif line.startswith("/*"):
            end = comment_end(lines, i)
            comment, first = "\n".join(lines[i:end + 1]), True
            i, lasting = end, line.startswith("/* -- ")
        elif line.strip() == "":
            if not lasting:
                comment, first = "", True
        else:
            end = declaration_end(lines, i)
            body = "\n".join(lines[i:end + 1])
            trailing = re.search(r"/\*.*?\*/\s*$", body.split("\n")[0], re.S) if end == i else None
            yield Declaration(body, i + 1, comment or (trailing.group(0) if trailing else ""), first)
            first = False
            i = end
        i += 1


def name_of(text):
    """The public name that a declaration introduces, or None where there is none to document."""
    if text.startswith("#"):
        match = re.match(r"#define (BURN_\w+|burn_\w+)", text)
        private = not match or match.group(1).startswith("BURN_INTERNAL_") or match.group(1).endswith("_H") or "\n" not in text and text.split()[-1] == match.group(1)
        return None if private else match.group(1)
    if text.startswith(("typedef struct", "typedef union", "struct ", "typedef enum")) and "{" in text:
        return (re.search(r"\}\s*(\w+);\s*$", text) or re.match(r"(?:typedef )?\w+ (\w+)", text)).group(1)
    if re.match(r"typedef struct (\w+) \1;", text):
        return None     # documented where it is opaque by its functions, else where it is defined
    if text.startswith("typedef"):
        return re.search(r"(\w+)\s*(\[\w*\])?;|\(BURN_API_CALL \*\s*(\w+)\)|\(\*(\w+)\)", text).group(0)
    if text.startswith("enum"):
        names = re.findall(r"\bBURN_\w+", text)
        return names[0] if names else None
    match = re.search(r"\b(burn_\w+)\(", text)
    if match and "burn__" not in match.group(1) and re.match(r"(BURN_API|static inline|BURN_\w+ static inline|inline)", text):
        return match.group(1)
    return None


def rows_have_texts(text):
    """Lists of rows, NAME(REQ, OPT) and NAME(X): each row has its own text."""
    return re.match(r"#define \w+\((REQ, OPT|X|REQ|OPT)\)", text) is not None


def headers():
    return sorted(p for folder in FOLDERS for p in (ROOT / folder).rglob("*") if p.suffix in (".h", ".hpp"))


def main():
    problems, count = [], 0
    for path in headers():
        if path.suffix == ".hpp":
            continue    # methods of the C functions, by the same names; its classes are checked by eye
        for item in declarations(path.read_text()):
            name = name_of(item.text) if isinstance(item, Declaration) else None
            if not name or rows_have_texts(item.text):
                continue
            count += 1
            if not item.comment and not (item.text.startswith("enum") and "/*" in item.text):
                problems.append(f"{path.relative_to(ROOT)}:{item.line}: {name} has no comment")
    for problem in problems:
        print("check:", problem)
    print(f"check: {count} public symbols, {len(problems)} without a comment")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
