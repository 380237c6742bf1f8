#!/usr/bin/env python3
"""Writes optimizer_golden.h beside this file: parameters after 1, 2 and 20 steps of each optimizer, in f64, and losses of
L-BFGS. Where PyTorch has Burn's formula, PyTorch computes them, with Burn's defaults passed explicitly; else the formula is
written here, from surface.md section 3.1 (of burn-optim). Those that both have are compared.

Parameters and gradients are not stored: start(i) and table(i, t) are the same numbers here and in optimizer_golden_test.c.
Run: python3 tests/golden/make_optimizer_golden.py   (made with PyTorch 2.15)
"""
import os
import numpy as np
import torch

torch.set_default_dtype(torch.float64)
STEPS, SHOWN, PULL, RATE = 20, (1, 2, 20), 0.3, 0.05
WEIGHTS, BIASES = 12, 4


def start(i):
    return ((i * 29) % 37 - 18) / 20


def table(i, t):
    return ((i * 37 + t * 23) % 101 - 50) / 40


def tables(first, shape, t):
    return np.array([table(first + i, t) for i in range(int(np.prod(shape)))]).reshape(shape)


# -- rules: step(param, gradient, state, rate) gives the new param -------------------------------


def sgd(weight_decay=0, momentum=None, dampening=0.1, nesterov=False):
    def step(p, g, state, rate):
        g = g + weight_decay * p
        if momentum is None:
            return p - rate * g
        v = (1 - dampening) * g + momentum * state["v"] if "v" in state else g
        state["v"] = v
        return p - rate * (g + momentum * v if nesterov else v)
    return step


def adam(beta_1=0.9, beta_2=0.999, epsilon=1e-5, weight_decay=0, decoupled=0, cautious=False, amsgrad=False):
    def step(p, g, state, rate):
        g = g + weight_decay * p
        t = state["t"] = state.get("t", 0) + 1
        m = state["m"] = beta_1 * state.get("m", 0) + (1 - beta_1) * g
        v = state["v"] = beta_2 * state.get("v", 0) + (1 - beta_2) * g * g
        if amsgrad:
            v = state["max"] = np.maximum(state.get("max", 0), v)
        way = m / (1 - beta_1 ** t) / (np.sqrt(v / (1 - beta_2 ** t)) + epsilon)
        decay = rate * decoupled * p
        if cautious:
            decay = np.where((p >= 0) == (m >= 0), decay, 0)
        return p - decay - rate * way
    return step


def rmsprop(alpha=0.99, momentum=0.9, epsilon=1e-5, centered=False, weight_decay=0):
    def step(p, g, state, rate):
        g = g + weight_decay * p
        s = state["s"] = alpha * state.get("s", 0) + (1 - alpha) * g * g
        if centered:
            a = state["a"] = alpha * state.get("a", 0) + (1 - alpha) * g
            s = s - a * a
        u = g / (np.sqrt(s) + epsilon)
        u = state["b"] = momentum * state.get("b", 0) + u
        return p - rate * u
    return step


def adagrad(lr_decay=0, epsilon=1e-5, weight_decay=0):
    def step(p, g, state, rate):
        g = g + weight_decay * p
        t = state["t"] = state.get("t", 0) + 1
        s = state["s"] = state.get("s", 0) + g * g
        return p - rate / (1 + (t - 1) * lr_decay) * g / (np.sqrt(s) + epsilon)
    return step


def adan(beta_1=0.98, beta_2=0.92, beta_3=0.99, epsilon=1e-8, weight_decay=0, no_prox=False):
    def step(p, g, state, rate):
        t = state["t"] = state.get("t", 0) + 1
        d = g - state["g"] if "g" in state else np.zeros_like(g)
        state["g"] = g
        m = state["m"] = beta_1 * state.get("m", 0) + (1 - beta_1) * g
        n = state["n"] = beta_2 * state.get("n", 0) + (1 - beta_2) * d
        v = state["v"] = beta_3 * state.get("v", 0) + (1 - beta_3) * (g + beta_2 * d) ** 2
        q = np.sqrt(v / (1 - beta_3 ** t)) + epsilon
        u = m / (1 - beta_1 ** t) / q + beta_2 * n / (1 - beta_2 ** t) / q
        if no_prox:
            return p * (1 - rate * weight_decay) - rate * u
        return (p - rate * u) / (1 + rate * weight_decay)
    return step


def muon(momentum=0.95, dampening=0.0, nesterov=True, ns=(3.4445, -4.775, 2.0315), steps=5, epsilon=1e-7, match=False,
         weight_decay=0):
    def step(p, g, state, rate):
        v = (1 - dampening) * g + momentum * state["v"] if "v" in state else g
        state["v"] = v
        x = g + momentum * v if nesterov else v
        rows, columns = x.shape
        x = x.T if rows > columns else x
        x = x / max(np.sqrt((x * x).sum()), epsilon)
        for _ in range(steps):
            a = x @ x.T
            x = ns[0] * x + (ns[1] * a + ns[2] * a @ a) @ x
        x = x.T if rows > columns else x
        fitted = rate * (0.2 * np.sqrt(max(rows, columns)) if match else np.sqrt(max(1.0, rows / columns)))
        return p * (1 - rate * weight_decay) - fitted * x
    return step


