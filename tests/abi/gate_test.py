#!/usr/bin/env python3
"""gate_test.py - that snapshot.py finds what would break plugins: each change on a copy of the headers, and what is said of it."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import snapshot  # noqa: E402

KEPT_MINOR = 4  # of the headers that the changes below are made in: those of the zoo, once they are kept there
KEPT_HEADERS = os.path.join(HERE, "zoo", f"0.{KEPT_MINOR}", "include")
HEADERS = KEPT_HEADERS if os.path.isdir(KEPT_HEADERS) else os.path.join(ROOT, "plugin-api", "include")
NEXT = KEPT_MINOR + 1


class Gate(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.headers = os.path.join(self.folder, "include")
        shutil.copytree(HEADERS, self.headers)
        self.changes = os.path.join(self.folder, "CHANGES.md")
        self.kept = os.path.join(self.folder, "zoo")
        with open(self.changes, "w") as file:
            file.write(f"# Changes\n\n## 0.{KEPT_MINOR} (the one of this test)\n")
        self.file = os.path.join(self.folder, "snapshot.txt")
        os.makedirs(os.path.join(self.kept, f"0.{KEPT_MINOR}"))
        with open(self.file, "w") as file:
            file.write(self.reference)

    @classmethod
    def setUpClass(cls):
        cls.reference = "\n".join(snapshot.snapshot_of(HEADERS)) + "\n"

    def tearDown(self):
        shutil.rmtree(self.folder)

    def edit(self, header, old, new):
        path = os.path.join(self.headers, "burn", "plugin", header)
        with open(path) as file:
            text = file.read()
        self.assertEqual(text.count(old), 1, f"{header} has '{old}' {text.count(old)} times: this test needs another place")
        with open(path, "w") as file:
            file.write(text.replace(old, new))

    def bump(self, with_section=True):
        self.edit("abi.h", f"#define BURN_ABI_MINOR {KEPT_MINOR}u", f"#define BURN_ABI_MINOR {NEXT}u")
        self.edit("abi.h", f"BURN_TARGET_MINOR > {KEPT_MINOR}", f"BURN_TARGET_MINOR > {NEXT}")
        self.edit("abi.h", f"#define BURN_SINCE_{KEPT_MINOR}(...) __VA_ARGS__\n",
                  f"#define BURN_SINCE_{KEPT_MINOR}(...) __VA_ARGS__\n#if BURN_TARGET_MINOR >= {NEXT}\n"
                  f"#define BURN_SINCE_{NEXT}(...) __VA_ARGS__\n#else\n#define BURN_SINCE_{NEXT}(...)\n#endif\n")
        if with_section:
            with open(self.changes, "a") as file:
                file.write(f"\n## 0.{NEXT}\n")

    def run_gate(self, *arguments):
        return subprocess.run([sys.executable, os.path.join(HERE, "snapshot.py"), *arguments, "--headers", self.headers, "--snapshot",
                               self.file, "--changes", self.changes, "--kept", self.kept], capture_output=True, text=True)

    def refused(self, *parts):
        done = self.run_gate("check")
        self.assertEqual(done.returncode, 1, done.stdout)
        for part in parts:
            self.assertIn(part, done.stderr)

    def passes(self):
        done = self.run_gate("check")
        self.assertEqual(done.returncode, 0, done.stderr)

    # -- without a bump

    def test_unchanged_headers_pass(self):
        self.passes()

    def test_comments_are_free(self):
        self.edit("plugin.h", "/* Kinds of a plugin. */", "/* What kinds of plugins there are. */")
        self.passes()

    def test_a_member_inserted(self):
        self.edit("plugin.h", "  const char *license;", "  const char *homepage;\n  const char *license;")
        self.refused("member BurnPlugin.homepage: differs", f"BURN_ABI_MINOR is still {KEPT_MINOR}", "+ member BurnPlugin.homepage at 40",
                     f"set BURN_ABI_MINOR to {NEXT}", f"'## 0.{NEXT}'")

    def test_an_argument_more_without_another_layout(self):
        self.edit("backend.h", "(BURN_API_CALL *trim)(void *self);", "(BURN_API_CALL *trim)(void *self, uint32_t level);")
        self.refused("member BurnBackend.trim: differs", "uint32_t level")

    def test_an_op_renumbered(self):
        self.edit("ops.def", "BURN_OP(33, neg,", "BURN_OP(32, neg,")
        self.refused("op neg: differs", "- op 33 neg", "+ op 32 neg")

    def test_an_attribute_appended(self):
        self.edit("ops.def", "BURN_OP(6, eye, create, 4, create, ANY, BURN_NONE, BURN_ATTR(I64S, shape, REQUIRED)",
                  "BURN_OP(6, eye, create, 4, create, ANY, BURN_NONE, BURN_ATTR(I64, diagonal, 0) BURN_ATTR(I64S, shape, REQUIRED)")
        self.refused("attr eye.diagonal: differs", "+ attr eye.diagonal I64 0")

    def test_a_default_changed(self):
        self.edit("ops.def", "BURN_ATTR(NUMBER, low, 0) BURN_ATTR(NUMBER, high, 1)", "BURN_ATTR(NUMBER, low, 0) BURN_ATTR(NUMBER, high, 2)")
        self.refused("attr random_uniform.high: differs", "- attr random_uniform.high NUMBER 1", "+ attr random_uniform.high NUMBER 2")

    def test_a_limit_changed(self):
        self.edit("abi.h", "#define BURN_MAX_OUTPUTS 8u", "#define BURN_MAX_OUTPUTS 9u")
        self.refused("number BURN_MAX_OUTPUTS: differs")

    def test_a_doc_asks_for_the_meaning(self):
        self.edit("ops.def", '"square root"', '"square root, 0 for what is negative"')
        self.refused("doc sqrt: the text of this op changed. Did its meaning? Then it is a new op", "--same-meaning")
        self.assertEqual(self.run_gate("update").returncode, 1)
        self.assertEqual(self.run_gate("update", "--same-meaning").returncode, 0)
        self.passes()

    def test_a_struct_that_the_compiler_does_not_see(self):
        self.edit("plugin.h", "/* Kinds of a plugin. */", "#if defined(NEVER)\nstruct BurnHidden {\n  uint32_t struct_size;\n};\n#endif")
        self.refused("BurnHidden is not seen by the compiler")

    # -- with one

    def test_growth_by_the_rules(self):
        self.bump()
        self.edit("plugin.h", "(const char *name, uint32_t min_version);\n} BurnPlugin;",
                  f"(const char *name, uint32_t min_version);\n#if BURN_TARGET_MINOR >= {NEXT}\n  const char *homepage;\n#endif\n}} BurnPlugin;")
        self.edit("ops.def", 'BURN_ATTR(DTYPE, dtype, REQUIRED), 1, PRIMITIVE, RULE, ELEMENTWISE,',
                  f'BURN_ATTR(DTYPE, dtype, REQUIRED) BURN_ATTR_SINCE({NEXT}, BOOL, saturate, 0), 1, PRIMITIVE, RULE, ELEMENTWISE,')
        self.passes()
        self.assertEqual(self.run_gate("update").returncode, 0)
        self.passes()

    def test_a_bump_without_a_section(self):
        self.bump(with_section=False)
        self.refused(f"CHANGES.md has no section '## 0.{NEXT}'")

    def test_a_late_primitive(self):
        self.bump()
        self.edit("ops.def", "BURN_OP(33, neg, elementwise, 4,",
                  f'BURN_OP(32, half, elementwise, {NEXT}, same, FLOAT, BURN_IN(x), BURN_NONE, 1, PRIMITIVE, RULE, ELEMENTWISE, "x / 2")\n'
                  "BURN_OP(33, neg, elementwise, 4,")
        self.refused("op half: came after 0.4, whose primitives are a closed set: make it COMPOSITE")

    def test_a_late_attribute_that_is_not_marked(self):
        self.bump()
        self.edit("ops.def", 'BURN_ATTR(DTYPE, dtype, REQUIRED), 1, PRIMITIVE, RULE, ELEMENTWISE,',
                  'BURN_ATTR(DTYPE, dtype, REQUIRED) BURN_ATTR(BOOL, saturate, 0), 1, PRIMITIVE, RULE, ELEMENTWISE,')
        self.refused(f"attr cast.saturate: an attribute that an op gets later is BURN_ATTR_SINCE({NEXT}, ..), with a default")

    def test_a_late_attribute_in_front(self):
        self.bump()
        self.edit("ops.def", 'BURN_ATTR(DTYPE, dtype, REQUIRED), 1, PRIMITIVE, RULE, ELEMENTWISE,',
                  f'BURN_ATTR_SINCE({NEXT}, BOOL, saturate, 0) BURN_ATTR(DTYPE, dtype, REQUIRED), 1, PRIMITIVE, RULE, ELEMENTWISE,')
        self.refused("attr cast.saturate: attributes are appended at the end only")

    def test_a_member_in_the_middle(self):
        self.bump()
        self.edit("plugin.h", "  const char *license;", f"#if BURN_TARGET_MINOR >= {NEXT}\n  const char *homepage;\n#endif\n  const char *license;")
        self.refused("member BurnPlugin.homepage: members are appended at the end of their struct only", "member BurnPlugin.license: changed")

    def test_a_member_that_older_targets_see(self):
        self.bump()
        self.edit("plugin.h", "(const char *name, uint32_t min_version);\n} BurnPlugin;",
                  "(const char *name, uint32_t min_version);\n  const char *homepage;\n} BurnPlugin;")
        self.refused(f"member BurnPlugin.homepage: a plugin that targets 0.{KEPT_MINOR} sees it: put it into #if BURN_TARGET_MINOR >= {NEXT}")

    def test_a_frozen_layout(self):
        self.bump()
        self.edit("backend.h", "  void *self;\n} BurnInterface;", f"  void *self;\n#if BURN_TARGET_MINOR >= {NEXT}\n  void *more;\n#endif\n}} BurnInterface;")
        self.refused("struct BurnInterface: its layout is frozen")

    def test_a_least_size_changed(self):
        self.bump()
        self.edit("plugin.h", "BURN_BYTES_THROUGH(BurnPlugin, get_interface)", "BURN_BYTES_THROUGH(BurnPlugin, description)")
        self.refused("struct BurnPlugin: its least size is that of its first version and never changes")

    def test_an_op_that_is_gone(self):
        self.bump()
        self.edit("ops.def", 'BURN_OP(44, erf, elementwise, 4, same, FLOAT, BURN_IN(x), BURN_NONE, 1, PRIMITIVE, RULE, ELEMENTWISE, "error function")\n', "")
        self.refused("op erf: gone")

    def test_a_kept_minor_cannot_be_amended(self):
        self.edit("abi.h", "#define BURN_MAX_OUTPUTS 8u", "#define BURN_MAX_OUTPUTS 9u")
        self.assertEqual(self.run_gate("update").returncode, 1)
        os.rmdir(os.path.join(self.kept, f"0.{KEPT_MINOR}"))
        self.assertEqual(self.run_gate("update").returncode, 0)


if __name__ == "__main__":
    unittest.main()
