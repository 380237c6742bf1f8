"""The book (sdk/guide) holds what it says: its code is compiled and run, and shows what stands below it.

    guide_test.py check                      all pages: blocks that nothing runs, links, the table of contents
    guide_test.py run PAGE PREFIX [--cc CC] [--update]  the blocks of a page, one after the other, in the current folder, with the SDK
                                             installed in PREFIX; --update writes what was printed into the page

A block is run by its language. c and cpp: a program; its first comment names the file, /* mlp.c: .. */. Blocks for one file are its parts,
in their order; it is built after the last one and run, with guards, so that a tensor that is left over is a failure. cmake: CMakeLists.txt. sh:
commands; folder and variables stay from block to block. python: a script of all such blocks so far. text: what the block above has printed.
Other blocks, and those that are something else, have a line before them, of clauses with `;` in between:

    <!-- test: file NAME -->          (a part of) this file, which is run if it is a program
    <!-- test: no REASON -->          not run; the reason is listed
    <!-- test: built -->              a program that the commands below run
    <!-- test: fails -->              it ends with a failure
    <!-- test: with VAR=VALUE .. -->  in this environment
    <!-- test: needs WHAT -->         where there is this command, library (libdw) or version of Python (3.10)
    <!-- test: close -->              of text: numbers may differ by 5 % or 2 in their last digit
    <!-- test: numbers -->            of text: numbers may be any
    <!-- test: among -->              of text: these lines are among those that are printed

In text a line `...` stands for any lines, and `...` at the end of a line for its rest. A part that readers do not see is the comment itself: <!-- test: file NAME, the lines, -->."""
import argparse
import ctypes.util
import dataclasses
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
GUIDE = SOURCE / "sdk/guide"
GENERATED = {"burn-ops", "onnx-cases", "ops", "options"}
RUN = {"c", "cpp", "cmake", "sh", "python", "text"}
CLAUSES = {"file", "no", "built", "fails", "with", "needs", "close", "numbers", "among"}
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
FLAGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wdouble-promotion", "-Werror"]


class Wrong(Exception):
    """What is wrong in a page, with its line."""


@dataclasses.dataclass
class Block:
    line: int
    language: str
    clauses: dict
    text: str

    @property
    def file(self):
        if "file" in self.clauses:
            return self.clauses["file"]
        named = re.match(r"/\* ([\w.]+\.(?:c|cpp|h))\b", self.text)
        return named.group(1) if named else "CMakeLists.txt" if self.language == "cmake" else None


def clauses_of(line, words):
    clauses = {}
    for clause in words.split(";"):
        name, _, value = clause.strip().partition(" ")
        if name not in CLAUSES:
            raise Wrong(f"line {line}: 'test: {name}' is none of {', '.join(sorted(CLAUSES))}")
        clauses[name] = value.strip()
    return clauses


def until(lines, at, end, line):
    for i in range(at, len(lines)):
        if lines[i].strip() == end:
            return i
    raise Wrong(f"line {line}: no '{end}' ends it")


def blocks_of(text):
    """All blocks of a page, in order; hidden parts, too."""
    lines, at, mark, out = text.split("\n"), 0, None, []
    while at < len(lines):
        begin, line = at + 1, lines[at]
        comment, fence = re.match(r" *<!-- test: (.*)$", line), re.match(r"( *)```(\S*)$", line)
        if mark is not None and not fence:
            raise Wrong(f"line {begin}: the comment above this line has no block below it")
        if comment and comment.group(1).endswith("-->"):
            mark = clauses_of(begin, comment.group(1)[:-3])
        elif comment:
            end = until(lines, at + 1, "-->", begin)
            clauses = clauses_of(begin, comment.group(1))
            out.append(Block(begin, clauses["file"].rpartition(".")[2], clauses, "\n".join(lines[at + 1:end]) + "\n"))
            at = end
        elif fence:
            end = until(lines, at + 1, "```", begin)
            body = [row[len(fence.group(1)):] for row in lines[at + 1:end]]
            out.append(Block(begin, fence.group(2), mark or {}, "\n".join(body) + "\n"))
            mark, at = None, end
        elif line.startswith("    ") and at > 0 and not lines[at - 1].strip():
            raise Wrong(f"line {begin}: code that is set in has no language: put ``` around it")
        at += 1
    return out


