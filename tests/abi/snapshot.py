#!/usr/bin/env python3
"""snapshot.py - what plugins compile in, as text: layouts, numbers, types of members, ops, attributes.

    snapshot.py check     fails where the headers differ from snapshot.txt without a bump and a section in CHANGES.md
    snapshot.py update    writes snapshot.txt; refuses what the rules of growth forbid
    snapshot.py update --same-meaning   takes changed doc texts of ops, after you have seen that no meaning changed
    snapshot.py print     the text of the headers as they are

Everything is read out of the headers: a C program is generated from them, so nothing can be left out of a list. Sizes are those
of the compiler in $CC (default cc) for a 64-bit machine.

--headers, --snapshot, --changes and --kept name other places than the tree's: for tests of the gate.
"""
import argparse
import hashlib
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

# Macros without a value of their own: marks of compilers and guards. Whatever is in no list here is printed.
NOT_NUMBERS = {"BURN_API_CALL", "BURN_EXPORT", "BURN_EXTERN_C", "BURN_EXTERN_C_BEGIN", "BURN_EXTERN_C_END", "BURN_OK",
               "BURN_TARGET_MINOR", "BURN_ATTR_SINCE_IS_OURS", "BURN_NONE"}
GROWS_BY_A_STRIDE = {"BurnOptionInfo"}  # no size of its own, but its table says how long its rows are
FROZEN = {"BurnExtension"}  # the head of longer structs: what follows it must not move, though it has a size
STAYS_INSIDE = {"BurnBuilder"}  # made and used by inline code alone: never crosses the boundary
FIRST_CLOSED = 4  # the primitives of this minor are all there will ever be


class Wrong(Exception):
    pass


# -- reading the headers ----------------------------------------------------------------------------------------------

def compiler():
    return os.environ.get("CC", "cc").split()


def run_compiler(arguments, what):
    done = subprocess.run(compiler() + arguments, capture_output=True, text=True)
    if done.returncode != 0:
        raise Wrong(f"{what}:\n{done.stderr}")
    return done.stdout


def headers_of(folder):
    plugin = os.path.join(folder, "burn", "plugin")
    return sorted(name for name in os.listdir(plugin) if name.endswith(".h"))


def includes(folder):
    return "".join(f"#include <burn/plugin/{name}>\n" for name in headers_of(folder))


def flags_of(folder, target):
    return ["-std=c11", "-I", folder] + ([f"-DBURN_TARGET_MINOR={target}"] if target else [])


def preprocessed(folder, target, scratch):
    """The headers as the compiler sees them, without what they include of the C library."""
    source = os.path.join(scratch, "all.c")
    with open(source, "w") as file:
        file.write(includes(folder))
    ours, kept = False, []
    for line in run_compiler(["-E"] + flags_of(folder, target) + [source], "the headers do not compile").splitlines():
        mark = re.match(r'# \d+ "([^"]*)"', line)
        if mark:
            ours = "/burn/plugin/" in mark.group(1)
        elif ours:
            kept.append(line)
    return "\n".join(kept)


