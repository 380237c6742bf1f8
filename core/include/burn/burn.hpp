/* burn.hpp - tensors for C++17: values that clean up after themselves, operators, exceptions. Header only; links
 * libburn.
 *
 *   burn::Device device;                                     // BURN_BACKEND, burn.json, or the best there is
 *   burn::Tensor x(device, {1.0f, 2.0f, 3.0f, 4.0f}, {2, 2});
 *   burn::Tensor y = (x.matmul(x.transpose()) + 1).relu().sum();
 *   std::cout << y.item<double>() << "\n";
 *
 * A Tensor owns one handle. Copying is burn_clone (a counter); functions take what they are given: a named tensor is
 * cloned, a temporary or a moved one is used up and may be overwritten in place. Every failure is thrown as burn::Error
 * where the op was called. Every function of the C API that takes a tensor first and returns one is a method of the
 * same name without burn_ (to_int, to_float, to_bool for burn_int, burn_float, burn_bool); any other C function is
 * called as burn::call(burn_..., arguments...). Numbers may be integers or floats; integers keep all their bits
 * (burn_<name>_i64). Shapes, lists and options may be written in braces: x.reshape({2, -1}), x.sum_dims({0, 2}),
 * x.slice({BURN_RANGE(0, 2)}); a list and its count are one std::vector. Moved-from and default-constructed tensors are
 * empty: they may be assigned and destroyed, and stand for an absent optional argument, as nullptr does. */
#ifndef BURN_BURN_HPP
#define BURN_BURN_HPP

#include <burn/burn.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <ostream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace burn {

/* A failed status as an exception. */
class Error : public std::runtime_error {
 public:
  explicit Error(BurnStatus status) : std::runtime_error(burn_status_message(status)), status_(status) {}
  BurnStatus status() const noexcept { return status_; }
  std::uint32_t code() const noexcept { return burn_status_code(status_); } /* BURN_STATUS_INVALID_SHAPE ... */

 private:
  BurnStatus status_;
};

inline void check(BurnStatus status) {
  if (status != BURN_OK) throw Error(status);
}

/* A shape: burn::Shape{2, 3}; sizes that exceed 8 axes are refused where the shape is used. */
struct Shape : BurnShape {
  Shape(std::initializer_list<std::int64_t> sizes) : BurnShape(burn_shape_of(sizes)) {}
  Shape(BurnShape shape) : BurnShape(shape) {}
  const std::int64_t *begin() const { return dims; }
  const std::int64_t *end() const { return dims + (rank < BURN_MAX_RANK ? rank : BURN_MAX_RANK); }
  std::size_t size() const { return rank; }
  std::int64_t operator[](std::size_t axis) const { return dims[axis]; }
  friend bool operator==(const Shape &a, const Shape &b) {
    if (a.rank != b.rank) return false;
    for (std::uint32_t i = 0; i < a.rank && i < BURN_MAX_RANK; i++)
      if (a.dims[i] != b.dims[i]) return false;
    return true;
  }
  friend bool operator!=(const Shape &a, const Shape &b) { return !(a == b); }
};

/* An opened stack. Moves, does not copy; closes itself. Tensors may outlive it. */
class Device {
 public:
  /* The stack by text, else by the precedence of burn/device.h. */
  Device() : Device(burn_device_open(nullptr), true) {}
  explicit Device(const std::string &stack) : Device(burn_device_open(stack.c_str()), true) {}
  /* For training: with autodiff on top. */
  static Device training(const std::string &stack = "") {
    return Device(burn_device_open_training(stack.c_str()), true);
  }

  Device(Device &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)), owned_(other.owned_) {}
  Device &operator=(Device &&other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(owned_, other.owned_);
    return *this;
  }
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;
  ~Device() {
    if (owned_) burn_device_close(handle_);
  }

  BurnDevice *get() const noexcept { return handle_; }
  operator BurnDevice *() const noexcept { return handle_; }
  std::string name() const { return burn_device_name(handle_); }
  bool is_autodiff() const { return burn_device_is_autodiff(handle_); }
  /* The device below autodiff; valid while this one is. */
  Device inner() const { return Device(burn_device_inner(handle_), false); }
  void seed(std::uint64_t seed) { burn_device_seed(handle_, seed); }
  void sync() { check(burn_device_sync(handle_)); }
  void trim() { burn_device_trim(handle_); }
  BurnMemoryStats memory() const { return burn_device_memory(handle_); }

 private:
  Device(BurnDevice *handle, bool owned) : handle_(handle), owned_(owned) {
    const BurnStatus status = burn_device_status(handle);
    if (status == BURN_OK) return;
    const Error error(status);
    if (owned) burn_device_close(handle);
    throw error;
  }
  BurnDevice *handle_;
  bool owned_;
};

