#!/usr/bin/env python3
"""neighbour.py - what a busy neighbour costs: the suite of burn bench alone, then beside processes that do nothing but
compute. Of each case the slowdown is shown, of ours and of the peer's; status 1 where ours is the worse one by more
than a tenth.

    neighbour.py BURN [--neighbours N] [--json] [options of burn bench]

Each neighbour is one process of one thread; without --neighbours there is one. It has the priority of the bench."""
import json
import subprocess
import sys

WORSE = 1.1
HELP = __doc__.split("\n\n", 1)[1]


def fail(message):
    sys.exit(f"neighbour: {message}")


def run_bench(burn, options):
    """The rows of burn bench by case and stack."""
    done = subprocess.run([burn, "bench", "--json", *options], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        fail(f"burn bench ended with status {done.returncode}")
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {(row["case"], row["stack"]): row for row in rows if row.get("ours")}


def run_beside(neighbours, burn, options):
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(neighbours)]
    try:
        return run_bench(burn, options)
    finally:
        for process in busy:
            process.kill()
            process.wait()


def seconds(row, side):
    return row[side]["seconds"] if row.get(side) else None


def compare(alone, beside):
    for (case, stack), row in alone.items():
        other = beside.get((case, stack))
        if other is None:
            fail(f"'{case}' on {stack} ran alone, but not beside a neighbour")
        result = {"case": case, "stack": stack}
        for side in ("ours", "torch"):
            quiet, busy = seconds(row, side), seconds(other, side)
            result[side] = {"alone": quiet, "beside": busy, "slowdown": busy / quiet} if quiet and busy else None
        yield result


def is_worse(result):
    return result["torch"] is not None and result["ours"]["slowdown"] > WORSE * result["torch"]["slowdown"]


def show(results):
    def cells(side):
        if side is None:
            return f"{'-':>10} {'-':>10} {'-':>8}"
        return f"{side['alone'] * 1e3:>10.3f} {side['beside'] * 1e3:>10.3f} {side['slowdown']:>8.2f}"

    print(f"{'':40} {'ours: ms':>10} {'beside':>10} {'slowdown':>8} {'peer: ms':>10} {'beside':>10} {'slowdown':>8}")
    for result in results:
        mark = "  worse" if is_worse(result) else ""
        print(f"{result['case'][:40]:40} {cells(result['ours'])} {cells(result['torch'])}{mark}")


def main(arguments):
    if not arguments or arguments[0] in ("--help", "-h"):
        print(HELP)
        return 0
    burn, options, neighbours, as_json = arguments[0], [], 1, False
    rest = iter(arguments[1:])
    for word in rest:
        if word == "--neighbours":
            text = next(rest, "")
            if not text.isdigit() or int(text) < 1:
                fail(f"--neighbours: '{text}' is not a number of processes, 1 or more")
            neighbours = int(text)
        elif word == "--json":
            as_json = True
        elif word in ("--help", "-h"):
            print(HELP)
            return 0
        else:
            options.append(word)
    results = list(compare(run_bench(burn, options), run_beside(neighbours, burn, options)))
    if not results:
        fail("no case was run: see burn bench --list")
    if as_json:
        for result in results:
            print(json.dumps(result))
    else:
        show(results)
    return 1 if any(is_worse(result) for result in results) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
