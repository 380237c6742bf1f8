"""What a call from Python costs beside the call in C: microseconds of the processor, the least of several rounds, without
the loop's own time.

    overhead.py [STACK]"""
import sys
import time
import timeit

import burn
from burn import _c

ROUNDS, CALLS = 20, 20_000


def microseconds(text, **names):
    """Of one statement, less that of an empty one; of the processor, which other programs do not lengthen."""
    def least(statement):
        return min(timeit.repeat(statement, timer=time.process_time, globals=names, number=CALLS, repeat=ROUNDS)) / CALLS * 1e6

    return least(text) - least("pass")


def measured(stack="ndarray"):
    """Calls whose work in C takes some nanoseconds: what they take is overhead. Then some with work."""
    x = burn.tensor([[1.0, 2.0], [3.0, 4.0]], device=burn.Device(stack, training=False))
    names = {"c": _c, "x": x}
    rows = {"rank": "c.burn_rank(x)", "dim": "c.burn_dim(x, 1)", "dim by name": "c.burn_dim(x, dim=1)", "clone": "c.burn_clone(x)"}
    work = {"add": "c.burn_add(x, x)", "x + x": "x + x", "x.relu()": "x.relu()", "x.shape": "x.shape"}
    return {name: microseconds(text, **names) for name, text in rows.items()}, {name: microseconds(text, **names) for name, text in work.items()}


if __name__ == "__main__":
    overhead, work = measured(*sys.argv[1:2])
    for name, value in {**overhead, **work}.items():
        print(f"{name:<12} {value:6.3f} us" + ("" if name in overhead else "  with its work"))
