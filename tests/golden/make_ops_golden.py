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
import ops_conv
import ops_create
import ops_elementwise
import ops_elementwise_math
import ops_grid
import ops_index
import ops_linalg
import ops_loss
import ops_move
import ops_norm
import ops_optimizer
import ops_pool
import ops_reduce
import ops_sample
import ops_scan
import ops_sequence
import ops_signal
import ops_sort
import ops_statistics
import ops_view

if __name__ == "__main__":
    ops_activation.activation()
    ops_conv.conv()
    ops_create.create()
    ops_elementwise.elementwise()
    ops_elementwise_math.elementwise_math()
    ops_grid.grid()
    ops_index.index()
    ops_linalg.linalg()
    ops_loss.loss()
    ops_move.move()
    ops_norm.norm()
    ops_optimizer.optimizer()
    ops_pool.pool()
    ops_reduce.reduce()
    ops_sample.sample()
    ops_scan.scan()
    ops_sequence.sequence()
    ops_signal.signal()
    ops_sort.sort()
    ops_statistics.statistics()
    ops_view.view()
