"""What ./dev bench onnx runs: models in folders, ours and ONNX Runtime in turns, each in a process of its own.

    onnx_bench.py PROGRAM FOLDER [--peer PYTHON] [--threads 1,0] [--rounds N] [--seconds S] [--models a,b] [--backend STACK] [--json]

PROGRAM is onnx_bench; a model is FOLDER/<name>/model.onnx with its inputs in FOLDER/<name>/ref_0. Both sides warm up, then
take turns of S seconds; compared are the medians of their turns. 0 threads are all processors. Before anything is
measured the outputs of both are compared. A chain of 4,000 nodes is made and loaded, too.
"""
import argparse
import json
import os
import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "fuzz"))
sys.dont_write_bytecode = True
from make_corpus import message, onnx_floats, onnx_model, onnx_node  # noqa: E402

PAUSE = 0.01  # threads of the other side that wait in a loop stop meanwhile


class Side:
    """A process that obeys lines."""

    def __init__(self, command, **environment):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})
        self.first = self.answer().split()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit("onnx_bench.py: %s has ended with %s" % (" ".join(self.process.args), self.process.wait()))
        return line.strip()

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.answer()

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def ours(options, model, threads):
    command = [options.program, str(model / "model.onnx"), "--set", str(model / "ref_0"), "--backend", options.backend]
    return Side(command, BURN_THREADS=str(threads))


def peer(options, file, threads, folder):
    return Side([options.peer, str(HERE / "onnx_runtime.py"), str(file), str(threads), folder])


