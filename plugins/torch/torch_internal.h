/* torch_internal.h - what the files of the bridge to libtorch share: the instance, a primitive, a running call, the
 * rows of ops.
 *
 * A kernel reads `run.in(i)` and the attributes, and sets `run.out[i]`. What it sets may have another dtype, or another
 * shape of as many elements, than ops.def says: submit converts it. It may throw: submit makes a status of every
 * exception. Nothing else here lets one escape to the C side. */
#ifndef BURN_TORCH_INTERNAL_H
#define BURN_TORCH_INTERNAL_H

#include <burn/plugin/plugin.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <c10/core/InferenceMode.h>

#include <array>
#include <atomic>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace burn_torch {

struct Torch;
struct Run;

using Kernel = void (*)(Run &run);
using Supports = bool (*)(const BurnOpCall *call, std::string &why);

/* What happens to f16 and bf16 inputs before a kernel sees them. */
enum class Halves {
  keep,         /* the kernel takes them as they are: it moves elements, or rounds once as ops.def demands */
  widen_on_cpu, /* f32 on the CPU, where ATen has few kernels for them; as they are elsewhere */
  widen         /* always f32: ATen would round in the middle */
};

/* One op. */
struct Row {
  uint32_t op;
  Kernel kernel;
  Halves halves = Halves::widen_on_cpu;
  Supports supports = nullptr; /* NULL: every call */
  bool only_cuda = false;      /* other devices have no such row */
};

/* The rows, family by family: a pointer and a count. */
struct Rows {
  const Row *rows;
  size_t count;
};
Rows activation_rows(), conv_rows(), create_rows(), elementwise_rows(), elementwise_compare_rows(), index_rows(),
    linalg_rows(), loss_rows(), move_rows(), norm_rows(), optimizer_rows(), pool_rows(), reduce_rows(), sample_rows(),
    scan_rows(), sequence_rows(), signal_rows(), sort_rows(), view_rows(), jit_rows();

/* The ops that were submitted last, for the message of a failure that comes late. A failure names those since the last
 * wait that went well. Any thread may use it; what races is only a name in a message. */
class RecentOps {
 public:
  void add(uint32_t op) { ops_[count_.fetch_add(1, std::memory_order_relaxed) % ops_.size()] = op; }
  uint32_t count() const { return count_.load(std::memory_order_relaxed); }
  void settle(uint32_t count) { settled_.store(count, std::memory_order_relaxed); }
  std::string names(const BurnHost *host) const; /* "relu, conv2d"; "" if there are none */

 private:
  std::array<std::atomic<uint32_t>, 16> ops_{};
  std::atomic<uint32_t> count_{0}, settled_{0};
};

/* The smallest and largest element of an integer tensor, where they are known. */
class KnownRange {
 public:
  void set(int64_t low, int64_t high) {
    low_.store(low, std::memory_order_relaxed);
    high_.store(high, std::memory_order_relaxed);
    known_.store(true, std::memory_order_release);
  }
  void clear() { known_.store(false, std::memory_order_relaxed); }
  bool are_within(int64_t size) const {
    return known_.load(std::memory_order_acquire) && low_.load(std::memory_order_relaxed) >= 0 &&
           high_.load(std::memory_order_relaxed) < size;
  }
  /* Those of a tensor with the same elements, or fewer. */
  void take_from(const KnownRange &other) {
    if (other.known_.load(std::memory_order_acquire))
      set(other.low_.load(std::memory_order_relaxed), other.high_.load(std::memory_order_relaxed));
  }

 private:
  std::atomic<int64_t> low_{0}, high_{0};
  std::atomic<bool> known_{false};
};

/* An opened device. */
struct Torch {
  const BurnHost *host = nullptr;
  uint32_t owner = 0;
  at::Device device = at::Device(at::kCPU);
  std::string name;         /* "torch:cpu", "torch:cuda:0" */
  bool aten_random = false; /* option random=aten: ATen's generator in place of random.h */
  bool primitives_only = false;
  std::array<const Row *, BURN_OP_LIMIT> rows{};
  std::atomic<int64_t> live_tensors{0};
  std::mutex storages; /* guards what follows, and the question whether a storage is the last use of its bytes */
  int64_t live_bytes = 0, peak_bytes = 0;
  std::atomic<int64_t> host_waits{0}; /* times that a function waited for the device */
  RecentOps recent;
  std::mutex staging_mutex; /* guards staging */
  std::unordered_map<void *, at::Tensor> staging;
  std::mutex positions_mutex; /* guards positions */
  at::Tensor positions;       /* 0, 1, 2 .. as i32 on the device, for torch_jit.cpp */
};

/* A primitive: the header that everybody may read, and the tensor. header.shape and .strides point into the tensor,
 * which never changes them. */
struct TorchTensor {
  BurnPrimitive header;
  std::atomic<uint32_t> references{1};
  at::Tensor value;
  KnownRange bounds; /* of integers that came from the host, or were looked at before */
};