def body_at(text, brace):
    """The text between the brace at `brace` and its partner, and the place after it."""
    depth = 0
    for at in range(brace, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return text[brace + 1:at], at + 1
    raise Wrong("a brace is not closed")


def one_line(text):
    return re.sub(r"\s*([*(),;\[\]{}])\s*", r"\1", re.sub(r"\s+", " ", text)).strip().replace(",", ", ").replace("*", " *")


def members(struct, body):
    """(name, declaration) of each member."""
    found = []
    for declaration in split_at_top(body):
        pointer = re.search(r"\(\s*\*\s*(\w+)\s*\)\s*\(", declaration)
        if pointer:
            found.append((pointer.group(1), one_line(declaration)))
            continue
        for declarator in re.sub(r"\{.*\}", "", declaration, flags=re.S).split(","):
            plain = re.search(r"(\w+)\s*(\[[^\]]*\]\s*)*$", declarator)
            if not plain:
                raise Wrong(f"{struct}: which member is this? {one_line(declaration)}")
            found.append((plain.group(1), one_line(declaration)))
    return found


def split_at_top(body):
    """The declarations of a struct: at semicolons outside of braces."""
    depth, start, parts = 0, 0, []
    for at, character in enumerate(body):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == ";" and depth == 0:
            parts.append(body[start:at].strip())
            start = at + 1
    return [part for part in parts if part]


def structs_of(text):
    found = []
    for match in re.finditer(r"\bstruct (Burn\w+) \{", text):
        if match.group(1) in STAYS_INSIDE:
            continue
        body, _ = body_at(text, match.end() - 1)
        found.append((match.group(1), members(match.group(1), body)))
    return found


def enumerators_of(text):
    names = []
    for match in re.finditer(r"\benum\s*(\w*)\s*\{", text):
        body, _ = body_at(text, match.end() - 1)
        depth_free = re.sub(r"\([^()]*\)", "", body)
        names += [entry.split("=")[0].strip() for entry in depth_free.split(",") if entry.strip()]
    return names


def types_of(text):
    """typedefs that are not structs: numbers and pointers to functions."""
    found = []
    for match in re.finditer(r"\btypedef ([^;{}]*);", text):
        words = one_line(match.group(1))
        if not words.startswith("struct "):
            found.append(words)
    return found


def without_comments(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def macros_of(folder):
    """(name, body) of the macros without arguments."""
    found = {}
    for header in headers_of(folder):
        with open(os.path.join(folder, "burn", "plugin", header)) as file:
            text = without_comments(file.read()).replace("\\\n", " ")
        for name, body in re.findall(r"^#define (BURN_\w+)[ \t]+(\S.*)$", text, flags=re.M):
            if name not in NOT_NUMBERS and not name.endswith("_H"):
                found[name] = body.strip()
    return found


def check_nothing_is_missing(folder, structs):
    """Structs that a condition hides from the compiler are in the text all the same."""
    known = {name for name, _ in structs} | STAYS_INSIDE
    for header in headers_of(folder):
        with open(os.path.join(folder, "burn", "plugin", header)) as file:
            text = without_comments(file.read())
        for name in re.findall(r"\bstruct (Burn\w+) \{", text):
            if name not in known and not name.endswith("_"):
                raise Wrong(f"{header}: {name} is not seen by the compiler, so it cannot be kept")


OPS_PROGRAM = r"""
#undef BURN_OP
#define BURN_IN(name) " " #name
#define BURN_OPTIONAL(name) " " #name "?"
#define BURN_LIST(name) " " #name ".."
#define BURN_NONE ""
#define BURN_ATTR(TAG, attr, fallback) "\n" #attr " " #TAG " " #fallback
#define BURN_ATTR_SINCE(minor, TAG, attr, fallback) "\n" #attr " " #TAG " " #fallback " since " #minor
static void op(const char *line, const char *name, const char *inputs, const char *attrs, const char *doc) {
  printf("op %s inputs%s\n", line, *inputs ? inputs : " -");
  for (const char *attr = attrs; *attr;) {
    const char *end = strchr(attr + 1, '\n') ? strchr(attr + 1, '\n') : attr + strlen(attr);
    printf("attr %s.%.*s\n", name, (int)(end - attr - 1), attr + 1);
    attr = end;
  }
  printf("doc %s %s\n", name, doc);
}
static void ops(void) {
#define BURN_OP(number, name, family, since, rule, kinds, inputs, attrs, outputs, form, gradient, traits, doc) \
  op(#number " " #name " family " #family " since " #since " " #form " kinds " #kinds " outputs " #outputs " gradient " #gradient \
     " traits " #traits, #name, "" inputs, "" attrs, doc);
#include <burn/plugin/ops.def>
}
static void dtypes(void) {
#define BURN_DTYPE(number, NAME, name, bytes, KIND, c_type) printf("dtype %d %s %s bytes %d kind %s\n", number, #NAME, #name, bytes, #KIND);
#include <burn/plugin/dtypes.def>
}
static void statuses(void) {
#define BURN_STATUS(number, NAME, text) printf("status %d %s\n", number, #NAME);
#include <burn/plugin/status.def>
}
"""


def program_of(folder, structs, enumerators, macros):
    lines = [includes(folder), "#include <stdio.h>\n#include <stdint.h>\n"]
    # attribute structs have members by the macros that the ops' program defines anew: after the headers
    lines.append(OPS_PROGRAM)
    lines.append("int main(void) {\n")
    lines.append('  printf("abi %u.%u serves %u\\n", BURN_ABI_MAJOR, BURN_ABI_MINOR, BURN_ABI_OLDEST_MINOR);\n')
    for name, body in sorted(macros.items()):
        if name in ("BURN_ABI_MAJOR", "BURN_ABI_MINOR", "BURN_ABI_OLDEST_MINOR") or name.endswith("_MIN_BYTES"):
            continue
        if body.startswith('"'):
            lines.append(f'  printf("text {name} %s\\n", {name});\n')
        else:
            lines.append(f'  printf("number {name} %lld\\n", (long long)({name}));\n')
    lines += [f'  printf("enum {name} %lld\\n", (long long)({name}));\n' for name in enumerators]
    for struct, list_of_members in structs:
        if struct.startswith("BurnAttrs_"):
            continue
        # what a struct is called in macros: BurnOpCall is BURN_OP_CALL
        least = "BURN_" + re.sub(r"(?<=[a-z])(?=[A-Z])", "_", struct[4:]).upper() + "_MIN_BYTES"
        least_text, least_value = (" least %d", f", (int)({least})") if least in macros else ("", "")
        lines.append(f'  printf("struct {struct} bytes %d{least_text}\\n", (int)sizeof(struct {struct}){least_value});\n')
        for name, declaration in list_of_members:
            lines.append(f'  printf("member {struct}.{name} at %d bytes %d: {declaration}\\n", (int)offsetof(struct {struct}, {name}),'
                         f' (int)sizeof(((struct {struct} *)0)->{name}));\n')
    lines.append("  dtypes();\n  statuses();\n  ops();\n  return 0;\n}\n")
    return "".join(lines)


def shortened_docs(lines):
    """Doc texts as a hash: words may change, but somebody has to look whether the meaning did."""
    for line in lines:
        if line.startswith("doc "):
            _, name, text = line.split(" ", 2)
            line = f"doc {name} {hashlib.sha256(text.encode()).hexdigest()[:12]}"
        yield line


def interfaces_of(folder):
    names = set()
    for header in headers_of(folder):
        with open(os.path.join(folder, "burn", "plugin", header)) as file:
            names |= set(re.findall(r'"(burn\.[a-z_]+)"', file.read()))
    return sorted(names)


def snapshot_of(folder, target=None):
    """The lines, for a plugin that targets this minor (default: the headers' own)."""
    with tempfile.TemporaryDirectory() as scratch:
        text = preprocessed(folder, target, scratch)
        structs = structs_of(text)
        if not target:
            check_nothing_is_missing(folder, structs)
        macros = macros_of(folder)
        ops = set(re.findall(r"\bBURN_OP_(\w+) = \(\d+\)", text))
        enumerators = [name for name in enumerators_of(text) if name[len("BURN_OP_"):] not in ops or not name.startswith("BURN_OP_")]
        source, program = os.path.join(scratch, "snapshot.c"), os.path.join(scratch, "snapshot")
        with open(source, "w") as file:
            file.write(program_of(folder, structs, enumerators, macros))
        run_compiler(flags_of(folder, target) + [source, "-o", program], "a program made of the headers does not compile")
        lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    lines = list(shortened_docs(lines))
    lines += [f"type {words}" for words in types_of(text)]
    lines += [f"interface {name}" for name in interfaces_of(folder)]
    least = {f"BURN_{re.sub(r'(?<=[a-z])(?=[A-Z])', '_', s[4:]).upper()}_MIN_BYTES" for s, _ in structs}
    for name in macros:
        if name.endswith("_MIN_BYTES") and name not in least:
            raise Wrong(f"{name} is the least size of no struct: its name has to be that of the struct")
    return lines


# -- comparing --------------------------------------------------------------------------------------------------------

def key_of(line):
    """What a line is about: the same in the line's next version."""
    words = line.split(" ")
    if words[0] == "op":
        return f"op {words[2]}"
    if words[0] in ("dtype", "status"):
        return f"{words[0]} {words[2]}"
    if words[0] == "type":
        return "type " + re.search(r"(Burn\w+)\)?(\(.*)?$", line[5:].replace("(*", "(").replace("( *", "(")).group(1) \
            if "(" in line else "type " + words[-1]
    return " ".join(words[:2])


def by_key(lines):
    table = {}
    for line in lines:
        if line.startswith("abi "):
            continue
        if key_of(line) in table:
            raise Wrong(f"two lines about '{key_of(line)}'")
        table[key_of(line)] = line
    return table


def version_of(lines):
    match = re.match(r"abi (\d+)\.(\d+) serves (\d+)$", lines[0])
    return tuple(int(part) for part in match.groups())


def differences(old, new):
    """(key, old line or None, new line or None), in the order of the new text, what is gone last."""
    before, after = by_key(old), by_key(new)
    found = [(key, before.get(key), line) for key, line in after.items() if before.get(key) != line]
    return found + [(key, line, None) for key, line in before.items() if key not in after]


def say(change):
    _, old, new = change
    return "\n".join(f"  {sign} {line}" for sign, line in (("-", old), ("+", new)) if line)


def owner_of(key):
    """The struct of a member, the op of an attribute."""
    return key.split(" ")[1].split(".")[0]


def order_of(lines, kind, owner):
    return [key_of(line) for line in lines if line.startswith(f"{kind} {owner}.")]


def must_be_a_prefix(kind, old, new, owners, words):
    problems = []
    for owner in owners:
        before, after = order_of(old, kind, owner), order_of(new, kind, owner)
        if before != after[:len(before)]:
            place = next((key for key, other in zip(after, before + [None] * len(after)) if key != other), before[-1])
            problems.append(f"{place}: {words}")
    return problems


def is_frozen(struct, old):
    has_size = f"member {struct}.struct_size" in by_key(old) or struct in GROWS_BY_A_STRIDE
    return struct in FROZEN or not has_size


def broken_rules(old, new):
    """What a later minor must not do while it serves the older one."""
    problems = []
    minor = version_of(new)[1]
    for key, before, after in differences(old, new):
        kind = key.split(" ")[0]
        if before and not after and kind != "doc":
            problems.append(f"{key}: gone. Numbers, members and ops stay for the life of a major\n{say((key, before, after))}")
        elif before and kind in ("member", "enum", "number", "text", "type", "dtype", "status", "op", "attr"):
            if key in ("enum BURN_OP_LIMIT",) or key.endswith("_LIMIT"):
                continue  # one above the last of a list that grows
            problems.append(f"{key}: changed. What plugins have compiled in stays as it is; add a new one instead\n{say((key, before, after))}")
        elif before and kind == "struct":
            least = [re.search(r"least (\d+)", line) for line in (before, after)]
            if least[0] and (not least[1] or least[0].group(1) != least[1].group(1)):
                problems.append(f"{key}: its least size is that of its first version and never changes\n{say((key, before, after))}")
            elif is_frozen(owner_of(key), old):
                problems.append(f"{key}: its layout is frozen, nothing tells what is in it\n{say((key, before, after))}")
            elif int(before.split(" ")[3]) > int(after.split(" ")[3]):
                problems.append(f"{key}: smaller than it was\n{say((key, before, after))}")
        elif not before and kind == "attr" and f"op {owner_of(key)}" in by_key(old) and not re.search(rf" since {minor}$", after):
            problems.append(f"{key}: an attribute that an op gets later is BURN_ATTR_SINCE({minor}, ..), with a default\n{say((key, before, after))}")
        elif not before and kind == "op" and f" since {minor} " not in after:
            problems.append(f"{key}: the op came with minor {minor}, so its column `since` says {minor}\n{say((key, before, after))}")
    structs = {owner_of(key) for key in by_key(old) if key.startswith("member ")}
    ops = {owner_of(key) for key in by_key(old) if key.startswith("attr ")}
    problems += must_be_a_prefix("member", old, new, sorted(structs), "members are appended at the end of their struct only")
    problems += must_be_a_prefix("attr", old, new, sorted(ops), "attributes are appended at the end only")
    return problems


def seen_too_early(arguments, old, new):
    """Members that a plugin for the older minor would see: it would be larger than its hosts know."""
    minor = version_of(new)[1]
    shown = by_key(line for line in snapshot_of(arguments.headers, version_of(old)[1]) if not line.startswith("abi "))
    before = by_key(old)
    return [f"{key}: a plugin that targets 0.{version_of(old)[1]} sees it: put it into #if BURN_TARGET_MINOR >= {minor}" for key in shown
            if key.startswith("member ") and key not in before and f"struct {owner_of(key)}" in before]


def always_wrong(new):
    problems = []
    for line in new:
        since = re.match(r"op \d+ (\w+) .*since (\d+) (\w+) ", line)
        if since and int(since.group(2)) > FIRST_CLOSED and since.group(3) == "PRIMITIVE":
            problems.append(f"op {since.group(1)}: came after 0.{FIRST_CLOSED}, whose primitives are a closed set: make it COMPOSITE, so"
                            " that plugins which do not know it run its parts")
        if re.match(r"attr .* REQUIRED since \d+$", line):
            problems.append(f"{key_of(line)}: a later attribute needs a default: callers and plugins built earlier do not give it")
    return problems


def has_section(changes, version):
    with open(changes) as file:
        return re.search(rf"^## {version[0]}\.{version[1]}\b", file.read(), flags=re.M) is not None


def judge(arguments, old, new):
    """The problems of the headers beside the snapshot."""
    problems = always_wrong(new)
    found = differences(old, new)
    was, now = version_of(old), version_of(new)
    docs = [change for change in found if change[0].startswith("doc ") and change[1] and change[2]]
    others = [change for change in found if change not in docs]
    for change in docs:
        problems.append(f"{change[0]}: the text of this op changed. Did its meaning? Then it is a new op: give it a new number. If only"
                        f" the words changed: tests/abi/update --same-meaning\n{say(change)}")
    if was == now:
        for change in others:
            problems.append(f"{change[0]}: differs from tests/abi/snapshot.txt, and BURN_ABI_MINOR is still {now[1]}\n{say(change)}")
        if others:
            problems.append(f"plugins of 0.{now[1]} have compiled this in. Either take it back, or: set BURN_ABI_MINOR to {now[1] + 1} in"
                            f" abi.h, put new members into #if BURN_TARGET_MINOR >= {now[1] + 1}, add a section '## {now[0]}.{now[1] + 1}'"
                            " to plugin-api/CHANGES.md, run tests/abi/update")
        return problems
    if now[:2] > was[:2] and not has_section(arguments.changes, now):
        problems.append(f"BURN_ABI_MINOR is {now[1]}, but plugin-api/CHANGES.md has no section '## {now[0]}.{now[1]}'")
    if now[:2] < was[:2]:
        problems.append(f"the version went back, from {was[0]}.{was[1]} to {now[0]}.{now[1]}")
    if now[0] == was[0] and now[2] <= was[1]:
        problems += broken_rules(old, new) + seen_too_early(arguments, old, new)
    return problems


# -- commands ---------------------------------------------------------------------------------------------------------

def read_snapshot(arguments):
    with open(arguments.snapshot) as file:
        return [line for line in file.read().splitlines() if line and not line.startswith("#")]


def write_snapshot(arguments, lines):
    with open(arguments.snapshot, "w") as file:
        file.write("# What plugins compile in. Written by tests/abi/update, compared by ./dev check: see tests/abi/README.md.\n")
        file.write("\n".join(lines) + "\n")


def check(arguments):
    problems = judge(arguments, read_snapshot(arguments), snapshot_of(arguments.headers))
    for problem in problems:
        print(f"snapshot: {problem}", file=sys.stderr)
    if not problems:
        print("snapshot: the plugin ABI is the one of tests/abi/snapshot.txt, or has grown by the rules")
    return 1 if problems else 0


def is_kept(arguments, version):
    return os.path.isdir(os.path.join(arguments.kept, f"{version[0]}.{version[1]}"))


def update(arguments):
    new = snapshot_of(arguments.headers)
    old = read_snapshot(arguments) if os.path.exists(arguments.snapshot) else [new[0]]
    problems = judge(arguments, old, new)
    if version_of(old)[:2] == version_of(new)[:2] and not is_kept(arguments, version_of(new)):
        problems = always_wrong(new)  # a minor that nobody has yet may still change
    if arguments.same_meaning:
        problems = [problem for problem in problems if not problem.startswith("doc ")]
    for problem in problems:
        print(f"snapshot: {problem}", file=sys.stderr)
    if problems:
        return 1
    write_snapshot(arguments, new)
    print(f"snapshot: {len(new)} lines of {new[0]}")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["check", "update", "print"])
    parser.add_argument("--same-meaning", action="store_true")
    parser.add_argument("--headers", default=os.path.join(ROOT, "plugin-api", "include"))
    parser.add_argument("--snapshot", default=os.path.join(HERE, "snapshot.txt"))
    parser.add_argument("--changes", default=os.path.join(ROOT, "plugin-api", "CHANGES.md"))
    parser.add_argument("--kept", default=os.path.join(HERE, "zoo"))
    arguments = parser.parse_args()
    try:
        if arguments.command == "print":
            print("\n".join(snapshot_of(arguments.headers)))
            return 0
        return check(arguments) if arguments.command == "check" else update(arguments)
    except Wrong as problem:
        print(f"snapshot: {problem}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