# -- clipping: of all gradients of a step --------------------------------------------------------


def by_value(limit):
    return lambda gradients: [np.clip(g, -limit, limit) for g in gradients]


def by_norm(limit):
    tiny = np.finfo(np.float64).tiny
    return lambda gradients: [g * min(1.0, limit / (np.sqrt((g * g).sum()) + tiny)) for g in gradients]


def by_global_norm(limit):
    def clip(gradients):
        params = [torch.nn.Parameter(torch.zeros(g.shape)) for g in gradients]
        for p, g in zip(params, gradients):
            p.grad = torch.tensor(g)
        torch.nn.utils.clip_grad_norm_(params, limit)
        return [p.grad.numpy() for p in params]
    return clip


# -- runs ----------------------------------------------------------------------------------------


def starts(shape):
    values = [start(i) for i in range(WEIGHTS + BIASES)]
    return [np.array(values[:WEIGHTS]).reshape(shape), np.array(values[WEIGHTS:])]


def flat(params):
    return np.concatenate([p.reshape(-1) for p in params])


def gradients_of(params, t):
    return [tables(first, p.shape, t) + PULL * p for first, p in zip((0, WEIGHTS), params)]


def run_rules(rules, clip, shape=(3, 4)):
    params, states, shown = starts(shape)[:len(rules)], [{} for _ in rules], []
    for t in range(1, STEPS + 1):
        gradients = clip(gradients_of(params, t))
        params = [r(p, g, s, RATE) for r, p, g, s in zip(rules, params, gradients, states)]
        if t in SHOWN:
            shown.append(flat(params))
    return np.array(shown)


def run_torch(make, clip):
    params, shown = [torch.nn.Parameter(torch.tensor(p)) for p in starts((3, 4))], []
    optimizer = make(params)
    for t in range(1, STEPS + 1):
        for p, g in zip(params, clip(gradients_of([p.detach().numpy() for p in params], t))):
            p.grad = torch.tensor(g)
        optimizer.step()
        if t in SHOWN:
            shown.append(flat([p.detach().numpy() for p in params]))
    return np.array(shown)


rows = []


def golden(name, values):
    items, lines, line = [f"{v:.17g}, " for v in np.asarray(values).reshape(-1)], [], ""
    for item in items:
        if len(line) + len(item) > 116:
            lines.append(line.rstrip())
            line = ""
        line += item
    lines.append(line.rstrip())
    rows.append(f"static const double golden_{name}[] = {{\n    " + "\n    ".join(lines) + "\n};\n")


def whole(gradients):
    return gradients


def case(name, rule, make=None, clip=whole):
    """A rule for weight and bias; `make`: the optimizer of PyTorch that has the same formula."""
    values = run_rules([rule, rule], clip)
    if make:
        by_torch = run_torch(make, clip)
        assert np.abs(values - by_torch).max() < 1e-12, name
        values = by_torch
    golden(name, values)


T = torch.optim
case("sgd", sgd(), lambda p: T.SGD(p, RATE))
case("sgd_decay", sgd(0.2), lambda p: T.SGD(p, RATE, weight_decay=0.2))
case("sgd_momentum", sgd(0, 0.9), lambda p: T.SGD(p, RATE, momentum=0.9, dampening=0.1))
case("sgd_momentum_decay", sgd(0.2, 0.9, 0.4), lambda p: T.SGD(p, RATE, momentum=0.9, dampening=0.4, weight_decay=0.2))
case("sgd_nesterov", sgd(0, 0.9, 0.1, True))
case("sgd_nesterov_undamped", sgd(0.2, 0.8, 0, True), lambda p: T.SGD(p, RATE, momentum=0.8, nesterov=True, weight_decay=0.2))

adam_defaults = dict(betas=(0.9, 0.999), eps=1e-5, weight_decay=0)
case("adam", adam(), lambda p: T.Adam(p, RATE, **adam_defaults))
case("adam_decay", adam(0.7, 0.9, 1e-2, 0.4), lambda p: T.Adam(p, RATE, (0.7, 0.9), 1e-2, 0.4))
case("adam_amsgrad", adam(0.9, 0.7, amsgrad=True), lambda p: T.Adam(p, RATE, (0.9, 0.7), 1e-5, amsgrad=True))
case("adam_amsgrad_decay", adam(0.7, 0.6, 1e-2, 0.4, amsgrad=True), lambda p: T.Adam(p, RATE, (0.7, 0.6), 1e-2, 0.4, amsgrad=True))
case("adamw", adam(decoupled=1e-4), lambda p: T.AdamW(p, RATE, (0.9, 0.999), 1e-5, 1e-4))
case("adamw_decay", adam(0.7, 0.9, 1e-2, 0, 0.4), lambda p: T.AdamW(p, RATE, (0.7, 0.9), 1e-2, 0.4))
case("adamw_amsgrad", adam(0.7, 0.6, 1e-2, 0, 0.4, amsgrad=True), lambda p: T.AdamW(p, RATE, (0.7, 0.6), 1e-2, 0.4, amsgrad=True))
case("adamw_cautious", adam(0.7, 0.9, 1e-2, 0, 0.4, True))
case("adamw_cautious_amsgrad", adam(0.7, 0.6, 1e-2, 0, 0.4, True, True))

