"""Doxygen's INPUT_FILTER: our comments, /* .. */ before a declaration or after it, as those that Doxygen reads; configs and modules, which are made
by macros from rows, as the structs that they become; enums whose rows are a .def file with its constants. Titles are left out: the pages have their
own order. Pages of Markdown are those of pages.py."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/lint"))
from pages import ROOT, markdown  # noqa: E402
from headers import Declaration, comment_end, declarations  # noqa: E402

ROW = re.compile(r"\b(REQ|OPT|X)\((\w+),\s*(\w+),(.*?)\"\s*\)(?=\s|$|\\)", re.S)


def plain(comment):
    """The text of a comment, without what stands at the beginning of its lines."""
    lines = re.sub(r"^/\* -- (.*?) ?-*$", r"/* \1.", comment.strip()[:-2], flags=re.M)[2:].split("\n")
    return "\n".join(re.sub(r"^ \* ?|^\s+\*? ?(?=\S)", "", line) if i else line.strip() for i, line in enumerate(lines)).strip()


def escaped(text):
    text = re.sub(r"^(?=\.)|([\\@<>#&*_`])", lambda m: "\\" + m.group(0) if m.group(0) else "\u200b", text)
    return re.sub(r"(?<= )\.\.$", r"\\.\\.", text)  # a point by itself would end a list


def doxygen(text, head="", mark="/**"):
    """A comment of Doxygen; lines that are set in are programs and tables."""
    out, code = [], False
    for line in text.split("\n"):
        if line.startswith("  ") != code:
            out.append("@endverbatim" if code else "@verbatim")
            code = not code
        out.append(line if code else escaped(line))
    if code:
        out.append("@endverbatim")
    return f"{mark} {head}" + "\n".join(out) + " */"


def members(body):
    """Comments inside a struct or enum: after code on the line, or before it."""
    out, at = [], 0
    for match in re.finditer(r"/\*.*?\*/", body, re.S):
        line = body[body.rfind("\n", 0, match.start()) + 1:match.start()]
        out.append(body[at:match.start()] + doxygen(plain(match.group(0)), mark="/**<" if line.strip() else "/**"))
        at = match.end()
    return "".join(out) + body[at:]


def arguments_of(text):
    """What stands between the commas of the outermost level."""
    out, depth, quoted = [""], 0, False
    for char in text:
        quoted ^= char == '"'
        depth += (char in "([{") - (char in ")]}") if not quoted else 0
        if char == "," and depth == 0 and not quoted:
            out.append("")
        else:
            out[-1] += char
    return [argument.strip() for argument in out]


def from_lists(text):
    """The constants that `#define ROW(..) ..`, `#include <list.def>` and `#undef ROW` make; in functions these lines are left out."""
    def constants(match):
        macro, parameters, body, file = match.groups()
        rows = re.sub(r"/\*.*?\*/", "", (ROOT / "plugin-api/include" / file).read_text(), flags=re.S)
        out = []
        for row in re.findall(rf"^{macro}\((.*?)\)$(?=\n(?:{macro}|\s*$|#))", rows, re.M | re.S):
            values = dict(zip(arguments_of(parameters), arguments_of(row)))
            out.append(re.sub(r"(?:##)?\b(\w+)\b", lambda word: values.get(word.group(1), word.group(0)), body.replace("\\\n", " ")))
        return "\n".join(out) if text.lstrip().startswith(("enum", "typedef enum")) else ""
    return re.sub(r"^#define (\w+)\((.*?)\) ?((?:.*\\\n)*.*)\n#include <(.*\.def)>\n#undef \1$", constants, text, flags=re.M)


def rows_of(text):
    """(kind, type, name, default, text) of a list of rows."""
    for kind, type_, name, rest in ROW.findall(text):
        fallback, _, doc = rest.rpartition(', "') if kind == "OPT" else ("", "", rest.split('"', 1)[1])
        yield kind, type_, name, fallback.strip(), re.sub(r'"\s*\\?\s*"', "", doc)


def struct_of(name, rows, comment):
    text = [doxygen(plain(comment) if comment else "", head=""), f"struct {name} {{"]
    for kind, type_, field, fallback, doc in rows:
        note = {"REQ": " (required)", "OPT": f" (default: {fallback})", "X": ""}[kind]
        text.append(f"  {type_} {field}; " + doxygen(doc + note, mark="/**<"))
    return "\n".join(text + ["};"])


def emit(item, rows):
    listed = re.match(r"#define (\w+)\((REQ, OPT|X)\)", item.text)
    made = re.match(r"BURN_(CONFIG|CONFIG_OPTIONAL|MODULE)\((\w+), (\w+)\);", item.text)
    if listed:
        rows[listed.group(1)] = list(rows_of(item.text))
        return None
    if made and made.group(3) in rows:
        return struct_of(made.group(2), rows[made.group(3)], item.comment or
                         ("/* Config: made by " + made.group(2) + "_defaults. */" if "CONFIG" in made.group(1) else "/* Module. */"))
    item.text = from_lists(item.text)
    comment = doxygen(plain(item.comment)) + "\n" if item.comment and not item.text.startswith(("#if", "#el", "#end", "#include")) else ""
    is_body = re.match(r"(typedef )?(struct|union|enum)\b", item.text) and "{" in item.text
    if item.text.startswith("enum {"):
        comment = comment or doxygen("Constants.") + "\n"
    return comment + (members(item.text) if is_body else re.sub(r"/\*.*?\*/", "", item.text, flags=re.S))


def cpp(text):
    """A header of C++, which Doxygen reads itself: comments at the beginning of a line are of what follows, others of what is before them."""

    def comment(match):
        line = text[text.rfind("\n", 0, match.start()) + 1:match.start()]
        if match.group(0).startswith("/* -- "):
            return ""
        return doxygen(plain(match.group(0)), mark="/**<" if line.strip() else "/**")

    first = comment_end(text.split("\n"), 0) + 1
    text = re.sub(r"^(?:#include .*\.def>|BURN_CPP_\w+\(.*\))$", "", "\n".join(text.split("\n")[first:]), flags=re.M)
    return re.sub(r"/\*.*?\*/", comment, text, flags=re.S)


def main(path):
    text = path.read_text()
    if path.suffix not in (".h", ".hpp"):
        print(markdown(path))
        return
    lines, rows = text.split("\n"), {}
    if lines[0].startswith("/*"):
        print(doxygen(plain("\n".join(lines[:comment_end(lines, 0) + 1])).split(" - ", 1)[-1], head=f"@file {path.name}\n"))
    if path.suffix == ".hpp":
        print(cpp(text))
        return
    for item in declarations(text):
        out = emit(item, rows) if isinstance(item, Declaration) else None
        if out:
            print(out)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
