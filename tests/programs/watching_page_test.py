"""The guide page on watching a run: its program is compiled and run, its files are there, its picture of a report is what a report draws.

    watching_page_test.py CC BUILD SOURCE [--update]

--update writes the picture anew.
"""
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

CC, BUILD, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3]).resolve()
PAGE = SOURCE / "sdk/guide/watching.md"
PICTURE = SOURCE / "sdk/guide/pictures/report.svg"
STYLE = ("<style>text{font:11px sans-serif;fill:#5c6370}line{stroke:#dcdfe4}polyline{fill:none;stroke-width:1.6}.train{stroke:#c4372b}"
         ".valid{stroke:#2364c4}polyline.batches{opacity:.35;stroke-width:1}circle.train{fill:#c4372b}circle.valid{fill:#2364c4}</style>"
         '<rect width="100%" height="100%" fill="#fff"/>')


def run(*command, folder):
    environment = {**os.environ, "BURN_THREADS": "1", "PATH": f"{BUILD}/bin:{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit(f"watching_page_test: {command} ends with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done


def program(folder):
    code = re.search(r"^```c\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL).group(1)
    (folder / "points.c").write_text(code)
    includes = [f"-I{SOURCE}/{part}/include" for part in ("plugin-api", "core", "nn", "train", "train/dashboard")]
    run(CC, "-std=c11", "-Wall", "-Wextra", "-Werror", *includes, "points.c", f"-L{BUILD}/lib", f"-Wl,-rpath,{BUILD}/lib", "-lburn_dashboard",
        "-lburn_train", "-lburn_nn", "-lburn", "-o", "points", folder=folder)
    done = run("./points", folder=folder)
    assert max(map(len, done.stderr.splitlines())) <= 79, done.stderr
    assert "epoch 5/5  train loss" in done.stderr, done.stderr
    artifacts = folder / "artifacts/points"
    rows = [json.loads(line) for line in (artifacts / "metrics.jsonl").read_text().splitlines()]
    losses = [row["value"] for row in rows if row["metric"] == "Loss" and row["final"] and row["split"] == "valid"]
    assert len(losses) == 5 and losses[-1] < losses[0] / 10, losses
    assert len(list((artifacts / "tensorboard/train").iterdir())) == 1
    assert 'burn_epoch{split="valid"} 5\n' in (artifacts / "burn.prom").read_text()
    assert "<h2>Summary</h2>" in (artifacts / "report.html").read_text()
    done = run("burn", "report", "artifacts/points", folder=folder)
    assert done.stdout == "artifacts/points/report.html\n", done.stdout


def picture(folder):
    """Of logs that are always the same."""
    for epoch in range(1, 9):
        for split, count, more in (("train", 40, 0.0), ("valid", 10, 0.06)):
            log = folder / f"run/{split}/epoch-{epoch}/Loss.log"
            log.parent.mkdir(parents=True)
            losses = [2.2 * math.exp(-(epoch - 1 + i / count) / 1.6) + 0.12 + more + 0.08 * math.sin(57 * i + epoch) for i in range(1, count + 1)]
            log.write_text("".join(f"{loss:.6g},8\n" for loss in losses) + f"{sum(losses) / count:.6g},final\n")
    run("burn", "report", "run", folder=folder)
    svg = re.search(r"<svg.*?</svg>\n", (folder / "run/report.html").read_text(), re.DOTALL).group(0)
    svg = svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" width="520" ', 1).replace(">\n", f">\n{STYLE}\n", 1)
    if "--update" in sys.argv:
        PICTURE.write_text(svg)
    assert PICTURE.read_text() == svg, f"{PICTURE} is not what a report draws; --update writes it"


def main():
    for part in (program, picture):
        with tempfile.TemporaryDirectory() as folder:
            part(pathlib.Path(folder))


main()