case("rmsprop", rmsprop(), lambda p: T.RMSprop(p, RATE, 0.99, 1e-5, 0, 0.9))
case("rmsprop_centered", rmsprop(centered=True), lambda p: T.RMSprop(p, RATE, 0.99, 1e-5, 0, 0.9, True))
case("rmsprop_plain", rmsprop(0.9, 0, 1e-3, False, 0.1), lambda p: T.RMSprop(p, RATE, 0.9, 1e-3, 0.1, 0))
case("rmsprop_centered_plain", rmsprop(0.9, 0, 1e-3, True, 0.1), lambda p: T.RMSprop(p, RATE, 0.9, 1e-3, 0.1, 0, True))

case("adagrad", adagrad(), lambda p: T.Adagrad(p, RATE, 0, 0, 0, 1e-5))
case("adagrad_decay", adagrad(0.1, 1e-3, 0.2), lambda p: T.Adagrad(p, RATE, 0.1, 0.2, 0, 1e-3))

case("adan", adan())
case("adan_decay", adan(0.9, 0.8, 0.95, 1e-3, 0.4))
case("adan_no_prox", adan(0.9, 0.8, 0.95, 1e-3, 0.4, True))

golden("muon", run_rules([muon()], whole))
golden("muon_tall", run_rules([muon()], whole, (4, 3)))
golden("muon_plain", run_rules([muon(0.8, 0.1, False, (2, -1.5, 0.5), 3, 1e-7, True, 0.3)], whole, (4, 3)))
golden("muon_and_adam", run_rules([muon(), adam()], whole))

case("clip_value", sgd(0, 0.9), None, by_value(0.4))
case("clip_norm", sgd(0, 0.9), None, by_norm(0.9))
case("clip_global_norm", sgd(0, 0.9), None, by_global_norm(0.9))
golden("groups", run_rules([adam(), sgd(0, 0.9)], lambda g: [g[0], by_value(0.1)(g[1:])[0]]))

# -- L-BFGS: Rosenbrock's function of 4 numbers, and waves, losses and parameters after each of 4 steps -----


def rosenbrock(x):
    return (10 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def waves(k, w, a):
    return lambda x: (k * x * x + a * torch.cos(w * x)).sum()


def lbfgs(name, rate, function=rosenbrock, begin=(-1.2, 1.0, -0.5, 0.8), **options):
    x = torch.nn.Parameter(torch.tensor(begin))
    optimizer = T.LBFGS([x], rate, tolerance_grad=1e-7, tolerance_change=1e-9, **options)

    def closure():
        optimizer.zero_grad()
        loss = function(x)
        loss.backward()
        return loss
    shown = []
    for _ in range(4):
        optimizer.step(closure)
        shown += [function(x.detach()).item()] + x.tolist()
    golden(name, shown)


lbfgs("lbfgs", 0.1, max_iter=5, history_size=100)
lbfgs("lbfgs_short_history", 0.1, max_iter=5, history_size=2)
lbfgs("lbfgs_wolfe", 1.0, max_iter=4, max_eval=200, history_size=100, line_search_fn="strong_wolfe")
lbfgs("lbfgs_wolfe_far", 30.0, max_iter=6, max_eval=200, history_size=100, line_search_fn="strong_wolfe")
# In these the search turns around between two points, and meets a loss that has fallen enough but rises again.
lbfgs("lbfgs_wolfe_turning", 10.0, waves(0.1, 3, 0.5), (-5.4, -5.6, 2.0, 4.0), max_iter=3, max_eval=200,
      line_search_fn="strong_wolfe")
lbfgs("lbfgs_wolfe_rising", 0.3, waves(0.05, 2, 0.1), (4.3, 5.1, -2.2, 0.4), max_iter=3, max_eval=200,
      line_search_fn="strong_wolfe")

path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "optimizer_golden.h")
with open(path, "w") as out:
    out.write("/* optimizer_golden.h - parameters after 1, 2 and 20 steps, in f64, written by make_optimizer_golden.py. */\n")
    out.write("#ifndef BURN_OPTIMIZER_GOLDEN_H\n#define BURN_OPTIMIZER_GOLDEN_H\n\n")
    out.write("\n".join(rows))
    out.write("\n#endif\n")
