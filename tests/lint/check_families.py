"""Every part of an op sits in a file of its family, the column `family` of ops.def: shape rule, decomposition, public function,
gradient rule, and the kernels of torch, reference, ndarray and GPUs. Parts are found by how they are written; a file is of a family
if its name has the family's word (infer_norm.c, torch_elementwise_compare.cpp). The tests of an op and of a public function sit
likewise: its golden rows, the script that makes them, the line that runs them, and its gradient cases. A function without a row
in ops.def is of the family of the file that defines it (core/ops/ops_statistics.c: statistics).
Prints what is elsewhere, exits 1 if anything is.
"""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPS = "plugin-api/include/burn/plugin/ops.def"
GRADIENTS = "decorators/autodiff/gradients.def"

# Shape rules of ops of several families: in the family that most of their ops have.
SHARED_RULES = {"same": "elementwise", "same_dim": "activation"}
# Gradient rules likewise. (There are none yet.)
SHARED_GRADIENTS = {}
# Files with kernels of several families, each with its reason. None: of all families.
SHARED_FILES = {
    "torch_jit.cpp": (None, "what CUDA alone has, compiled at run time"),
    "ndarray_elementwise.c": ({"elementwise", "activation", "index"}, "one list of loops, which the fused machine shares: activations "
                              "and masks run as elementwise ops do"),
    "gpu_elementwise.c": ({"elementwise", "activation", "index"}, "one kernel for what has an expression: activations and masks run as "
                          "elementwise ops do"),
    "gpu_row.c": ({"activation"}, "softmax and its kin, by the rows that norms and losses share"),
    "gpu_attention.c": ({"sequence"}, "as long as all else of its family"),
    "gpu_linear.c": ({"linalg"}, "linear and its gradients, which are products with a bias"),
}
# Where each kind of part is looked for, and how it is written; group 1 is the name of the op (or of the rule).
PARTS = {
    "shape rule": ("core/infer/*.c", r"^BURN_RULE\((\w+)\)"),
    "decomposition": ("core/decompose/*.c", r"^[A-Z]+\((\w+)\)"),
    "public function": ("core/**/*.c", r"^(?:[A-Z_]+\(|(?:BurnTensor \*|void )burn_)(\w+)[,()]"),
    "gradient rule": ("decorators/autodiff/*.c", r"^void burn__gradient_(\w+)\("),
    "torch kernel": ("plugins/torch/*.cpp", r"(?:\{BURN_OP_|^ +(?:UNARY|COMPARE)\()(\w+),"),
    "reference kernel": ("plugins/reference/reference_*.*", r"(?:\{BURN_OP_|^(?:BOTH|REAL|WHOLE|SAME|SCALAR|OWN)\()(\w+),"),
    "gpu kernel": ("plugins/gpu/gpu_*.c", r"\{BURN_OP_(\w+),"),
    "ndarray kernel": ("plugins/ndarray/**/*.c", r"(?:\{BURN_OP_|^ +ND_ROW\()(\w+),"),
}
# What tests an op or a function: group 1 is its name, with words after it that say what is special (conv2d_asymmetric), and
# group 2, if there is one, the op of ops.def that stands beside it.
TESTS = {
    "golden row": ("tests/golden/ops_*_golden.h", r'^CASE\("(\w+)"'),
    "golden script": ("tests/golden/ops_*.py", r'\bcase\("(\w+)"'),
    "test": ("tests/unit/ops/*_test.c", r"^  (?:OPS\(|[A-Z_]+\(OPS, )(\w+)[,)]"),
    "gradient case": ("tests/unit/autodiff/*.def", r"^CASE\((\w+), (\w+),"),
}
FUNCTIONS = ("core/ops/ops_*.c", r"^(?:[A-Z_]+\(|(?:BurnTensor \*|BurnStatus |void )burn_)(\w+)[,()]")
# Names of tests that are not a function's, as C has that word for itself.
TEST_NAMES = {"to_bool": "cast"}
# Tables by op that are not lists of kernels.
NOT_KERNELS = {"ndarray_kernels_common.c", "gpu_mixed.c"}

Op = collections.namedtuple("Op", "name family rule form gradient")
Place = collections.namedtuple("Place", "path line")


def ops(root):
    """The rows of ops.def."""
    rows = re.split(r"^BURN_OP\(", re.sub(r"/\*.*?\*/", "", (root / OPS).read_text(), flags=re.S), flags=re.M)[1:]
    for row in rows:
        head = re.match(r"\d+, (\w+), (\w+), \d+, (\w+),", row)
        tail = re.search(r"\b(PRIMITIVE|COMPOSITE),\s*(RULE|VIA|CONSTANT)\b", row)
        if head and tail:
            yield Op(*head.groups(), *tail.groups())


