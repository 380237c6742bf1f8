#!/usr/bin/env python3
"""Writes schedule_golden.h beside this file: rates of iterations 0 .. 24 by PyTorch's schedulers where it has Burn's, else
by the formula of surface.md section 3.4 (Noam), or put together from them (composed, sequential, warm-up).

Run: python3 tests/golden/make_schedule_golden.py   (made with PyTorch 2.15)
"""
import math
import os
import warnings
import torch
import torch.optim.lr_scheduler as S

COUNT = 25
warnings.simplefilter("ignore")


def by_torch(initial, make, count=COUNT):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=initial)
    scheduler, rates = make(optimizer), []
    for _ in range(count):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return rates


def noam(factor, warmup_steps, model_size):
    return [factor * model_size ** -0.5 * min((i + 1) ** -0.5, (i + 1) * warmup_steps ** -1.5) for i in range(COUNT)]


rows = []


def golden(name, rates):
    text = ", ".join(f"{rate:.17g}" for rate in rates[:COUNT])
    lines, line = [], ""
    for item in text.split(", "):
        if len(line) + len(item) > 114:
            lines.append(line)
            line = ""
        line += item + ", "
    lines.append(line)
    rows.append(f"static const double golden_{name}[] = {{\n    " + "\n    ".join(x.rstrip() for x in lines) + "\n};\n")


falling = by_torch(0.5, lambda o: S.LinearLR(o, 1.0, 0.2, 10))  # 0.5 to 0.1
rising = by_torch(0.9, lambda o: S.LinearLR(o, 1 / 9, 1.0, 7))  # 0.1 to 0.9
exponential = by_torch(0.8, lambda o: S.ExponentialLR(o, 0.9))
step = by_torch(0.6, lambda o: S.StepLR(o, 4, 0.5))
cosine = by_torch(0.5, lambda o: S.CosineAnnealingLR(o, 8, 0.1))
golden("constant", [0.3] * COUNT)
golden("linear", falling)
golden("linear_rising", rising)
golden("exponential", exponential)
golden("cosine", cosine)
golden("step", step)
golden("step_default", by_torch(0.6, lambda o: S.StepLR(o, 4)))
golden("noam", noam(2.0, 6, 16))
golden("noam_default", noam(1.0, 4000, 512))
golden("product", [a * b for a, b in zip(falling, step)])
golden("sum", [a + b + c for a, b, c in zip(falling, step, cosine)])
golden("average", [(a + b + c) / 3 for a, b, c in zip(falling, step, cosine)])
golden("sequential", rising[:5] + exponential[:7] + cosine)
golden("warm_up", [0.05 + (cosine[0] - 0.05) * i / 6 for i in range(6)] + cosine)
assert all(math.isclose(a, b) for a, b in zip(  # the same by PyTorch's own sequence
    [0.05 + (0.5 - 0.05) * i / 6 for i in range(6)] + cosine,
    by_torch(0.5, lambda o: S.SequentialLR(o, [S.LinearLR(o, 0.1, 1.0, 6), S.CosineAnnealingLR(o, 8, 0.1)], [6]))))

path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "schedule_golden.h")
with open(path, "w") as out:
    out.write("/* schedule_golden.h - rates of iterations 0 .. 24, written by make_schedule_golden.py. */\n")
    out.write("#ifndef BURN_SCHEDULE_GOLDEN_H\n#define BURN_SCHEDULE_GOLDEN_H\n\n")
    out.write("\n".join(rows))
    out.write("\n#endif\n")