class Tensor;
class Gradients;

/* Calls a C function of Burn: tensors go in as Tensor (named ones are cloned, temporaries used up), results come out as
 * Tensor, failures as exceptions: burn::call(burn_conv2d, x, weight, bias, options). Second results (BurnTensor **)
 * stay handles of the C API, which the caller wraps or drops, after an exception too; where they may be dead,
 * nullptr is given. */
template <class Result, class... Parameters, class... Arguments>
auto call(Result (*function)(Parameters...), Arguments &&...arguments);

namespace detail {
template <class C>
struct Element;
#define BURN_CPP_ELEMENT(type, DTYPE)                      \
  template <>                                              \
  struct Element<type> {                                   \
    static constexpr BurnDType dtype = BURN_DTYPE_##DTYPE; \
  };
BURN_CPP_ELEMENT(float, F32)
BURN_CPP_ELEMENT(double, F64)
BURN_CPP_ELEMENT(std::int8_t, I8)
BURN_CPP_ELEMENT(std::int16_t, I16)
BURN_CPP_ELEMENT(std::int32_t, I32)
BURN_CPP_ELEMENT(std::int64_t, I64)
BURN_CPP_ELEMENT(std::uint8_t, U8)
BURN_CPP_ELEMENT(bool, BOOL)
#undef BURN_CPP_ELEMENT

/* Integers that an int64_t holds: the _i64 form of a function keeps all their bits. */
template <class T>
inline constexpr bool is_whole = std::is_integral_v<std::decay_t<T>> &&
                                 (std::is_signed_v<std::decay_t<T>> || sizeof(std::decay_t<T>) < sizeof(std::int64_t));
}  // namespace detail

/* A number for a tensor of either kind: made of any integer or float, with all the bits of an int64_t. */
class Number {
 public:
  template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  Number(T value) noexcept : is_whole_(detail::is_whole<T>), real_(static_cast<double>(value)) {
    if constexpr (detail::is_whole<T>) whole_ = static_cast<std::int64_t>(value);
  }
  bool is_whole() const noexcept { return is_whole_; }
  std::int64_t whole() const noexcept { return whole_; } /* 0 unless is_whole */
  double real() const noexcept { return real_; }

 private:
  bool is_whole_;
  std::int64_t whole_ = 0;
  double real_;
};

class Tensor {
 public:
  Tensor() noexcept = default;
  Tensor(std::nullptr_t) noexcept {}
  /* Takes over a handle of the C API; throws if it failed. */
  explicit Tensor(BurnTensor *handle) : handle_(handle) {
    const BurnStatus status = handle ? burn_tensor_status(handle) : BURN_OK;
    if (status == BURN_OK) return;
    const Error error(status); /* before the handle goes, which owns the message */
    burn_drop(std::exchange(handle_, nullptr));
    throw error;
  }
  /* Row-major values, copied. T: float, double, int8_t, int16_t, int32_t, int64_t, uint8_t, bool. */
  template <class T>
  Tensor(const Device &device, const T *data, const Shape &shape)
      : Tensor(burn_tensor_from(device, data, detail::Element<T>::dtype, shape)) {}
  template <class T>
  Tensor(const Device &device, const std::vector<T> &data, const Shape &shape)
      : Tensor(device, checked(data.data(), data.size(), shape), shape) {}
  template <class T>
  Tensor(const Device &device, std::initializer_list<T> data, const Shape &shape)
      : Tensor(device, checked(data.begin(), data.size(), shape), shape) {}
  /* A vector of these values. */
  template <class T>
  Tensor(const Device &device, std::initializer_list<T> data)
      : Tensor(device, data, Shape{static_cast<std::int64_t>(data.size())}) {}

