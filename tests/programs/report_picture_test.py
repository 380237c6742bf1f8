"""The picture of a report in the guide is what a report draws.

    report_picture_test.py BUILD SOURCE [--update]

--update writes it anew.
"""
import math
import pathlib
import re
import subprocess
import sys
import tempfile

BUILD, SOURCE = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
PICTURE = SOURCE / "sdk/guide/pictures/report.svg"
STYLE = ("<style>text{font:11px sans-serif;fill:#5c6370}line{stroke:#dcdfe4}polyline{fill:none;stroke-width:1.6}.train{stroke:#c4372b}"
         ".valid{stroke:#2364c4}polyline.batches{opacity:.35;stroke-width:1}circle.train{fill:#c4372b}circle.valid{fill:#2364c4}</style>"
         '<rect width="100%" height="100%" fill="#fff"/>')


def picture(folder):
    """Of logs that are always the same."""
    for epoch in range(1, 9):
        for split, count, more in (("train", 40, 0.0), ("valid", 10, 0.06)):
            log = folder / f"run/{split}/epoch-{epoch}/Loss.log"
            log.parent.mkdir(parents=True)
            losses = [2.2 * math.exp(-(epoch - 1 + i / count) / 1.6) + 0.12 + more + 0.08 * math.sin(57 * i + epoch) for i in range(1, count + 1)]
            log.write_text("".join(f"{loss:.6g},8\n" for loss in losses) + f"{sum(losses) / count:.6g},final\n")
    subprocess.run([BUILD / "bin/burn", "report", "run"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    svg = re.search(r"<svg.*?</svg>\n", (folder / "run/report.html").read_text(), re.DOTALL).group(0)
    svg = svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" width="520" ', 1).replace(">\n", f">\n{STYLE}\n", 1)
    if "--update" in sys.argv:
        PICTURE.write_text(svg)
    assert PICTURE.read_text() == svg, f"{PICTURE} is not what a report draws; --update writes it"


with tempfile.TemporaryDirectory() as name:
    picture(pathlib.Path(name))
