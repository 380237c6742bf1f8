"""What the generators of golden values for layers share: inputs, and cases with values and gradients, by PyTorch in f64.

A case is one array: the value of a layer, then the gradients of its inputs and parameters of the sum of value * weights, with the
weights pattern(shape of the value, 50). tests/support/nn_gradients.h computes the same.
"""
import os

import torch

torch.set_default_dtype(torch.float64)


def pattern(shape, k):
    """The test input k: numbers of -2 .. 2 that tests/support/nn_testing.h makes too."""
    count = 1
    for size in shape:
        count *= size
    return torch.tensor([((i * 37 + k * 11) % 101 - 50) / 25 for i in range(count)]).reshape(shape)


def leaf(shape, k):
    return pattern(shape, k).requires_grad_()


class Golden:
    """The arrays of one header."""

    def __init__(self, header, what):
        self.header, self.what, self.rows = header, what, []

    def values(self, name, numbers):
        lines, line = [], ""
        for value in numbers:
            item = f"{value:.12g}, "
            if len(line) + len(item) > 118:
                lines.append("    " + line.rstrip())
                line = ""
            line += item
        lines.append("    " + line.rstrip())
        self.rows.append(f"static const double golden_{name}[] = {{\n" + "\n".join(lines) + "\n};\n")

    def case(self, name, y, *inputs):
        """The value y, and its gradients with regard to the leaves `inputs`."""
        numbers = y.detach().reshape(-1).tolist()
        if inputs:
            for gradient in torch.autograd.grad((y * pattern(y.shape, 50)).sum(), inputs, retain_graph=True):
                numbers += gradient.reshape(-1).tolist()
        self.values(name, numbers)

    def write(self):
        guard = "BURN_" + self.header.upper().replace(".", "_")
        version = torch.__version__.split("+")[0]
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), self.header)
        with open(path, "w") as file:
            file.write(f"/* {self.header} - {self.what} by PyTorch {version} in f64, written by make_{self.header[:-2]}.py; "
                       "see\n * nn_golden.py. */\n"
                       f"#ifndef {guard}\n#define {guard}\n\n" + "\n".join(self.rows) + "\n#endif\n")