def places(root, glob, pattern):
    """Where each name is written."""
    found = collections.defaultdict(list)
    for path in sorted(root.glob(glob)):
        if path.name in NOT_KERNELS:
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if "#define" in line:
                continue
            for match in re.finditer(pattern, line):
                found[match.group(1)].append(Place(path.relative_to(root), number))
    return found


def is_of(path, family):
    """True if the file may hold a part of an op of this family."""
    if path.name in SHARED_FILES:
        families = SHARED_FILES[path.name][0]
        return families is None or family in families
    return family in re.split(r"[_.]", path.name)


def misplaced(kind, name, family, found):
    for place in found[name]:
        if not is_of(place.path, family):
            yield f"{place.path}:{place.line}: the {kind} of {name}, an op of the family {family}"


def shared_family(kind, name, families, shared):
    """The family of a rule by the ops that have it; a problem where these are of several and nobody has said which it is."""
    if name in shared:
        return shared[name], None if shared[name] in families else f"{kind} {name}: no op of the family {shared[name]} has it"
    if len(families) > 1:
        return None, f"{kind} {name}: its ops are of {', '.join(sorted(families))}; say in check_families.py which it belongs to"
    return next(iter(families)), None


def check_rules(kind, families_by_rule, shared, found):
    """Of rules that are named in a column: shape rules, gradient rules."""
    for rule, families in sorted(families_by_rule.items()):
        family, problem = shared_family(kind, rule, families, shared)
        if problem:
            yield problem
        elif not found[rule]:
            yield f"{kind} {rule}: there is none"
        else:
            yield from misplaced(kind, rule, family, found)


def gradient_rows(root):
    """(op, rule, the file that the comment above the row names) of gradients.def."""
    section = None
    for line in (root / GRADIENTS).read_text().splitlines():
        comment = re.match(r"/\* (gradient_\w+\.c) \*/", line)
        section = comment.group(1) if comment else section
        row = re.match(r"GRADIENT\((\w+),.*\b(\w+)\)$", line)
        if row:
            yield row.group(1), row.group(2), section


def check_gradients(root, by_name, found):
    families = collections.defaultdict(set)
    for name, rule, section in gradient_rows(root):
        families[rule].add(by_name[name].family)
        if section != f"gradient_{by_name[name].family}.c":
            yield f"{GRADIENTS}: {name}, an op of the family {by_name[name].family}, stands under {section}"
    yield from check_rules("gradient rule", families, SHARED_GRADIENTS, found)


def test_family(names, families):
    """The family of what a test names: of the longest name that the first begins with, else of the second; None: of nothing."""
    words = TEST_NAMES.get(names[0], names[0]).split("_")
    begins = ("_".join(words[:count]) for count in range(len(words), 0, -1))
    return next((families[name] for name in [*begins, *names[1:]] if name in families), None)


def check_tests(root, table):
    """Of tests: what each names is an op or a function, in a file of its family."""
    families = {name: found[0].path.stem.split("_")[1] for name, found in places(root, *FUNCTIONS).items()}
    families.update((op.name, op.family) for op in table)
    for kind, (glob, pattern) in TESTS.items():
        for path in sorted(root.glob(glob)):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                for match in re.finditer(pattern, line):
                    place, family = f"{path.relative_to(root)}:{number}", test_family(match.groups(), families)
                    if family is None:
                        yield f"{place}: {match.group(1)} is neither an op nor a public function"
                    elif not is_of(path, family):
                        yield f"{place}: a {kind} of {match.group(1)}, which is of the family {family}"


def check(root):
    """All problems, as lines."""
    found = {kind: places(root, *how) for kind, how in PARTS.items()}
    table = list(ops(root))
    rules = collections.defaultdict(set)
    for op in table:
        rules[op.rule].add(op.family)
        for kind in ("decomposition", "public function", "torch kernel", "reference kernel", "gpu kernel", "ndarray kernel"):
            yield from misplaced(kind, op.name, op.family, found[kind])
        needed = {"COMPOSITE": ["decomposition"], "PRIMITIVE": ["reference kernel", "ndarray kernel"]}[op.form]
        for kind in needed:
            if not found[kind][op.name]:
                yield f"{kind} of {op.name}: there is none"
    yield from check_rules("shape rule", rules, SHARED_RULES, found["shape rule"])
    yield from check_gradients(root, {op.name: op for op in table}, found["gradient rule"])
    yield from check_tests(root, table)


def main():
    problems = list(check(ROOT))
    for problem in problems:
        print("check:", problem)
    if not problems:
        families = {op.family for op in ops(ROOT)}
        print(f"check: {len(list(ops(ROOT)))} ops in {len(families)} families; their parts and tests are in files of these names")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
