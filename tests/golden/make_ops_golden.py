#!/usr/bin/env python3
"""Writes ops_<family>_golden.h beside this file: inputs and expected outputs of every op, computed by PyTorch and NumPy.

A row is CASE(op, case, inputs, numbers, outputs, relative, absolute); tests/support/ops_case.h says how it is read and run.
Tensors are text: "f32[2,3] 1 2 3 4 5 6", separated by ";"; "-" is an absent input; "f32[64,130] @7" is pattern 7; an expected
tensor "f32[64,130] ~a b" gives two weighted sums instead of all elements; "$3" is the TEXT row 3 of the file. Tolerances
of 0 ask for equal bits.

Where Burn's rules differ from PyTorch's (integer division by zero, max_pair with NaN, slices with a negative step, chunk, roll,
softplus without threshold, quiet_softmax, lanczos3, cov, ceil_mode of pools, saturating casts), the rule is written out in the
family's script.
Run: python3 tests/golden/make_ops_golden.py   (made with PyTorch 1.13 and NumPy 1.24)
"""
import ops_activation
import ops_backward
import ops_elementwise
import ops_index
import ops_layers
import ops_linalg
import ops_math
import ops_move
import ops_reduce
import ops_sequence
import ops_shape
import ops_signal
import ops_windows
import ops_sort

if __name__ == "__main__":
    ops_elementwise.elementwise()
    ops_math.math()
    ops_reduce.reduce()
    ops_shape.shape()
    ops_index.index()
    ops_layers.layers()
    ops_activation.activation()
    ops_backward.backward()
    ops_linalg.linalg()
    ops_signal.signal()
    ops_windows.windows()
    ops_sequence.sequence()
    ops_move.move()
    ops_sort.sort()
