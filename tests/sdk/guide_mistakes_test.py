"""guide_test.py finds what is wrong in a page: pages with a mistake each, and the words that it has for it.

    guide_mistakes_test.py PREFIX CC           run in an empty folder, with the SDK installed in PREFIX"""
import pathlib
import sys

import guide_test

PREFIX, CC = sys.argv[1:3]
PROGRAM = '/* p.c - prints. */\n#include <stdio.h>\nint main(void) {{ puts("{}"); return {}; }}\n'
LEAK = """/* leak.c - forgets a tensor. */
#include <burn/burn.h>
int main(void) {
  BurnDevice *device = burn_device_open(NULL);
  BurnTensor *x = burn_ones(device, BURN_SHAPE(2), BURN_DTYPE_F32);
  (void)x;
  burn_device_close(device);
  return 0;
}
"""


def fence(language, text, mark=""):
    return f"{mark and f'<!-- test: {mark} -->'}\n```{language}\n{text}\n```\n"


# What a page has, and what is said about it. None: nothing.
PAGES = [
    (fence("c", PROGRAM.format("hello", 0)) + fence("text", "hello"), None),
    (fence("c", PROGRAM.format("hello", 0)) + fence("text", "hallo"), "the page shows"),
    (fence("c", PROGRAM.format("loss 0.52", 0)) + fence("text", "loss 0.51", "close"), None),
    (fence("c", PROGRAM.format("loss 0.62", 0)) + fence("text", "loss 0.51", "close"), "the page shows"),
    (fence("c", PROGRAM.format("3 steps", 0)) + fence("text", "12 steps", "numbers"), None),
    (fence("sh", "seq 5") + fence("text", "1\n...\n5"), None),
    (fence("sh", "seq 5") + fence("text", "1\n...\n4"), "the page shows"),
    (fence("sh", "seq 5") + fence("text", "3\n1", "among"), None),
    (fence("sh", "seq 5") + fence("text", "6", "among"), "the page shows"),
    (fence("c", PROGRAM.format("", 3)), "ends with 3"),
    (fence("c", PROGRAM.format("", 3), "fails"), None),
    (fence("c", PROGRAM.format("", 0), "fails"), "ends with 0"),
    (fence("c", "int main(void) { return x; }", "file p.c"), "undeclared"),
    (fence("c", "int unused;", "file p.c") + fence("c", "int main(void) { return 0 }", "file p.c"), "expected"),
    (fence("c", LEAK), "tensors are left over"),
    (fence("c", LEAK, "built") + fence("sh", "./leak"), "tensors are left over"),
    (fence("c", "int main(void) { return 0; }"), "no comment in its first line"),
    (fence("sh", "mkdir d; cd d; x=1; export x; unset y") + fence("sh", 'test "$x" = 1; test "${PWD##*/}" = d'), None),
    (fence("sh", "false; true"), "ends with 1"),
    (fence("json", "{}"), "nothing runs a block of 'json'"),
    (fence("json", "{}", "no"), "has a reason"),
    (fence("json", "{}", "no it is shown only"), None),
    (fence("text", "hello"), "no block above has printed this"),
    ("<!-- test: built -->\nno block\n", "has no block below it"),
    ("<!-- test: build -->\n```sh\ntrue\n```\n", "is none of"),
    ("```sh\ntrue\n", "no '```' ends it"),
    ("Text.\n\n    cc p.c\n", "has no language"),
    (fence("python", "print(6 * 7)") + fence("text", "42"), None),
    (fence("python", "assert False"), "AssertionError"),
]


def said(number, text):
    folder = pathlib.Path(f"page{number}")
    folder.mkdir()
    try:
        guide_test.run_blocks(text, guide_test.Run(PREFIX, CC, folder.resolve()))
    except guide_test.Wrong as error:
        return str(error)
    return None


def check_of_pages():
    page = guide_test.GUIDE / "README.md"
    words = guide_test.check_links(page, "[a](nowhere.md) [b](README.md#no-such-place) [c](ops.md) `[d](code.md)`")
    assert [word.split(": ", 1)[1] for word in words] == \
        ["the link to nowhere.md leads nowhere", "README.md has no heading for the link #no-such-place"], words
    assert guide_test.contents()[:2] == ["first-model", "ownership"], guide_test.contents()


def main():
    for number, (text, wanted) in enumerate(PAGES):
        got = said(number, text)
        assert (got is None) == (wanted is None) and (wanted is None or wanted in got), f"{text}\nwanted: {wanted}\ngot: {got}"
    check_of_pages()
    print(f"guide_mistakes_test: {len(PAGES)} pages")


main()
