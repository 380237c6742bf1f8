/* torch_linalg.cpp - LU and Fourier transforms. det and qr are not here: ours calls small pivots
 * 0, and LAPACK gives the last column of a square matrix another sign. */
#include "torch_internal.h"

#include <ATen/ops/complex.h>
#include <ATen/ops/fft_fft.h>
#include <ATen/ops/fft_irfft.h>
#include <ATen/ops/fft_rfft.h>
#include <ATen/ops/imag.h>
#include <ATen/ops/linalg_lu.h>
#include <ATen/ops/real.h>

namespace burn_torch {
namespace {

bool has_elements(const BurnOpCall *call, std::string &why) {
  why = "empty tensors are left to the decomposition";
  return burn_primitive_count(call->inputs[0]) > 0 && burn_desc_count(&call->output_descs[0]) > 0;
}

void lu(Run &run) { std::tie(run.out[0], run.out[1], run.out[2]) = at::linalg_lu(run.in(0)); }

/* dim and n are the attributes of all transforms; ATen cuts and pads to n likewise. */
int64_t dim_of(const Run &run) { return run.call->attrs[0].value.i64; }
int64_t n_of(const Run &run) { return run.call->attrs[1].value.i64; }

void put_parts(Run &run, const at::Tensor &bins) {
  run.out[0] = at::real(bins).contiguous();
  run.out[1] = at::imag(bins).contiguous();
}
void rfft(Run &run) { put_parts(run, at::fft_rfft(run.in(0), n_of(run), dim_of(run))); }
void cfft(Run &run) { put_parts(run, at::fft_fft(at::complex(run.in(0), run.in(1)), n_of(run), dim_of(run))); }
void irfft(Run &run) { run.out[0] = at::fft_irfft(at::complex(run.in(0), run.in(1)), n_of(run), dim_of(run)); }

const Row rows[] = {
    {BURN_OP_lu, lu, Halves::widen, has_elements},
    {BURN_OP_rfft, rfft, Halves::widen, has_elements},
    {BURN_OP_cfft, cfft, Halves::widen, has_elements},
    {BURN_OP_irfft, irfft, Halves::widen, has_elements},
};

}  // namespace

Rows linalg_rows() { return {rows, sizeof rows / sizeof rows[0]}; }

}  // namespace burn_torch