def check_block(block, before):
    """None, or what is wrong with it; `before` are the blocks above."""
    if "no" in block.clauses:
        return None if block.clauses["no"] else "a block that is not run has a reason"
    if block.language not in RUN and "file" not in block.clauses:
        return f"nothing runs a block of '{block.language}'; say <!-- test: no REASON -->"
    if block.language in ("c", "cpp") and not block.file:
        return "no comment in its first line says the name of the file, and no <!-- test: file NAME --> before it"
    if block.language == "text" and "file" not in block.clauses and not any(above.language != "text" and "no" not in above.clauses for above in before):
        return "no block above has printed this"
    return None


# -- check ---------------------------------------------------------------------------------------------------------------------------


def check_blocks(page, text):
    wrong, left_out = [], []
    try:
        blocks = blocks_of(text)
    except Wrong as error:
        return [f"{page.name}: {error}"], []
    for i, block in enumerate(blocks):
        reason = check_block(block, blocks[:i])
        if reason:
            wrong.append(f"{page.name}: line {block.line}: {reason}")
        if "no" in block.clauses:
            left_out.append(f"{page.name}: line {block.line}: not run, {block.clauses['no']}")
    return wrong, left_out


def anchors_of(text):
    """What links may name: headings as GitHub makes anchors of them."""
    plain = re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in re.findall(r"^#+ (.*)$", plain, re.M)}


def check_links(page, text):
    wrong = []
    plain = re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", plain)):
        name, _, anchor = target.partition("#")
        if re.match(r"\w+:", target):
            continue
        file = (page.parent / name).resolve() if name else page
        if not file.exists():
            wrong.append(f"{page.name}: the link to {target} leads nowhere")
        elif anchor and file.suffix == ".md" and anchor not in anchors_of(file.read_text()):
            wrong.append(f"{page.name}: {name or 'this page'} has no heading for the link #{anchor}")
    return wrong


def contents():
    """The pages in the order of the table of contents."""
    return list(dict.fromkeys(re.findall(r"^\| \[[^\]]*\]\(([\w-]+)\.md\)", (GUIDE / "README.md").read_text(), re.M)))


def check():
    wrong, left_out, count = [], [], 0
    pages = sorted(GUIDE.glob("*.md"))
    for page in pages:
        text = page.read_text()
        wrong += check_links(page, text)
        if page.stem not in GENERATED:
            found, left = check_blocks(page, text)
            wrong, left_out, count = wrong + found, left_out + left, count + 1
    listed, there = set(contents()), {page.stem for page in pages} - {"README"}
    wrong += [f"README.md: the table of contents lacks {name}.md" for name in sorted(there - listed)]
    print("\n".join(left_out))
    print(f"guide_test: {count} pages, {len(left_out)} blocks that are not run")
    if wrong:
        sys.exit("\n".join(["FAILED:"] + wrong))


# -- run -----------------------------------------------------------------------------------------------------------------------------


def has(what):
    if what[0].isdigit():
        return sys.version_info >= tuple(map(int, what.split(".")))
    if what.startswith("lib"):
        return ctypes.util.find_library(what[3:]) is not None
    return shutil.which(what) is not None


