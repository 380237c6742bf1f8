"""coverage.py SOURCES BUILD [--json]: what the tests of a build with --coverage ran: lines and branches by folder, and the
functions that no test has run. ./dev coverage builds, runs the tests and calls this.

gcov knows a file once per object that it is compiled into (a header, or a text that is compiled for every instruction set): a line, branch
or function counts as run if it was in one of them.
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

PARTS = ("plugin-api", "core", "plugins", "decorators", "nn", "train", "import", "sdk")
AT_ONCE = 40  # objects per call of gcov


class Seen:
    """Counts of a source file: by line, by (line, number of the branch), by function."""

    def __init__(self):
        self.lines, self.branches, self.functions = (collections.Counter() for _ in range(3))

    def add(self, file):
        for function in file["functions"]:
            self.functions[function["demangled_name"]] += function["execution_count"]
        for line in file["lines"]:
            self.lines[line["line_number"]] += line["count"]
            for number, branch in enumerate(line["branches"]):
                self.branches[line["line_number"], number] += branch["count"]


def gcov(objects):
    done = subprocess.run(["gcov", "--branch-probabilities", "--json-format", "--stdout", *map(str, objects)], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False, cwd=objects[0].parent)
    return [json.loads(line) for line in done.stdout.decode(errors="replace").splitlines() if line.startswith("{")]


def sources_seen(sources, build):
    objects = sorted(build.rglob("*.gcno"))
    if not objects:
        sys.exit(f"coverage: {build} has no *.gcno: it was not built with --coverage")
    if not any(build.rglob("*.gcda")):
        sys.exit(f"coverage: {build} has no *.gcda: none of its programs was run")
    groups = [objects[at:at + AT_ONCE] for at in range(0, len(objects), AT_ONCE)]
    seen = collections.defaultdict(Seen)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for documents in pool.map(gcov, groups):
            for document in documents:
                for file in document["files"]:
                    path = pathlib.Path(os.path.normpath(pathlib.Path(document["current_working_directory"], file["file"])))
                    if path.is_relative_to(sources) and path.relative_to(sources).parts[0] in PARTS:
                        seen[str(path.relative_to(sources))].add(file)
    return seen


def share(counts):
    run = sum(count > 0 for count in counts)
    return {"run": run, "all": len(counts), "percent": round(100 * run / len(counts), 1) if counts else 100.0}


def by_folder(seen):
    folders = collections.defaultdict(lambda: ([], []))
    for path, file in seen.items():
        for folder in (path.split("/")[0], os.path.dirname(path)):
            folders[folder][0].extend(file.lines.values())
            folders[folder][1].extend(file.branches.values())
    return {folder: {"lines": share(lines), "branches": share(branches)} for folder, (lines, branches) in sorted(folders.items())}


def never_run(seen):
    found = {path: sorted(name for name, count in file.functions.items() if count == 0) for path, file in sorted(seen.items())}
    return {path: names for path, names in found.items() if names}


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--json"]
    if len(arguments) != 2:
        sys.exit("usage: coverage.py SOURCES BUILD [--json]")
    seen = sources_seen(*(pathlib.Path(argument).resolve() for argument in arguments))
    folders, functions = by_folder(seen), never_run(seen)
    if "--json" in sys.argv:
        print(json.dumps({"folders": folders, "functions_never_run": functions}, indent=1))
        return
    for path, names in functions.items():
        print(f"never run, {path}: {', '.join(names)}")
    print(f"\n{'folder':<40} {'lines':>14} {'%':>6} {'branches':>14} {'%':>6}")
    for folder, of in folders.items():
        cells = (f"{of[what]['run']:>7}/{of[what]['all']:<6} {of[what]['percent']:>6}" for what in ("lines", "branches"))
        print(f"{folder:<40} {' '.join(cells)}")


if __name__ == "__main__":
    main()
