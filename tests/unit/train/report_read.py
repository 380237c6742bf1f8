"""A report read by Python's html.parser: report_read.py page|samples FILE."""
import base64
import html.parser
import pathlib
import re
import struct
import sys
import zlib

VOID = {"meta", "img", "br"}
ALLOWED = {"html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "div", "span", "b", "i", "small", "figure", "figcaption", "svg",
           "polyline", "circle", "line", "text", "table", "tr", "th", "td", "pre", "img"}


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open, self.texts, self.images, self.tags = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attributes):
        assert tag in ALLOWED, f"<{tag}>"
        self.tags.append((tag, dict(attributes)))
        for name, value in attributes:
            assert not name.startswith("on") and name not in ("href", "srcset", "xlink:href"), name
            assert name != "src" or value.startswith("data:image/png;base64,"), value
            if name == "src":
                self.images.append(base64.b64decode(value.partition(",")[2], validate=True))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        assert self.open.pop() == tag

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}>"

    def handle_data(self, data):
        self.texts.append(data)


def pixels(png):
    """Of a PNG without filters, by the definition of the format."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, []
    while at < len(png):
        length, = struct.unpack(">I", png[at:at + 4])
        kind, data = png[at + 4:at + 8], png[at + 8:at + 8 + length]
        assert zlib.crc32(kind + data) == struct.unpack(">I", png[at + 8 + length:at + 12 + length])[0]
        chunks.append((kind, data))
        at += 12 + length
    assert [kind for kind, _ in chunks] == [b"IHDR", b"IDAT", b"IEND"]
    width, height, bits, colour, *rest = struct.unpack(">IIBBBBB", chunks[0][1])
    assert bits == 8 and rest == [0, 0, 0]
    row = width * {0: 1, 2: 3}[colour] + 1
    data = zlib.decompress(chunks[1][1])
    assert len(data) == row * height and all(data[i] == 0 for i in range(0, len(data), row))
    return width, height, b"".join(data[i + 1:i + row] for i in range(0, len(data), row))


def main():
    what, path = sys.argv[1:]
    text = pathlib.Path(path).read_bytes().decode("utf-8")
    page = Page(text)
    policy = [a["content"] for tag, a in page.tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'; img-src data:"]
    assert not re.search(r"https?:|@import|url\(", text), "something from elsewhere"
    assert not re.search(r"\b(nan|inf)\b", " ".join(v for t, a in page.tags if t in ("polyline", "circle", "line", "text") for v in a.values() if v))
    for tag, attributes in page.tags:
        for x, y in re.findall(r"([-\d.]+),([-\d.]+)", attributes.get("points", "")):
            assert 0 <= float(x) <= 520 and 0 <= float(y) <= 260, (x, y)
    style = re.search(r"<style>(.*?)</style>", text, re.S).group(1)
    assert re.search(r"@media\(max-width:40rem\)\{[^@]*\btable\{", style), "tables are as wide on a narrow screen"
    assert re.search(r"\bpre\{[^}]*tab-size:2", style), "config.json, which has tabs, is indented far"
    if what == "samples":
        assert {"<no>", 'ye"s', "grey <1>", "two\nlines & more", "5", "7"} <= set(page.texts), page.texts
        assert pixels(page.images[0]) == (5, 3, bytes(17 * i for i in range(15)))
        assert pixels(page.images[1]) == (2, 2, bytes(255 - 20 * i for i in range(12)))
        assert [a["class"] for tag, a in page.tags if a.get("class", "").startswith("card")][-2:] == ["card wrong", "card"]


main()
