"""What Doxygen reads of a page of Markdown. Pages and headings get labels by their paths, and links become references. The book is a tree below its
table of contents, with ways to the chapters before and after; a README has those of the folders inside below it."""
import functools
import os
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDE = ROOT / "sdk/guide"
CONTENTS = GUIDE / "README.md"
FRONT = ROOT / "sdk/docs/front.md"
CODE = re.compile(r"^ *```.*?^ *```$|`[^`\n]*`|<!--.*?-->\n?", re.M | re.S)
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
ROW = re.compile(r"^\| \[[^\]]*\]\(([\w-]+\.md)\) \|", re.M)


def label(page, anchor=""):
    name = "page_" + re.sub(r"\W", "_", page.relative_to(ROOT).as_posix().removesuffix(".md"))
    return f"{name}-{anchor}" if anchor else name


def anchor_of(heading):
    """As GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


@functools.lru_cache
def pages():
    """All that ./dev docs gives to Doxygen."""
    found = set()
    for folder, folders, files in os.walk(ROOT):
        if pathlib.Path(folder) == ROOT:
            folders[:] = [name for name in folders if not name.startswith(("build", "."))]
        found |= {pathlib.Path(folder, name) for name in files if name.endswith(".md")}
    return found


@functools.lru_cache
def chapters():
    """The book in its order."""
    return [GUIDE / name for name in ROW.findall(CONTENTS.read_text())]


def linked(page, text):
    def link(match):
        picture, words, target = match.groups()
        name, _, anchor = target.partition("#")
        there = (page.parent / name).resolve() if name else page
        if picture or re.match(r"\w+:", target):
            return match.group(0)
        if there in pages() and words == name:
            return f"@ref {label(there, anchor)}"  # by its title
        if there in pages():
            return f"[{words}](@ref {label(there, anchor)})"
        return words  # to a file that is not a page
    return LINK.sub(link, text)


def with_labels(page, text, whole):
    """`whole` puts code back into a heading."""
    seen = set()

    def heading(match):
        own = anchor_of(whole(match.group(2))) if seen else ""
        if own in seen:
            return match.group(0)
        seen.add(own)
        return f"{match.group(0)} {{#{label(page, own)}}}"
    return re.sub(r"^(#+) (.*)$", heading, text, flags=re.M)


def below(page):
    """The pages below a README: of each folder inside the README, but not of the folders in that."""
    inside = {path for path in pages() if page.parent in path.parents and path != page and path.parent != GUIDE}
    folders = {path.parent for path in inside if path.name == "README.md" and path.parent != page.parent}
    return sorted(path for path in inside if not folders & set(path.parents) - {path.parent})


def with_tree(page, text):
    """Which pages stand below which in the tree at the left."""
    if page == CONTENTS:
        return ROW.sub(lambda row: f"| @subpage {label(GUIDE / row.group(1))} |", text)
    if page == FRONT:
        return re.sub(r"\[[^\]]*\]\(([^)]*\.md)\)", lambda link: f"@subpage {label((page.parent / link.group(1)).resolve())}", text)
    if page.name == "README.md" and page.parent != ROOT and below(page):
        return text + "\n\nIn the folders: " + ", ".join(f"@subpage {label(path)}" for path in below(page)) + ".\n"
    return text


def ways(page):
    """Below a chapter: to the one before, the contents, the one after."""
    if page not in chapters():
        return ""
    order = [CONTENTS, *chapters(), None]
    at = order.index(page)
    ends = [f"Before: @ref {label(order[at - 1])}"] + ([f"Next: @ref {label(order[at + 1])}"] if order[at + 1] else [])
    return "\n\n---\n\n" + " &nbsp; ".join(ends) + "\n"


def markdown(path):
    page, code = path.resolve(), []

    def kept(match):
        code.append("" if match.group(0).startswith("<!--") else match.group(0))
        return f"\0{len(code) - 1}\0"

    def whole(text):
        return re.sub(r"\0(\d+)\0", lambda match: code[int(match.group(1))], text)
    text = CODE.sub(kept, page.read_text())
    text = with_labels(page, linked(page, with_tree(page, text)), whole)
    return whole(text) + ways(page)