  Tensor(const Tensor &other) : Tensor(burn_clone(other.handle_)) {}
  Tensor(Tensor &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Tensor &operator=(Tensor other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Tensor() { burn_drop(handle_); }

  static Tensor zeros(const Device &d, const Shape &s, BurnDType t = BURN_DTYPE_DEFAULT) {
    return Tensor(burn_zeros(d, s, t));
  }
  static Tensor ones(const Device &d, const Shape &s, BurnDType t = BURN_DTYPE_DEFAULT) {
    return Tensor(burn_ones(d, s, t));
  }
  static Tensor full(const Device &d, const Shape &s, Number value, BurnDType t = BURN_DTYPE_DEFAULT) {
    return Tensor(value.is_whole() ? burn_full_i64(d, s, t, value.whole()) : burn_full(d, s, t, value.real()));
  }
  static Tensor arange(const Device &d, std::int64_t start, std::int64_t end, std::int64_t step = 1) {
    return Tensor(burn_arange(d, start, end, step));
  }
  static Tensor eye(const Device &d, std::int64_t size, BurnDType t = BURN_DTYPE_DEFAULT) {
    return Tensor(burn_eye(d, size, t));
  }
  static Tensor uniform(const Device &d, const Shape &s, Number low = 0, Number high = 1,
                        BurnDType t = BURN_DTYPE_DEFAULT) {
    const bool whole = low.is_whole() && high.is_whole();
    return Tensor(whole ? burn_random_uniform_i64(d, s, t, low.whole(), high.whole())
                        : burn_random_uniform(d, s, t, low.real(), high.real()));
  }
  static Tensor normal(const Device &d, const Shape &s, double mean = 0, double std = 1,
                       BurnDType t = BURN_DTYPE_DEFAULT) {
    return Tensor(burn_random_normal(d, s, t, mean, std));
  }
  static Tensor cat(const std::vector<Tensor> &tensors, int dim) { return joined(burn_cat, tensors, dim); }
  static Tensor stack(const std::vector<Tensor> &tensors, int dim) { return joined(burn_stack, tensors, dim); }

  bool is_empty() const noexcept { return handle_ == nullptr; }
  BurnTensor *get() const noexcept { return handle_; }                       /* stays with this object */
  BurnTensor *release() noexcept { return std::exchange(handle_, nullptr); } /* now the caller's */
  BurnTensor *clone_handle() const { return burn_clone(handle_); }           /* a second handle for the caller */
  Shape shape() const { return burn_shape(handle_); }
  std::uint32_t rank() const { return burn_rank(handle_); }
  std::int64_t dim(int axis) const { return burn_dim(handle_, axis); }
  std::int64_t size() const { return burn_element_count(handle_); }
  BurnDType dtype() const { return burn_dtype(handle_); }

  /* All elements in row-major order, converted to T: float, double or std::int64_t. */
  template <class T>
  std::vector<T> to_vector() const {
    std::vector<T> values(static_cast<std::size_t>(size()));
    check(read(clone_handle(), values.data(), values.size()));
    return values;
  }
  /* The value of a tensor of one element. */
  template <class T = double>
  T item() const {
    std::conditional_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, std::int64_t, double> value = 0;
    check(read(clone_handle(), &value, 1));
    return static_cast<T>(value);
  }
  template <class T>
  Tensor cast() const {
    return Tensor(burn_cast(clone_handle(), detail::Element<T>::dtype));
  }
  Tensor cast(BurnDType dtype) const { return Tensor(burn_cast(clone_handle(), dtype)); }
  Tensor to(const Device &device) const { return Tensor(burn_to_device(clone_handle(), device)); }
  Tensor permute(const std::vector<int> &axes) const {
    same_count("permute", axes.size(), "axes", rank(), "axes");
    return Tensor(burn_permute(clone_handle(), axes.data()));
  }
  Tensor repeat(const std::vector<std::int64_t> &times) const {
    same_count("repeat", times.size(), "numbers of times", rank(), "axes");
    return Tensor(burn_repeat(clone_handle(), times.data()));
  }
  Tensor movedims(const std::vector<int> &sources, const std::vector<int> &destinations) const {
    same_count("movedims", destinations.size(), "destinations", sources.size(), "sources");
    return Tensor(
        burn_movedims(clone_handle(), sources.data(), destinations.data(), static_cast<std::uint32_t>(sources.size())));
  }
  Tensor roll(const std::vector<std::int64_t> &shifts, const std::vector<int> &dims) const {
    same_count("roll", shifts.size(), "shifts", dims.size(), "dims");
    return Tensor(burn_roll(clone_handle(), shifts.data(), dims.data(), static_cast<std::uint32_t>(dims.size())));
  }
  /* {before, after} for the last axes, in the order of axes. */
  Tensor pad(const std::vector<std::array<std::int64_t, 2>> &margins, std::int64_t mode = BURN_PAD_CONSTANT,
             Number value = 0) const {
    const std::int64_t *first = margins.empty() ? nullptr : margins[0].data();
    const std::uint32_t count = static_cast<std::uint32_t>(margins.size());
    return Tensor(value.is_whole() ? burn_pad_i64(clone_handle(), first, count, mode, value.whole())
                                   : burn_pad(clone_handle(), first, count, mode, value.real()));
  }

  /* -- parts along dim; see burn_split in burn/ops.h ------------------------------------------ */
  std::vector<Tensor> split(std::int64_t size, int dim) const {
    return parts(dim, [&](BurnTensor *x, BurnTensor **list, std::size_t capacity, std::size_t *count) {
      return burn_split(x, size, dim, list, capacity, count);
    });
  }
  std::vector<Tensor> split_with_sizes(const std::vector<std::int64_t> &sizes, int dim) const {
    return parts(dim, [&](BurnTensor *x, BurnTensor **list, std::size_t capacity, std::size_t *count) {
      return burn_split_with_sizes(x, sizes.data(), sizes.size(), dim, list, capacity, count);
    });
  }
  std::vector<Tensor> chunk(std::int64_t chunks, int dim) const {
    return parts(dim, [&](BurnTensor *x, BurnTensor **list, std::size_t capacity, std::size_t *count) {
      return burn_chunk(x, chunks, dim, list, capacity, count);
    });
  }
  std::vector<Tensor> iter_dim(int dim) const { return split(1, dim); }

  /* -- values and where they are: const auto [values, indices] = x.topk_with_indices(3, 1); ----- */
#define BURN_INTERNAL_CPP_PAIR(name, parameters, ...)                       \
  std::pair<Tensor, Tensor> name##_with_indices parameters const {          \
    BurnTensor *indices = nullptr;                                          \
    BurnTensor *values = burn_##name##_with_indices(__VA_ARGS__, &indices); \
    return paired(values, indices);                                         \
  }
  BURN_INTERNAL_CPP_PAIR(max_dim, (int dim), clone_handle(), dim)
  BURN_INTERNAL_CPP_PAIR(min_dim, (int dim), clone_handle(), dim)
  BURN_INTERNAL_CPP_PAIR(median, (int dim), clone_handle(), dim)
  BURN_INTERNAL_CPP_PAIR(sort, (int dim), clone_handle(), dim)
  BURN_INTERNAL_CPP_PAIR(sort_descending, (int dim), clone_handle(), dim)
  BURN_INTERNAL_CPP_PAIR(topk, (std::int64_t k, int dim), clone_handle(), k, dim)
#undef BURN_INTERNAL_CPP_PAIR

  /* -- gradients; see burn/autodiff.h --------------------------------------------------------- */
  Tensor require_grad() && { return Tensor(burn_require_grad(release())); }
  Tensor require_grad() const & { return Tensor(burn_require_grad(clone_handle())); }
  bool is_require_grad() const { return burn_is_require_grad(handle_); }
  bool is_tracked() const { return burn_is_tracked(handle_); }
  inline Gradients backward() const;
  inline Tensor grad(const Gradients &gradients) const; /* empty when none reached this leaf */

  /* Every function whose first parameter is a tensor and whose result is one, under its own name. */
#define BURN_CPP_METHOD(name, parameters, arguments) \
  Tensor name parameters const & {                   \
    BurnTensor *self = clone_handle();               \
    return Tensor(burn_##name arguments);            \
  }                                                  \
  Tensor name parameters && {                        \
    BurnTensor *self = release();                    \
    return Tensor(burn_##name arguments);            \
  }
  /* Of those with a twin burn_<name>_i64: that one is called where all the numbers are integers. */
#define BURN_CPP_NUMBER_METHOD(name, parameters, arguments, whole_arguments, is_whole)     \
  Tensor name parameters const & {                                                         \
    BurnTensor *self = clone_handle();                                                     \
    return Tensor((is_whole) ? burn_##name##_i64 whole_arguments : burn_##name arguments); \
  }                                                                                        \
  Tensor name parameters && {                                                              \
    BurnTensor *self = release();                                                          \
    return Tensor((is_whole) ? burn_##name##_i64 whole_arguments : burn_##name arguments); \
  }
#include <burn/burn_hpp_methods.def>
#undef BURN_CPP_METHOD
#undef BURN_CPP_NUMBER_METHOD
  Tensor to_int() const { return Tensor(burn_int(clone_handle())); }
  Tensor to_float() const { return Tensor(burn_float(clone_handle())); }
  Tensor to_bool() const { return Tensor(burn_bool(clone_handle())); }

 private:
  template <class T>
  static const T *checked(const T *data, std::size_t count, const Shape &shape) {
    std::size_t wanted = 1;
    bool fits = true; /* what does not fit into 63 bits is not a number of values */
    std::string text;
    for (std::int64_t size : shape) {
      fits = fits && size >= 0 && (size == 0 || wanted <= static_cast<std::size_t>(INT64_MAX / size));
      if (fits) wanted *= static_cast<std::size_t>(size);
      text += (text.empty() ? "" : ",") + std::to_string(size);
    }
    if (fits && count == wanted) return data;
    throw Error(burn_status_make(BURN_STATUS_INVALID_SHAPE, "tensor: %zu values for shape [%s]", count, text.c_str()));
  }
  static void same_count(const char *op, std::size_t given, const char *what, std::size_t wanted, const char *of) {
    if (given != wanted)
      throw Error(burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: %zu %s for %zu %s", op, given, what, wanted, of));
  }
  static Tensor joined(BurnTensor *(*function)(BurnTensor *const *, size_t, int), const std::vector<Tensor> &tensors,
                       int dim) {
    std::vector<BurnTensor *> handles;
    handles.reserve(tensors.size());
    for (const Tensor &x : tensors) handles.push_back(x.clone_handle());
    return Tensor(function(handles.data(), handles.size(), dim));
  }
  static std::pair<Tensor, Tensor> paired(BurnTensor *first, BurnTensor *second) {
    std::pair<Tensor, Tensor> both;
    both.first.handle_ = first, both.second.handle_ = second; /* each has an owner before one is looked at */
    check(burn_tensor_status(first));
    check(burn_tensor_status(second));
    return both;
  }
  /* What `cut` gives, which is at most a part for each index of the axis. */
  template <class Cut>
  std::vector<Tensor> parts(int along, Cut cut) const {
    std::size_t count = 0;
    std::vector<Tensor> result(static_cast<std::size_t>(std::max<std::int64_t>(dim(along), 0)));
    std::vector<BurnTensor *> handles(result.size());
    check(cut(clone_handle(), handles.data(), handles.size(), &count));
    for (std::size_t i = 0; i < count; i++)
      result[i].handle_ = handles[i]; /* all have an owner before one is looked at */
    result.resize(count);
    for (const Tensor &part : result) check(burn_tensor_status(part.handle_));
    return result;
  }
  static BurnStatus read(BurnTensor *x, float *data, std::size_t count) { return burn_read_f32(x, data, count); }
  static BurnStatus read(BurnTensor *x, double *data, std::size_t count) { return burn_read_f64(x, data, count); }
  static BurnStatus read(BurnTensor *x, std::int64_t *data, std::size_t count) { return burn_read_i64(x, data, count); }

  BurnTensor *handle_ = nullptr;
};

namespace detail {

/* How an argument reaches a parameter: tensors give a handle, everything else converts. */
template <class Parameter>
struct Pass {
  template <class A>
  static Parameter from(A &&argument) {
    return static_cast<Parameter>(std::forward<A>(argument));
  }
};
template <>
struct Pass<BurnTensor *> {
  static BurnTensor *from(const Tensor &x) { return x.clone_handle(); }
  static BurnTensor *from(Tensor &x) { return x.clone_handle(); }
  static BurnTensor *from(Tensor &&x) { return x.release(); }
  static BurnTensor *from(std::nullptr_t) { return nullptr; }
};

inline void finish(BurnStatus status) { check(status); }
inline Tensor finish(BurnTensor *x) { return Tensor(x); }
template <class T>
T finish(T value) {
  return value;
}

}  // namespace detail

template <class Result, class... Parameters, class... Arguments>
auto call(Result (*function)(Parameters...), Arguments &&...arguments) {
  static_assert(sizeof...(Parameters) == sizeof...(Arguments), "wrong number of arguments for this function of Burn");
  return detail::finish(function(detail::Pass<Parameters>::from(std::forward<Arguments>(arguments))...));
}

/* The gradients of one backward pass. */
class Gradients {
 public:
  explicit Gradients(BurnGradients *handle) : handle_(handle) {}
  Gradients(Gradients &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Gradients &operator=(Gradients &&other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Gradients() { burn_gradients_drop(handle_); }
  BurnGradients *get() const noexcept { return handle_; }
  BurnGradients *release() noexcept { return std::exchange(handle_, nullptr); } /* now the caller's */

 private:
  BurnGradients *handle_;
};

/* What is computed on the device while the guard is there is not kept for the backward pass but computed again; see
 * burn_checkpoint_begin in burn/autodiff.h. Ends on the thread that made it.
 *
 *   for (auto &block : blocks) {
 *     burn::Checkpoint checkpoint(device);
 *     x = block(x);
 *   } */
class Checkpoint {
 public:
  explicit Checkpoint(BurnDevice *device) : device_(device) { check(burn_checkpoint_begin(device)); }
  Checkpoint(const Checkpoint &) = delete;
  Checkpoint &operator=(const Checkpoint &) = delete;
  ~Checkpoint() {
    const BurnStatus ended = burn_checkpoint_end(device_); /* refused only on another thread, where nothing was begun */
    (void)ended;
  }

 private:
  BurnDevice *device_; /* borrowed */
};

/* What this thread calls on the device while the guard is there is one piece of work, replayed where it comes again;
 * see burn/capture.h. Its end, or end(), submits it; end() tells what became of it.
 *
 *   burn::Capture capture(device);
 *   Tensor loss = train_step(model, batch);
 *   if (capture.end().outcome != BURN_CAPTURE_REPLAYED) .. */
class Capture {
 public:
  explicit Capture(BurnDevice *device) : device_(device) { check(burn_capture_begin(device)); }
  Capture(const Capture &) = delete;
  Capture &operator=(const Capture &) = delete;
  ~Capture() {
    if (!device_) return;
    const BurnStatus ended = burn_capture_end(device_, nullptr); /* refused only on another thread */
    (void)ended;
  }
  BurnCaptureReport end() {
    BurnCaptureReport report{};
    report.struct_size = sizeof report;
    check(burn_capture_end(std::exchange(device_, nullptr), &report));
    return report;
  }

 private:
  BurnDevice *device_; /* borrowed; null: ended */
};

inline Gradients Tensor::backward() const {
  BurnGradients *gradients = nullptr;
  check(burn_backward(clone_handle(), &gradients));
  return Gradients(gradients);
}
inline Tensor Tensor::grad(const Gradients &gradients) const { return Tensor(burn_grad(handle_, gradients.get())); }

/* -- operators: tensors broadcast, scalars go either side. Operands that are temporaries are used up -- */

template <class T>
using IfNumber = std::enable_if_t<std::is_arithmetic_v<T>, int>;

#define BURN_CPP_OPERATOR(sign, name, scalar_left, left)                                                    \
  inline Tensor operator sign(Tensor a, Tensor b) { return Tensor(burn_##name(a.release(), b.release())); } \
  template <class T, IfNumber<T> = 0>                                                                       \
  Tensor operator sign(Tensor a, T value) {                                                                 \
    return std::move(a).name##_scalar(value);                                                               \
  }                                                                                                         \
  template <class T, IfNumber<T> = 0>                                                                       \
  Tensor operator sign(T value, Tensor a) {                                                                 \
    return left.scalar_left(value);                                                                         \
  }                                                                                                         \
  inline Tensor &operator sign##=(Tensor &a, Tensor b) { return a = std::move(a) sign std::move(b); }       \
  template <class T, IfNumber<T> = 0>                                                                       \
  Tensor &operator sign##=(Tensor &a, T value) {                                                            \
    return a = std::move(a) sign value;                                                                     \
  }
BURN_CPP_OPERATOR(+, add, add_scalar, std::move(a))
BURN_CPP_OPERATOR(-, sub, add_scalar, std::move(a).neg())
BURN_CPP_OPERATOR(*, mul, mul_scalar, std::move(a))
BURN_CPP_OPERATOR(/, div, mul_scalar, std::move(a).recip())
#undef BURN_CPP_OPERATOR
inline Tensor operator-(Tensor a) { return Tensor(burn_neg(a.release())); }
inline Tensor operator!(Tensor a) { return Tensor(burn_bool_not(a.release())); }

/* Values, shape, device, kind and dtype as burn_print writes them. */
inline std::ostream &operator<<(std::ostream &out, const Tensor &x) {
  std::FILE *file = std::tmpfile();
  if (!file) return out << "(tensor: no temporary file to print it to)";
  burn_print_to(file, x.clone_handle());
  std::rewind(file);
  char text[256];
  for (std::size_t count; (count = std::fread(text, 1, sizeof text, file)) > 0;)
    out.write(text, static_cast<std::streamsize>(count));
  std::fclose(file);
  return out;
}

}  // namespace burn

#endif
