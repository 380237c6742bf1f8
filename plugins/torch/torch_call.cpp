/* torch_call.cpp - a call from the host to its kernel and back: rows, halves, donated inputs, results as ops.def wants
 * them, exceptions. */
#include "torch_transfer.h"

#include <burn/common/failure.h>
#include <burn/common/widen.h>

#include <ATen/MemoryOverlap.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/contiguous.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <new>

namespace burn_torch {

/* -- failures --------------------------------------------------------------------------------- */

void fail(uint32_t code, const char *format, ...) {
  char message[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  throw Failure{code, message};
}

static BurnStatus status(const BurnHost *host, uint32_t code, const char *what, const char *message) {
  return burn_common_fail(host, code, __FILE__, __LINE__, "torch", "%s%s%s", what ? what : "", what ? ": " : "",
                          message);
}

/* The codes of ATen's exceptions. Its texts say "out of memory" where its types do not: DefaultCPUAllocator throws a
 * plain Error. */
static uint32_t code_of(const c10::Error &error) {
  const std::string text = error.what_without_backtrace();
  const bool no_memory =
      text.find("out of memory") != std::string::npos || text.find("can't allocate memory") != std::string::npos;
  if (no_memory) return BURN_STATUS_OUT_OF_MEMORY;
  return dynamic_cast<const c10::NotImplementedError *>(&error) ? BURN_STATUS_UNIMPLEMENTED : BURN_STATUS_INTERNAL;
}

BurnStatus status_of_exception(const BurnHost *host, const char *what) {
  try {
    throw;
  } catch (const Failure &failure) {
    return status(host, failure.code, what, failure.message.c_str());
  } catch (const c10::Error &error) {
    return status(host, code_of(error), what, error.what_without_backtrace());
  } catch (const std::bad_alloc &) {
    return status(host, BURN_STATUS_OUT_OF_MEMORY, what, "no memory");
  } catch (const std::exception &error) {
    return status(host, BURN_STATUS_INTERNAL, what, error.what());
  } catch (...) {
    return status(host, BURN_STATUS_INTERNAL, what, "an exception of unknown type");
  }
}

std::string RecentOps::names(const BurnHost *host) const {
  const uint32_t last = count(), room = static_cast<uint32_t>(ops_.size());
  const uint32_t since = last - settled_.load(std::memory_order_relaxed);
  std::string text;
  for (uint32_t i = last - std::min(since, room); i != last; i++) {
    const BurnOpInfo *info = host->op_info(ops_[i % room].load(std::memory_order_relaxed));
    if (!text.empty()) text += ", ";
    text += info ? info->name : "?";
  }
  return text;
}

BurnStatus status_of_exception(const Torch &torch, const char *what) {
  const BurnStatus status = status_of_exception(torch.host, what);
  char message[256];
  torch.host->status_message(status, message, sizeof message);
  if (!torch.device.is_cuda() || !std::strstr(message, "CUDA error")) return status;
  const std::string names = torch.recent.names(torch.host);
  return torch.host->annotate(status, ("work on the device has failed, one of: " + names).c_str());
}

/* -- rows ------------------------------------------------------------------------------------- */

void fill_rows(Torch &torch) {
  const Rows lists[] = {activation_rows(), conv_rows(),   create_rows(), elementwise_rows(), elementwise_compare_rows(),
                        index_rows(),      linalg_rows(), loss_rows(),   move_rows(),        norm_rows(),
                        optimizer_rows(),  pool_rows(),   reduce_rows(), sample_rows(),      scan_rows(),
                        sequence_rows(),   signal_rows(), sort_rows(),   view_rows(),        jit_rows()};
  for (const Rows &list : lists) {
    for (size_t i = 0; i < list.count; i++) {
      const BurnOpInfo *info = torch.host->op_info(list.rows[i].op);
      if (torch.primitives_only && info && info->is_composite) continue;
      if (list.rows[i].only_cuda && (!torch.device.is_cuda() || torch.aten_random)) continue;
      torch.rows[list.rows[i].op] = &list.rows[i]; /* the later row of an op counts */
    }
  }
}

static const Row *row_of(const Torch &torch, uint32_t op) { return op < BURN_OP_LIMIT ? torch.rows[op] : nullptr; }

uint32_t BURN_API_CALL torch_op_support(void *self, uint32_t op) {
  const Row *row = row_of(*static_cast<Torch *>(self), op);
  if (!row) return BURN_SUPPORT_NO;
  return row->supports ? BURN_SUPPORT_ASK : BURN_SUPPORT_YES;
}

int32_t BURN_API_CALL torch_supports(void *self, const BurnOpCall *call, char *why, uint64_t why_bytes) {
  const Row *row = row_of(*static_cast<Torch *>(self), call->op);
  std::string reason = "libtorch has no such op";
  try {
    if (row && (!row->supports || row->supports(call, reason))) return 1;
  } catch (...) {
    reason = "out of memory";
  }
  std::snprintf(why, static_cast<size_t>(why_bytes), "%s", reason.c_str());
  return 0;
}

/* -- what kernels ask ------------------------------------------------------------------------- */

bool Run::may_write(uint32_t i) const {
  if (!has(i) || !(call->donate >> i & 1)) return false;
  const TorchTensor *x = tensor_of(call->inputs[i]);
  for (uint32_t other = 0; other < call->input_count; other++) {
    if (other != i && call->inputs[other] == call->inputs[i]) return false;
  }
  /* One count of the tensor is the primitive's, one is that of `inputs`; one of the storage is the tensor's. */
  return x->references.load(std::memory_order_acquire) == 1 && inputs[i].is_same(x->value) &&
         x->value.use_count() == 2 && x->value.storage().use_count() == 1 && x->value.storage().allocator() &&
         x->value.is_non_overlapping_and_dense();
}

double Run::number(double value) const { return burn_common_round_number(call->inputs[0]->dtype, value); }

at::Tensor checked_indices(const Run &run, uint32_t i, const at::Tensor &indices, int64_t size) {
  const at::Tensor whole = indices.to(at::kLong);
  KnownRange &bounds = tensor_of(run.call->inputs[i])->bounds;
  if (whole.numel() == 0 || bounds.are_within(size)) return whole;
  const Waiting counted(run.torch);
  const auto [low, high] = at::aminmax(whole);
  const int64_t least = low.item().toLong(), most = high.item().toLong();
  if (least < 0 || most >= size) {
    fail(BURN_STATUS_OUT_OF_RANGE, "%s: index %lld is outside 0 .. %lld", run.name(),
         static_cast<long long>(least < 0 ? least : most), static_cast<long long>(size - 1));
  }
  if (indices.is_same(run.in(i))) bounds.set(least, most);
  return whole;
}

bool first_has_elements(const BurnOpCall *call, std::string &why) {
  why = "ATen refuses empty tensors";
  return burn_primitive_count(call->inputs[0]) > 0;
}

bool has_elements(const BurnOpCall *call, std::string &why) {
  return first_has_elements(call, why) && burn_desc_count(&call->output_descs[0]) > 0;
}

/* -- a call ----------------------------------------------------------------------------------- */

static bool is_half(at::ScalarType type) { return type == at::kHalf || type == at::kBFloat16; }

/* The tensors of the inputs, halves widened as the row says. */
static std::vector<at::Tensor> gather_inputs(const Torch &torch, const Row &row, const BurnOpCall *call) {
  const bool widen = row.halves == Halves::widen || (row.halves == Halves::widen_on_cpu && torch.device.is_cpu());
  std::vector<at::Tensor> inputs(call->input_count);
  for (uint32_t i = 0; i < call->input_count; i++) {
    BurnPrimitive *x = call->inputs[i];
    if (!x) continue;
    if (x->owner != torch.owner) {
      fail(BURN_STATUS_BAD_OWNER, "input %u belongs to backend %u, this is %u", i, x->owner, torch.owner);
    }
    const at::Tensor &value = tensor_of(x)->value;
    inputs[i] = widen && is_half(value.scalar_type()) ? value.to(at::kFloat) : value;
  }
  return inputs;
}

/* What a kernel made, as ops.def describes it. */
static at::Tensor finished(const Run &run, uint32_t i) {
  at::Tensor x = run.out[i];
  const BurnTensorDesc &desc = run.desc(i);
  if (!x.defined()) fail(BURN_STATUS_INTERNAL, "%s: result %u was not made", run.name(), i);
  if (x.scalar_type() != scalar_type(desc.dtype)) x = x.to(scalar_type(desc.dtype));
  if (x.sizes() == sizes_of(desc)) return x;
  if (x.numel() != burn_desc_count(&desc)) {
    fail(BURN_STATUS_INTERNAL, "%s: result %u has %lld elements, there must be %lld", run.name(), i,
         static_cast<long long>(x.numel()), static_cast<long long>(burn_desc_count(&desc)));
  }
  return x.reshape(sizes_of(desc));
}

/* A view of an integer tensor has its bounds. */
static bool is_view_of_integers(const BurnOpCall *call) {
  switch (call->op) {
    case BURN_OP_reshape:
    case BURN_OP_permute:
    case BURN_OP_expand:
    case BURN_OP_slice:
      return burn_dtype_kind(call->inputs[0]->dtype) == BURN_KIND_INT;
    default:
      return false;
  }
}

static void run_call(Torch &torch, const Row &row, const BurnOpCall *call) {
  Run run{torch, call, &row, gather_inputs(torch, row, call)};
  row.kernel(run);
  std::array<at::Tensor, BURN_MAX_OUTPUTS> results;
  for (uint32_t i = 0; i < call->output_count; i++) results[i] = finished(run, i);
  run.inputs.clear();
  run.out = {};
  torch.recent.add(call->op);
  uint32_t made = 0;
  try {
    for (; made < call->output_count; made++) call->outputs[made] = wrap(torch, std::move(results[made]));
  } catch (...) {
    while (made-- > 0) {
      torch_release(&torch, call->outputs[made]);
      call->outputs[made] = nullptr;
    }
    throw;
  }
  if (is_view_of_integers(call)) tensor_of(call->outputs[0])->bounds.take_from(tensor_of(call->inputs[0])->bounds);
}

BurnStatus BURN_API_CALL torch_submit(void *self, const BurnOpCall *call) {
  Torch &torch = *static_cast<Torch *>(self);
  const BurnOpInfo *info = torch.host->op_info(call->op);
  const Row *row = row_of(torch, call->op);
  return guarded(torch, info ? info->name : nullptr, [&] {
    if (!row) fail(BURN_STATUS_UNIMPLEMENTED, "there is no kernel");
    run_call(torch, *row, call);
  });
}

}  // namespace burn_torch
