"""Rules that a compiler does not know: length of functions, files and lines, include arrows, unique file names.

Prints what breaks a rule, and a summary of function lengths; exits 1 if anything does.
"""
import pathlib
import re
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ["plugin-api", "core", "plugins", "decorators", "nn", "train", "import", "sdk"]
SUFFIXES = (".c", ".cpp", ".h", ".hpp", ".def", ".inc", ".cu")
FUNCTION_CAP = 60   # lines from the opening line to the closing brace; tables and dispatch switches are exempt
KERNEL_CAP = 120   # of .cu: what threads of a kernel share is declared in the kernel
FILE_CAP = 640
CLASSES_CAP = 700   # of .hpp, whose classes have their code in them
COLUMNS = 120   # as in .clang-format
TABLE_COLUMNS = 140   # of .def, .inc and .cu, which no program lays out
EXAMPLE_COLUMNS = 80   # under sdk/examples, which are read in a terminal
# Which public headers (by prefix) the sources of a folder may include with <burn/...>.
ARROWS = {
    "plugin-api": ["burn/plugin/"],
    "plugins": ["burn/plugin/", "burn/common/"],
    "decorators": ["burn/plugin/", "burn/common/"],
    "core": ["burn/"],
    "nn": ["burn/"],
    "train": ["burn/"],
    "import": ["burn/"],
    "sdk": ["burn/"],
}
FORBIDDEN = {"core": ["burn/nn", "burn/train"], "nn": ["burn/train", "burn/plugin/plugin.h"], "train": ["burn/nn", "burn/plugin/plugin.h"]}


def head_of(lines, number):
    """The head that ends with the `{` of line `number`, over all its lines, if it begins at column 0; else None."""
    if not lines[number - 1].endswith(") {"):
        return None
    first = number - 1
    while first > 0 and lines[first].startswith(" ") and not re.search(r"[;{}]\s*$", lines[first - 1]):
        first -= 1
    head = lines[first]
    if not re.match(r"[A-Za-z_]", head) or head.startswith(("typedef", "struct")):
        return None
    return " ".join(lines[first:number])


def functions(lines):
    """(name, first line, length) of every function body whose head starts at column 0."""
    start, name = None, None
    for number, line in enumerate(lines, 1):
        head = head_of(lines, number) if start is None else None
        if head:
            match = re.search(r"(\w+)\s*\(", head)
            start, name = number, match.group(1) if match else "?"
        elif start is not None and line.startswith("}"):
            yield name, start, number - start + 1
            start = None


def is_table(lines, start, length):
    body = lines[start:start + length]
    cases = sum(1 for line in body if re.match(r"\s*(case\b|default:|[A-Z][A-Z0-9_]+\()", line))
    return cases * 2 >= length


def unmarked_chains(text):
    """(name, index) of public functions whose last parameter is the status of a chain and that do not say so."""
    for declaration in re.findall(r"^BURN_API[^;{]*BurnStatus \*status\)", text, re.M):
        head, parameters = re.search(r"^(.*?)\((?!\d)(.*)\)$", " ".join(declaration.split())).groups()
        index = parameters.count(",") + 1
        if f"BURN_CHAINS({index})" not in head:
            yield head.split()[-1].lstrip("*"), index


def columns_of(where):
    if where.suffix in (".def", ".inc", ".cu"):
        return TABLE_COLUMNS
    return EXAMPLE_COLUMNS if where.parts[:2] == ("sdk", "examples") else COLUMNS


def main():
    problems, lengths, names = [], [], {}
    sources = [p for folder in FOLDERS for p in (ROOT / folder).rglob("*") if p.suffix in SUFFIXES]
    sources += (ROOT / "sdk/examples").rglob("*.py")
    for path in sorted(sources):
        where = path.relative_to(ROOT)
        lines = path.read_text().splitlines()
        folder = where.parts[0]
        columns = columns_of(where)
        file_cap = CLASSES_CAP if path.suffix == ".hpp" else FILE_CAP
        function_cap = KERNEL_CAP if path.suffix == ".cu" else FUNCTION_CAP
        if len(lines) > file_cap:
            problems.append(f"{where}: {len(lines)} lines, the cap is {file_cap}")
        if path.name in names and path.suffix == ".c":
            problems.append(f"{where}: the name is also that of {names[path.name]}")
        names[path.name] = where
        for number, line in enumerate(lines, 1):
            if len(line) > columns:
                problems.append(f"{where}:{number}: {len(line)} columns, the cap is {columns}")
            include = re.match(r"#include <(burn/[^>]+)>", line)
            if not include:
                continue
            target = include.group(1)
            if not any(target.startswith(prefix) for prefix in ARROWS[folder]):
                problems.append(f"{where}:{number}: {folder}/ may not include <{target}>")
            if any(target.startswith(prefix) for prefix in FORBIDDEN.get(folder, [])):
                problems.append(f"{where}:{number}: {folder}/ may not include <{target}>")
        guard = re.search(r"^#ifndef (\w+)\n#define \1$", "\n".join(lines), re.M) if path.suffix in (".h", ".hpp") else None
        if guard and not guard.group(1).endswith(re.sub(r"\W", "_", path.name).upper()):
            problems.append(f"{where}: the include guard {guard.group(1)} is not named after the file")
        for name, index in unmarked_chains("\n".join(lines)) if path.suffix == ".h" else []:
            problems.append(f"{where}: {name} takes the status of a chain: mark it BURN_CHAINS({index})")
        for name, start, length in functions(lines):
            lengths.append(length)
            if length > function_cap and not is_table(lines, start, length):
                problems.append(f"{where}:{start}: {name} has {length} lines, the cap is {function_cap}")
    for problem in problems:
        print("check:", problem)
    lengths.sort()
    if lengths:
        print(f"check: {len(lengths)} functions: median {statistics.median(lengths):.0f}, p90 {lengths[len(lengths) * 9 // 10]}, "
              f"longest {lengths[-1]} lines; {len(sources)} files")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