class Run:
    """A page that is being run: the folder, what the commands have set, and what was printed last."""

    def __init__(self, prefix, compiler, folder, update=False):
        self.prefix, self.start, self.update, self.shown = pathlib.Path(prefix).resolve(), folder, update, {}
        self.printed, self.scripts, self.built, self.counts = "", "", False, {"run": 0, "not run": 0, "compared": 0}
        tools = self.start / "tools"
        tools.mkdir(exist_ok=True)
        flags = FLAGS + ([f"-fsanitize={os.environ['SDK_SANITIZE']}"] if os.environ.get("SDK_SANITIZE") else [])
        for name, real, standard in (("cc", compiler, "c11"), ("c++", os.environ.get("CXX", "c++"), "c++17")):
            real = shutil.which(real)
            if real and not (tools / name).exists():
                (tools / name).write_text(f'#!/bin/sh\nexec {shlex.quote(real)} -std={standard} {" ".join(flags)} "$@"\n')
                (tools / name).chmod(0o755)
        if not (self.start / "burn").exists():
            (self.start / "burn").symlink_to(self.prefix)
        self.environment = {name: value for name, value in os.environ.items()
                            if not re.match(r"BURN_(?!TEST_)|CFLAGS$|CC$|CXXFLAGS$|CMAKE_PREFIX_PATH$", name)}
        self.environment.update(HOME=str(self.start), XDG_CONFIG_HOME="/nonexistent", BURN_BACKEND="ndarray", BURN_GUARDS="0", BURN_LOG="",
                                PKG_CONFIG_PATH=f"{self.prefix}/lib/pkgconfig", LD_LIBRARY_PATH=f"{self.prefix}/lib",
                                ASAN_OPTIONS="detect_leaks=0", PATH=f"{self.prefix}/bin:{tools}:{os.environ['PATH']}")
        if "GUIDE_PYTHON" in os.environ:  # the package has libraries of its own
            del self.environment["LD_LIBRARY_PATH"]
        self.folder = self.start

    def shell(self, block, commands, fails=False, **more):
        """Runs commands where the ones before have led; keeps what they print. `more` are variables for these alone."""
        more.update(word.split("=", 1) for word in shlex.split(block.clauses.get("with", "")))
        state = self.start / ".state"
        before = "".join(f"{name}={shlex.quote(value)}; export {name}\n" for name, value in more.items())
        after = "" if more or fails else f"\npwd >{shlex.quote(str(state))}; export -p >>{shlex.quote(str(state))}\n"
        done = subprocess.run(["sh", "-u" if fails else "-eu", "-c", self.resumed() + before + commands + after],
                              cwd=self.folder, env={} if state.exists() else self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.printed = done.stdout
        if (done.returncode != 0) != fails:
            raise Wrong(f"line {block.line}: ends with {done.returncode}:\n{done.stdout}")
        if after and state.exists():
            self.folder = pathlib.Path(state.read_text().split("\n", 1)[0])

    def resumed(self):
        """All variables as the commands before have left them: unset ones, too."""
        state = self.start / ".state"
        return state.read_text().split("\n", 1)[1] + "\n" if state.exists() else ""

    def program(self, block, file, text):
        more = ""
        for header, package, library in (("dashboard", "burn", "-lburn_dashboard"), ("datasets", "burn-datasets", ""), ("store", "burn-import", ""),
                                         ("onnx", "burn-import", ""),
                                         ("text_tokenizer", "burn-import", "")):
            if f"<burn/{header}" in text:
                if not (self.prefix / f"include/burn/{header}.h").exists():
                    print(f"line {block.line}: skipped, Burn was built without burn/{header}.h")
                    return
                more += f" $(pkg-config --cflags --libs {package}) {library}"
        compiler = "c++" if file.endswith(".cpp") else "cc"
        name = file.rpartition(".")[0]
        self.shell(block, f"{compiler} -g -O1 {file}{more} $(pkg-config --cflags --libs burn) -lm -o {name}\n")
        if "built" in block.clauses:
            self.built = True
        else:
            self.shell(block, f"./{name}\n", "fails" in block.clauses, BURN_GUARDS="1")
            self.look_for_leaks(block)

    def look_for_leaks(self, block):
        if "closed with" in self.printed:
            raise Wrong(f"line {block.line}: tensors are left over:\n{self.printed}")

    def file(self, block, name, text, last):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if last and name.endswith((".c", ".cpp")):
            if re.search(r"\bmain\(", text):
                self.program(block, name, text)
            else:
                self.shell(block, f"cc -c $(pkg-config --cflags burn) {name} -o {name}.o\n")

    def python(self, block):
        """Scripts see what the ones above have made: they all run again."""
        self.scripts += block.text
        (self.folder / "page.py").write_text(self.scripts)
        python = shlex.quote(os.environ.get("GUIDE_PYTHON", sys.executable))
        stand_in = pathlib.Path(__file__).parent / "guide_modules"
        self.shell(block, f"{python} -c 'import msgpack' 2>/dev/null || export PYTHONPATH={shlex.quote(str(stand_in))}\n{python} page.py\n")

    def reason(self, block):
        """Why a block is not run here, or None."""
        needed = block.clauses.get("needs")
        if needed and not has(needed):
            return f"there is no {needed if needed[0].isalpha() else 'Python ' + needed}"
        if block.language == "text" and self.printed is None:
            return "nor was the block above"
        return block.clauses.get("no")

    def block(self, block, parts):
        reason = self.reason(block)
        if reason:
            self.counts["not run"] += 1
            self.printed = None
            print(f"line {block.line}: not run, {reason}")
            return
        self.counts["compared" if block.language == "text" else "run"] += 1
        if block.file:
            same = parts[block.file]
            text = "".join(part.text for part in same[:next(i for i, part in enumerate(same) if part is block) + 1])
            self.file(block, block.file, text, same[-1] is block)
        elif block.language == "sh":
            guarded = "BURN_GUARDS=1; export BURN_GUARDS\n" if self.built else ""  # commands that run programs of the page
            self.shell(block, guarded + block.text, "fails" in block.clauses)
            if self.built:
                self.look_for_leaks(block)
        elif block.language == "python":
            self.python(block)
        elif not shows(block, self.printed):
            if not self.update:
                raise Wrong(f"line {block.line}: the page shows\n{block.text}and this was printed\n{self.printed}")
            self.shown[block.line] = (block.text, self.printed)


def like(line, clauses):
    """A line as it is compared: without numbers, where those may differ, and how many blanks there are."""
    if "numbers" in clauses or "close" in clauses:
        line = NUMBER.sub("#", line)
        line = re.sub(r"\s+", " ", line)
    return line.rstrip()


def close(wanted, got):
    for a, b in zip(NUMBER.findall(wanted), NUMBER.findall(got)):
        digit = 10.0 ** -len(a.partition(".")[2])
        if abs(float(a) - float(b)) > max(0.05 * abs(float(a)), 2.001 * digit):
            return False
    return True


def matches(wanted, got, clauses):
    if wanted.endswith("..."):
        wanted, got = wanted[:-3], got[:len(wanted) - 3]
    return like(wanted, clauses) == like(got, clauses) and ("close" not in clauses or close(wanted, got))


def all_match(wanted, got, clauses):
    """Line by line; `...` is any lines."""
    if not wanted:
        return not got
    if wanted[0] == "...":
        return any(all_match(wanted[1:], got[i:], clauses) for i in range(len(got) + 1))
    return bool(got) and matches(wanted[0], got[0], clauses) and all_match(wanted[1:], got[1:], clauses)


def shows(block, printed):
    wanted, got = block.text.rstrip("\n").split("\n"), printed.rstrip("\n").split("\n")
    if "among" in block.clauses:
        return all(any(matches(line, other, block.clauses) for other in got) for line in wanted)
    return all_match(wanted, got, block.clauses)


def write_shown(page, shown):
    lines = page.read_text().split("\n")
    for line, (old, new) in sorted(shown.items(), reverse=True):
        count = old.count("\n") if lines[line] != "```" else 0
        lines[line:line + count] = new.rstrip("\n").split("\n")
    page.write_text("\n".join(lines))


def run_blocks(text, state):
    blocks = blocks_of(text)
    parts = {}
    for block in blocks:
        if block.file and "no" not in block.clauses:
            parts.setdefault(block.file, []).append(block)
    for i, block in enumerate(blocks):
        reason = check_block(block, blocks[:i])
        if reason:
            raise Wrong(f"line {block.line}: {reason}")
        state.block(block, parts)


def run(page, prefix, compiler, update):
    file, state = GUIDE / f"{page}.md", Run(prefix, compiler, pathlib.Path.cwd(), update)
    run_blocks(file.read_text(), state)
    if update:
        write_shown(file, state.shown)
    print(f"{page}.md: " + ", ".join(f"{count} blocks {what}" for what, count in state.counts.items()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("check", "run"))
    parser.add_argument("page", nargs="?")
    parser.add_argument("prefix", nargs="?")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    if arguments.what == "check":
        check()
        return
    try:
        run(arguments.page, arguments.prefix, arguments.cc, arguments.update)
    except Wrong as error:
        sys.exit(f"FAILED: {arguments.page}.md: {error}")


if __name__ == "__main__":
    main()
