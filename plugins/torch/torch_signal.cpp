/* torch_signal.cpp - Fourier transforms. */
#include "torch_internal.h"

#include <ATen/ops/complex.h>
#include <ATen/ops/fft_fft.h>
#include <ATen/ops/fft_irfft.h>
#include <ATen/ops/fft_rfft.h>
#include <ATen/ops/imag.h>
#include <ATen/ops/real.h>

namespace burn_torch {
namespace {

/* The second attribute of all transforms, after dim; ATen cuts and pads to it likewise. */
int64_t n_of(const Run &run) { return run.call->attrs[1].value.i64; }

void put_parts(Run &run, const at::Tensor &bins) {
  run.out[0] = at::real(bins).contiguous();
  run.out[1] = at::imag(bins).contiguous();
}
void rfft(Run &run) { put_parts(run, at::fft_rfft(run.in(0), n_of(run), dim_of(run))); }
void cfft(Run &run) { put_parts(run, at::fft_fft(at::complex(run.in(0), run.in(1)), n_of(run), dim_of(run))); }
void irfft(Run &run) { run.out[0] = at::fft_irfft(at::complex(run.in(0), run.in(1)), n_of(run), dim_of(run)); }

const Row rows[] = {
    {BURN_OP_rfft, rfft, Halves::widen, has_elements},
    {BURN_OP_cfft, cfft, Halves::widen, has_elements},
    {BURN_OP_irfft, irfft, Halves::widen, has_elements},
};

}  // namespace

Rows signal_rows() { return {rows, sizeof rows / sizeof rows[0]}; }

}  // namespace burn_torch
