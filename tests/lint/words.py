"""Phrases that are not used, with what is written instead: in sources, headers, pages and scripts. CONTRIBUTING.md has the glossary."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUFFIXES = (".c", ".h", ".cpp", ".hpp", ".def", ".inc", ".md", ".sh", ".cmake", ".txt")
LEFT_OUT = ("tests/golden/", "tests/abi/zoo/", "tests/lint/words", "build")
# Pattern, in either case, and replacement.
BANNED = [
    (r"\btakes? NULL\b", "NULL is allowed"),
    (r"\byardsticks?\b", "reference"),
    (r"\bwhy[-_]nots?\b", "reason, refusal"),
    (r"\b(slow|fast) door\b", "slow path, fast path"),
    (r"\broom for %", "the buffer holds %, the list holds %"),
    (r"AttrRoom", "AttrStorage"),
    (r"\bseldom\b", "rarely"),
    (r"\bwhole numbers?\b", "integer"),
    (r"\bnobody asks\b", "never read, not asked for"),
    (r"\bwith a word\b", "with a message"),
    (r"\bof before (version|DLPack|\d)", "before 1.0"),
    (r"\bguards want\b", "guard builds keep"),
    (r"\bwhoever gives\b", "say what the call is"),
    (r"\b(zeros?|padding) behind\b|\bbehind the (last|first)\b", "after"),
    (r"\bbehind (each other|the (end|array)|its end)\b|\bbefore and behind\b", "after"),
    (r"\basks for \w+ elements\b", "prefetches n elements"),
    (r"\bis so many (images|rows)\b", "images per item"),
    (r"\bshall\b", "must, should, is to"),
    (r"\b(files|records|those|contents) of before\b", "from before, earlier"),
    (r"\bwho calls it\b", "its caller"),
    (r"(?-i:\b(MOST|LEAST)_[A-Z]|[A-Z]_MOST_)", "MAX_, MIN_"),
    (r"\b(that|what|which) (is|are|was|were) no (?!damage|time|longer|more|better|faster|larger|loss|use|business|one\b|other|such)\w+", "is not a"),
    (r"\b(each|every) \w+ for itself\b", "digit by digit, of its own"),
]


def findings(text):
    for pattern, instead in BANNED:
        for match in re.finditer(pattern, text, re.IGNORECASE):
            yield text.count("\n", 0, match.start()) + 1, match.group(0), instead


def main():
    assert [f[1] for f in findings("/* Takes NULL;\n seldom */")] == ["Takes NULL", "seldom"]
    problems = 0
    for path in sorted(ROOT.rglob("*")):
        where = path.relative_to(ROOT).as_posix()
        if not path.is_file() or where.startswith(LEFT_OUT + (".git/",)) or not (path.suffix in SUFFIXES or where == "dev"):
            continue
        for line, words, instead in findings(path.read_text(errors="replace")):
            print(f"check: {where}:{line}: '{words}': write {instead}")
            problems += 1
    print(f"check: {len(BANNED)} phrases, used {problems} times")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