/* A failure with a status code of ours; everything else that is thrown becomes INTERNAL or OUT_OF_MEMORY. */
struct Failure {
  uint32_t code;
  std::string message;
};
[[noreturn]] void fail(uint32_t code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A call that is running. */
struct Run {
  Torch &torch;
  const BurnOpCall *call;
  const Row *row;
  std::vector<at::Tensor> inputs; /* [input_count]; undefined where absent */
  std::array<at::Tensor, BURN_MAX_OUTPUTS> out{};

  const at::Tensor &in(uint32_t i) const { return inputs[i]; }
  bool has(uint32_t i) const { return i < inputs.size() && inputs[i].defined(); }
  const BurnTensorDesc &desc(uint32_t i = 0) const { return call->output_descs[i]; }
  const char *name() const { return torch.host->op_info(call->op)->name; }

  /* True if input i may be overwritten: it was given up, nobody else holds it or its memory, which ATen allocated (not
   * a producer of DLPack tensors), and its elements do not overlap. */
  bool may_write(uint32_t i) const;

  /* A number that meets the elements of input 0: rounded to its dtype where that is a float (0.1 is 0.099976 for f16).
   */
  double number(double value) const;
  double number(const BurnAttr &number_attr) const { return number(burn_attr_to_f64(&number_attr)); }
};

/* -- torch_tensor.cpp ------------------------------------------------------------------------- */

at::ScalarType scalar_type(BurnDType dtype); /* fails with INVALID_DTYPE for one that libtorch lacks */
BurnDType burn_dtype(at::ScalarType type);   /* 0 for one that we lack */

/* The sizes of a description, and of an attribute that lists integers. */
inline at::IntArrayRef sizes_of(const BurnTensorDesc &desc) { return at::IntArrayRef(desc.shape, desc.rank); }
inline at::IntArrayRef ints(const BurnAttr &attr) { return at::IntArrayRef(attr.value.i64s, attr.count); }
/* The first `count`: a default of ops.def is repeated more often than an op has axes. */
inline at::IntArrayRef ints(const BurnAttr &attr, size_t count) { return ints(attr).slice(0, count); }
inline at::TensorOptions options_of(const Torch &torch, BurnDType dtype) {
  return at::TensorOptions().dtype(scalar_type(dtype)).device(torch.device);
}

/* A new primitive with one reference, around a tensor that has its dtype and shape already. */
BurnPrimitive *wrap(Torch &torch, at::Tensor value);
inline TorchTensor *tensor_of(BurnPrimitive *x) { return reinterpret_cast<TorchTensor *>(x); }

/* The tensor of x, which must be this instance's and have `bytes`. */
const at::Tensor &checked_source(const Torch &torch, const BurnPrimitive *x, uint64_t bytes);

BurnStatus BURN_API_CALL torch_create(void *self, const BurnTensorDesc *desc, const void *data, BurnPrimitive **out);
BurnStatus BURN_API_CALL torch_read(void *self, BurnPrimitive *x, void *data, uint64_t bytes);
void BURN_API_CALL torch_retain(void *self, BurnPrimitive *x);
void BURN_API_CALL torch_release(void *self, BurnPrimitive *x);

/* -- torch_call.cpp --------------------------------------------------------------------------- */

uint32_t BURN_API_CALL torch_op_support(void *self, uint32_t op);
int32_t BURN_API_CALL torch_supports(void *self, const BurnOpCall *call, char *why, uint64_t why_bytes);
BurnStatus BURN_API_CALL torch_submit(void *self, const BurnOpCall *call);
void fill_rows(Torch &torch);

/* A status from the exception that is being handled: call it in a catch block. `what` goes before the message, may be
 * NULL. */
BurnStatus status_of_exception(const BurnHost *host, const char *what);
/* The same for an instance: a failure of the device comes from an op before, so those are named. */
BurnStatus status_of_exception(const Torch &torch, const char *what);

/* Runs body; what it throws becomes a status. */
template <class Body>
BurnStatus guarded(Torch &torch, const char *what, Body body) {
  try {
    const c10::InferenceMode no_gradients;
    body();
    return BURN_OK;
  } catch (...) {
    return status_of_exception(torch, what);
  }
}

/* -- helpers of kernels ----------------------------------------------------------------------- */

/* The indices of input i, or a part of them, as i64, checked to be within 0 .. size-1; an index outside is an error
 * that names it. Waits for the device unless the bounds of the input are known. */
at::Tensor checked_indices(const Run &run, uint32_t i, const at::Tensor &indices, int64_t size);

/* The dim of ops along an axis: it is their first attribute. */
inline int64_t dim_of(const Run &run) { return run.call->attrs[0].value.i64; }

/* For Row.supports: empty tensors are left to the decomposition. */
bool has_elements(const BurnOpCall *call, std::string &why); /* the first input and the first result */
bool first_has_elements(const BurnOpCall *call, std::string &why);

/* The attributes of the running call as the struct of its op: TORCH_ATTRS(softmax, run)->dim.value.i64 */
#define TORCH_ATTRS(op, run) BURN_ATTRS(op, (run).call)

}  // namespace burn_torch

#endif
