#!/usr/bin/env python3
"""Writes sdk/guide/burn-ops.md: Burn's tensor functions against ours, with the op behind each, its gradient and its tests.

burn_ops.tsv says what Burn has and what it is here; everything else is read from the headers, ops.def, the golden rows and the
gradient cases. A function that does not exist, or a row without function and reason, is an error. --check compares only."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = ROOT / "sdk/guide/burn-ops.md"


def public_functions():
    text = "".join(path.read_text() for path in (ROOT / "core/include/burn").glob("*.h"))
    return set(re.findall(r"\b(burn_\w+)\(", text))


def ops():
    """Name -> (form, gradient) of every row of ops.def."""
    text = (ROOT / "plugin-api/include/burn/plugin/ops.def").read_text()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    found = {}
    for row in re.split(r"(?=BURN_OP\()", text):
        match = re.match(r"BURN_OP\(\s*\d+,\s*(\w+),", row)
        form = re.search(r"\b(PRIMITIVE|COMPOSITE)\s*,\s*(RULE|VIA|CONSTANT)\b", row)
        if match and form:
            found[match.group(1)] = (form.group(1).lower(), form.group(2))
    return found


def golden_counts():
    """Function or op -> number of golden rows."""
    counts = {}
    for path in sorted((ROOT / "tests/golden").glob("*_golden.h")):
        for name in re.findall(r'^CASE\("(\w+)"', path.read_text(), flags=re.M):
            counts[name] = counts.get(name, 0) + 1
    return counts


def gradient_names():
    """Functions that occur in a gradient case, and how often."""
    counts = {}
    for path in sorted((ROOT / "tests/unit/autodiff").glob("autodiff_gradient_*.def")):
        for case in re.findall(r"^CASE\(.*?(?=^CASE\(|\Z)", path.read_text(), flags=re.M | re.S):
            names = set(re.findall(r"\bburn_(\w+)\(", case)) | set(re.findall(r"^CASE\(\w+, (\w+),", case))
            for name in names:
                counts[name] = counts.get(name, 0) + 1
    return counts


def tested_names():
    text = "".join(path.read_text() for path in (ROOT / "tests/unit").glob("*/*_test.c"))
    return set(re.findall(r"\bburn_(\w+)\b", text))


GRADIENT = {"RULE": "rule", "VIA": "through its parts", "CONSTANT": "none flows"}


def describe(functions, table):
    """The op rows behind the functions: (op column, gradient column)."""
    names = [name[5:] for name in functions]
    rows = [name for name in names if name in table]
    if not rows:
        return "composed", "through its parts"
    return ", ".join(f"{name} ({table[name][0]})" for name in rows), ", ".join(dict.fromkeys(GRADIENT[table[n][1]] for n in rows))


def main():
    functions, table, goldens = public_functions(), ops(), golden_counts()
    gradients, tested = gradient_names(), tested_names()
    problems, lines, missing, count, section = [], [], 0, 0, None
    for number, line in enumerate((ROOT / "tests/surface/burn_ops.tsv").read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        cells = line.split("\t") + [""] * 4
        name, ours, remark = cells[1], cells[2], cells[3]
        if cells[0] != section:
            section = cells[0]
            lines += ["", f"## {section}", "", "| Burn | here | op | gradient | golden rows | gradient cases | remark |",
                      "|---|---|---|---|---|---|---|"]
        count += 1
        if ours == "-":
            missing += 1
            if not remark:
                problems.append(f"burn_ops.tsv:{number}: {name} has neither a function nor a reason")
            lines.append(f"| {name} | - | | | | | {remark} |")
            continue
        here = [part.strip() for part in (ours or f"burn_{name}").split(",")]
        for function in here:
            if function not in functions:
                problems.append(f"burn_ops.tsv:{number}: {name}: there is no function {function}")
        op, gradient = describe(here, table)
        rows = sum(goldens.get(function[5:], 0) for function in here)
        cases = sum(gradients.get(function[5:], 0) for function in here)
        if rows == 0 and not any(function[5:] in tested for function in here):
            problems.append(f"burn_ops.tsv:{number}: {name}: no test names it")
        lines.append(f"| {name} | {', '.join(here)} | {op} | {gradient} | {rows or 'own test'} | {cases or ''} | {remark} |")
    head = ["# Burn's tensor functions and ours", "",
            "Written by tests/surface/make_table.py from burn_ops.tsv, the headers, ops.def and the tests; do not edit.", "",
            f"{count} functions of Burn, {count - missing} here, {missing} not, each with its reason. \"Golden rows\" counts known",
            "answers, each run on several stacks and layouts: computed by PyTorch or NumPy, and by Burn's rule, written out in",
            "tests/golden, where that is another. \"Gradient cases\" are checked against finite",
            f"differences. The table of ops has {len(table)} rows: {sum(f == 'primitive' for f, _ in table.values())} primitives and "
            f"{sum(f == 'composite' for f, _ in table.values())} composites."]
    text = "\n".join(head + lines) + "\n"
    for problem in problems:
        print(problem)
    if "--check" in sys.argv[1:]:
        if not TARGET.exists() or TARGET.read_text() != text:
            print("sdk/guide/burn-ops.md is not up to date; run tests/surface/make_table.py")
            return 1
    else:
        TARGET.parent.mkdir(parents=True, exist_ok=True)
        TARGET.write_text(text)
    return 1 if problems else 0


sys.exit(main())