def read_npy(path):
    """Shape and numbers of a .npy file, without NumPy, which only the peer needs."""
    data = pathlib.Path(path).read_bytes()
    begin = 10 + struct.unpack_from("<H", data, 8)[0] if data[6] == 1 else 12 + struct.unpack_from("<I", data, 8)[0]
    header = eval(data[10 if data[6] == 1 else 12:begin], {"__builtins__": {}})  # a literal that our own processes wrote
    kind = {"<f4": "f", "<f8": "d", "<i8": "q", "<i4": "i", "|u1": "B", "|b1": "?", "<f2": "e"}[header["descr"]]
    return struct.unpack_from("<%d%s" % ((len(data) - begin) // struct.calcsize(kind), kind), data, begin)


def difference(folder, other, count):
    """The largest of |a - b| - 1e-3 |b|."""
    worst = 0.0
    for i in range(count):
        a, b = read_npy("%s/output_%d.npy" % (folder, i)), read_npy("%s/output_%d.npy" % (other, i))
        if len(a) != len(b):
            return float("inf")
        worst = max([worst] + [abs(x - y) - 1e-3 * abs(y) for x, y in zip(a, b)])
    return worst


def compare(name, us, them):
    with tempfile.TemporaryDirectory() as a, tempfile.TemporaryDirectory() as b:
        us.ask("outputs " + a)
        them.ask("outputs " + b)
        worst = difference(a, b, len(os.listdir(b)))
    if not worst <= 1e-4:
        sys.exit("onnx_bench.py: %s: outputs differ by %g" % (name, worst))


def turns(options, us, them):
    """Seconds of one run of each side: medians over rounds."""
    sides = [us, them] if them else [us]
    times = [[] for _ in sides]
    for side in sides:
        side.ask("run %g" % (2 * options.seconds))
    for i in range(options.rounds):
        for k in sorted(range(len(sides)), key=lambda k: (k + i) % 2):  # nobody always comes first
            time.sleep(PAUSE if them else 0)
            times[k].append(float(sides[k].ask("run %g" % options.seconds)))
    return [statistics.median(t) for t in times]


def measure(options, model, threads):
    us, them = ours(options, model, threads), None
    with tempfile.TemporaryDirectory() as folder:
        us.ask("inputs " + folder)
        if options.peer:
            them = peer(options, model / "model.onnx", threads, folder)
            compare(model.name, us, them)
        seconds = turns(options, us, them)
        memory = [[int(kib) for kib in side.ask("memory").split()] for side in (us, them) if side]
    row = {"model": model.name, "threads": threads, "nodes": int(us.first[2]), "load_s": float(us.first[1]), "us": 1e6 * seconds[0], "peak_kib": memory[0][1], "grown_kib": memory[0][1] - memory[0][0]}
    if them:
        row.update({"peer_load_s": float(them.first[1]), "peer_us": 1e6 * seconds[1], "ratio": seconds[0] / seconds[1], "peer_peak_kib": memory[1][1], "peer_grown_kib": memory[1][1] - memory[1][0]})
    for side in (us, them):
        if side:
            side.end()
    return row


def chain(folder, count):
    """A model of `count` nodes, each of which has a weight: products, sums and activations of [2, 64]."""
    nodes, weights, value = [], [], "x"
    for i in range(count // 4):
        weights += [onnx_floats("w%d" % i, [64, 64], *[((7 * k + i) % 13 - 6) / 64 for k in range(64 * 64)]), onnx_floats("b%d" % i, [64], *[0.1] * 64)]
        for op, inputs in (("MatMul", [value, "w%d" % i]), ("Add", ["a%d" % i, "b%d" % i]), ("Tanh", ["c%d" % i]), ("Relu", ["d%d" % i])):
            out = "%s%d" % ({"MatMul": "a", "Add": "c", "Tanh": "d", "Relu": "e"}[op], i)
            nodes.append(onnx_node(op, inputs, [out]))
        value = "e%d" % i
    model = pathlib.Path(folder) / "chain"
    (model / "ref_0").mkdir(parents=True)
    (model / "model.onnx").write_bytes(onnx_model(nodes, weights, outputs=[value]))
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 64), }"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    (model / "ref_0" / "input_0.npy").write_bytes(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + struct.pack("<128f", *[0.01] * 128))
    return model


def load_time(options, count):
    """The chain loaded five times each, in turns: medians in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        model = chain(folder, count)
        seconds = [[], []]
        for _ in range(5):
            sides = [ours(options, model, 1)] + ([peer(options, model / "model.onnx", 1, str(model / "ref_0"))] if options.peer else [])
            for times, side in zip(seconds, sides):
                times.append(float(side.first[1]))
                side.end()
    row = {"nodes": count, "load_s": statistics.median(seconds[0])}
    if options.peer:
        row["peer_load_s"] = statistics.median(seconds[1])
    return row


def show(row):
    line = "%-20s %2d %5d %10.1f" % (row["model"], row["threads"], row["nodes"], row["us"])
    if "ratio" in row:
        line += " %10.1f %6.2f" % (row["peer_us"], row["ratio"])
    line += " %8.1f %6.1f" % (row["peak_kib"] / 1024, row["grown_kib"] / 1024)
    if "ratio" in row:
        line += " %8.1f %6.1f" % (row["peer_peak_kib"] / 1024, row["peer_grown_kib"] / 1024)
    print(line, flush=True)


def summary(options, rows, threads):
    mine = [row for row in rows if row["threads"] == threads and "ratio" in row]
    if not mine:
        return
    ratios, worst = [row["ratio"] for row in mine], max(mine, key=lambda row: row["ratio"])
    line = {"threads": threads, "median_ratio": statistics.median(ratios), "worst_ratio": worst["ratio"], "worst_model": worst["model"],
            "worst_memory": max(row["peak_kib"] / row["peer_peak_kib"] for row in mine if row["peer_peak_kib"])}
    if options.json:
        print(json.dumps(line))
    else:
        print("%d threads: median ratio %.2f, worst %.2f (%s), most memory %.2f of theirs" % (threads, line["median_ratio"], worst["ratio"], worst["model"], line["worst_memory"]))


def parse():
    parser = argparse.ArgumentParser(description="ONNX models beside ONNX Runtime", prog="./dev bench onnx")
    parser.add_argument("program", help=argparse.SUPPRESS)
    parser.add_argument("folder", help=argparse.SUPPRESS)
    parser.add_argument("--peer", help="a Python with onnxruntime; without one only ours is measured")
    parser.add_argument("--threads", default="1,0", help="of both sides, 0: all processors (1,0)")
    parser.add_argument("--rounds", type=int, default=11, help="turns of each side (11)")
    parser.add_argument("--seconds", type=float, default=0.05, help="of a turn (0.05)")
    parser.add_argument("--models", default="", help="names of folders; all")
    parser.add_argument("--nodes", type=int, default=4000, help="of the chain that is loaded (4000); 0: none")
    parser.add_argument("--backend", default="ndarray", help="stack (ndarray)")
    parser.add_argument("--json", action="store_true", help="every line a JSON object")
    return parser.parse_args()


def main():
    options = parse()
    found = sorted(p.parent.name for p in pathlib.Path(options.folder).glob("*/model.onnx"))
    names = options.models.split(",") if options.models and found else found
    if not names:
        print("skipped: there is no model in %s" % options.folder)
        sys.exit(77)
    rows = []
    if not options.json:
        print("%-20s %2s %5s %10s" % ("model", "th", "nodes", "us") + (" %10s %6s" % ("theirs", "ratio") if options.peer else "") + " %8s %6s" % ("peak MiB", "grown") + (" %8s %6s" % ("theirs", "grown") if options.peer else ""))
    wanted = sorted({int(t) or os.cpu_count() for t in options.threads.split(",")})
    for threads in wanted:
        for name in names:
            rows.append(measure(options, pathlib.Path(options.folder) / name, threads))
            print(json.dumps(rows[-1]), flush=True) if options.json else show(rows[-1])
    for threads in wanted:
        summary(options, rows, threads)
    if options.nodes:
        row = load_time(options, options.nodes)
        print(json.dumps(row) if options.json else "%d nodes: loaded in %.3f s" % (row["nodes"], row["load_s"]) + (", theirs %.3f s" % row["peer_load_s"] if options.peer else ""))


if __name__ == "__main__":
    main()
