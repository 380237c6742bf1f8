"""check_families.py finds a part of an op that is in a file of another family, or missing, and is silent about the tree as it is."""
import pathlib
import shutil
import tempfile

import check_families

FOLDERS = ["core/infer", "core/decompose", "core/ops", "decorators/autodiff", "plugins", "tests/golden", "tests/unit/ops",
           "tests/unit/autodiff"]


def copy_of_tree(target):
    for folder in FOLDERS:
        shutil.copytree(check_families.ROOT / folder, target / folder)
    (target / check_families.OPS).parent.mkdir(parents=True)
    shutil.copy(check_families.ROOT / check_families.OPS, target / check_families.OPS)


def replaced(old, new):
    """A mistake: this text instead of that in a file."""
    def plant(path):
        text = path.read_text()
        assert old in text, (path, old)
        path.write_text(text.replace(old, new, 1))
    return plant


def renamed(name):
    return lambda path: path.rename(path.with_name(name))


def appended(text):
    return lambda path: path.write_text(path.read_text() + text)


MISTAKES = [
    # (file, what is done to it, what is reported)
    ("core/infer/infer_norm.c", renamed("infer_layers.c"), "the shape rule of layer_norm, an op of the family norm"),
    ("core/infer/infer_norm.c", replaced("BURN_RULE(layer_norm)", "BURN_RULE(other)"), "shape rule layer_norm: there is none"),
    ("core/decompose/decompose_norm.c", renamed("decompose_reduce_rows.c"), "the decomposition of layer_norm, an op of the family norm"),
    ("core/decompose/decompose_norm.c", replaced("DECOMPOSE(layer_norm)", "DECOMPOSE(other)"), "decomposition of layer_norm: there is none"),
    ("core/ops/ops_sort.c", appended("WITH_DIM(softmax)\n"), "the public function of softmax, an op of the family activation"),
    ("core/ops/ops_sort.c", appended("BurnTensor *burn_matmul(BurnTensor *lhs, BurnTensor *rhs) {\n}\n"),
     "the public function of matmul, an op of the family linalg"),
    ("decorators/autodiff/gradient_scan.c", renamed("gradient_reduce_running.c"), "the gradient rule of cumsum, an op of the family scan"),
    (check_families.GRADIENTS, replaced("/* gradient_scan.c */\n", ""), "cumsum, an op of the family scan, stands under"),
    ("plugins/torch/torch_loss.cpp", renamed("torch_norms.cpp"), "the torch kernel of cross_entropy, an op of the family loss"),
    ("plugins/reference/reference_scan.c", renamed("reference_arithmetic.c"), "the reference kernel of cumsum, an op of the family scan"),
    ("plugins/reference/reference_scan.c", replaced("BURN_OP_cumsum,", "0,"), "reference kernel of cumsum: there is none"),
    ("plugins/ndarray/move/ndarray_scan.c", renamed("ndarray_running.c"), "the ndarray kernel of cumsum, an op of the family scan"),
    (check_families.OPS, replaced("softplus, activation,", "softplus, elementwise,"), "softplus, an op of the family elementwise"),
    (check_families.OPS, replaced("prelu, activation, 4, prelu,", "prelu, activation, 4, reshape,"),
     "shape rule reshape: its ops are of activation, view"),
    ("tests/golden/ops_norm_golden.h", renamed("ops_layers_golden.h"), "a golden row of layer_norm, which is of the family norm"),
    ("tests/golden/ops_scan.py", appended('case("softmax", "f32", x, y)\n'), "a golden script of softmax, which is of the family activation"),
    ("tests/golden/ops_scan_golden.h", appended('CASE("nonesuch", "f32", "", "", "", 0, 0)\n'), "nonesuch is neither an op nor a public function"),
    ("tests/unit/ops/ops_conv_test.c", renamed("ops_windows_test.c"), "a test of conv2d_asymmetric, which is of the family conv"),
    ("tests/unit/ops/ops_view_test.c", replaced("  OPS(flip, ", "  OPS(softmin, "), "a test of softmin, which is of the family activation"),
    ("core/ops/ops_statistics.c", renamed("ops_variances.c"), "a test of cov, which is of the family variances"),
    ("tests/unit/autodiff/autodiff_gradient_pool.def", renamed("autodiff_gradient_windows.def"),
     "a gradient case of avg_pool2d_padding, which is of the family pool"),
    ("tests/unit/autodiff/autodiff_gradient_loss.def", appended("CASE(of_some, cumsum, STEP, of_some(x[0]), INPUT(-2, 2, 2))\n"),
     "a gradient case of of_some, which is of the family scan"),
]

with tempfile.TemporaryDirectory() as folder:
    root = pathlib.Path(folder)
    copy_of_tree(root)
    assert list(check_families.check(root)) == [], list(check_families.check(root))
    for name, plant, report in MISTAKES:
        before = {path: path.read_bytes() for path in (root / name).parent.iterdir() if path.is_file()}
        plant(root / name)
        problems = list(check_families.check(root))
        assert any(report in problem for problem in problems), (name, report, problems)
        for path in (root / name).parent.iterdir():
            if path.is_file() and path not in before:
                path.unlink()
        for path, data in before.items():
            path.write_bytes(data)
    assert list(check_families.check(root)) == []
print(f"check: {len(MISTAKES)} planted mistakes of families are found")
