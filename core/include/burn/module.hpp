/* module.hpp - modules, configs and records for C++17: plain structs of layers. Header only; burn/nn.hpp has the
 * layers.
 *
 *   struct Mlp {
 *     burn::nn::Linear fc1, fc2;
 *
 *     explicit Mlp(const burn::Device &device) : fc1(784, 128, device), fc2(128, 10, device) {}
 *     burn::Tensor operator()(burn::Tensor x) const { return fc2(fc1(std::move(x)).relu()); }
 *
 *     BURN_CPP_MODULE(Mlp, fc1, fc2)
 *   };
 *
 *   Mlp model(device);
 *   std::cout << model;                        the tree with shapes
 *   const Mlp valid = model.valid();           the same weights on the device below autodiff
 *   burn::save(model, "mlp");
 *   burn::load(model, "mlp");
 *
 * The struct is a module of burn/module.h: its records are those of a C module with the same rows. Members are layers,
 * other such structs, Param, Buffer, ModuleList, and constants (std::size_t, std::int64_t, double, bool, BurnSize2,
 * BurnSize3, BurnOptionF64, BurnOptionSize). The macro line is the last of the struct and lists every member in its
 * order: what it does not list does not compile. Modules move and do not copy; clone() copies. A moved-from module is
 * empty.
 *
 * A failure in a layer begins with the path from the struct that was made last, "blocks.2.up: linear: ...". */
#ifndef BURN_MODULE_HPP
#define BURN_MODULE_HPP

#include <burn/burn.hpp>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <tuple>

namespace burn {

namespace detail {

/* The descriptor of a member. */
template <class T, class = void>
struct Row {
  static_assert(sizeof(T) == 0, "no row of a module: layers, modules, Param, Buffer, ModuleList and constants are");
};
template <class T>
struct Row<T, std::void_t<decltype(T::burn_type())>> {
  static const BurnType *type() { return T::burn_type(); }
};
#define BURN_CPP_ROW(T, Name)                               \
  template <>                                               \
  struct Row<T> {                                           \
    static const BurnType *type() { return Name##_type(); } \
  };
BURN_CPP_ROW(BurnSize, BurnSize)
BURN_CPP_ROW(BurnI64, BurnI64)
BURN_CPP_ROW(BurnF64, BurnF64)
BURN_CPP_ROW(BurnBool, BurnBool)
BURN_CPP_ROW(BurnSize2, BurnSize2)
BURN_CPP_ROW(BurnSize3, BurnSize3)
BURN_CPP_ROW(BurnOptionF64, BurnOptionF64)
BURN_CPP_ROW(BurnOptionSize, BurnOptionSize)
#undef BURN_CPP_ROW

}  // namespace detail

/* The module of C that an object is, for any function of burn/module.h and of training. It is borrowed. */
template <class M>
BurnModule as_module(const M &module) {
  return {detail::Row<M>::type(), const_cast<M *>(&module)};
}

/* Ends a text that C gave; NULL throws. */
inline std::string take_text(char *text) {
  if (!text) throw std::bad_alloc();
  const std::unique_ptr<char, void (*)(void *)> owner(text, std::free);
  return text;
}

namespace detail {

/* A copy made by burn_module_clone or _valid. Everything that a module has may be moved as bytes. */
template <class M>
M copied(const M &module, void (*copy)(BurnModule, void *)) {
  alignas(M) unsigned char bytes[sizeof(M)];
  copy(as_module(module), bytes);
  M result(std::move(*std::launder(reinterpret_cast<M *>(bytes)))); /* what is left owns nothing */
  check(burn_module_status(as_module(result)));
  return result;
}

}  // namespace detail

/* What every module can do; see burn/module.h, quantizer.h and lora.h. */
#define BURN_CPP_MODULE_SERVICES(Self)                                                                      \
  Self clone() const { return burn::detail::copied(*this, burn_module_clone); }                             \
  Self valid() const { return burn::detail::copied(*this, burn_module_valid); }                             \
  void check() const { burn::check(burn_module_status(burn::as_module(*this))); }                           \
  void to(const burn::Device &burn_to) { burn_module_to_device(burn::as_module(*this), burn_to), check(); } \
  void freeze() { burn_module_freeze(burn::as_module(*this)), check(); }                                    \
  void unfreeze() { burn_module_unfreeze(burn::as_module(*this)), check(); }                                \
  void no_grad() { freeze(); }                                                                              \
  void quantize_weights(const BurnQuantizer &burn_quantizer) {                                              \
    burn::check(burn_module_quantize_weights(burn::as_module(*this), &burn_quantizer));                     \
  }                                                                                                         \
  void quantize_inputs(const BurnParamGroup *burn_group = nullptr) {                                        \
    burn::check(burn_module_quantize_inputs(burn::as_module(*this), burn_group));                           \
  }                                                                                                         \
  void apply_lora(const BurnLoraConfig &burn_lora, const BurnParamGroup *burn_group = nullptr) {            \
    burn::check(burn_module_apply_lora(burn::as_module(*this), &burn_lora, burn_group));                    \
  }                                                                                                         \
  void merge_lora() { burn::check(burn_module_merge_lora(burn::as_module(*this))); }                        \
  std::int64_t num_params() const { return burn_module_num_params(burn::as_module(*this)); }                \
  std::string text() const { return burn::take_text(burn_module_text(burn::as_module(*this))); }            \
  std::string summary() const { return burn::take_text(burn_module_summary_text(burn::as_module(*this))); } \
  friend std::ostream &operator<<(std::ostream &burn_stream, const Self &burn_self) {                       \
    return burn_stream << burn_self.text();                                                                 \
  }

/* Ranges of inputs noted while the module, which must outlive it and stay where it is, runs on sample data:
 *
 *   burn::Calibration calibration(model, quantizer);
 *   for (const burn::Tensor &x : samples) model(x);
 *   calibration.end();                                     weights and inputs are quantized; without it nothing is */
class Calibration {
 public:
  template <class M>
  Calibration(M &module, const BurnQuantizer &quantizer) : calibration_(nullptr) {
    check(burn_calibration_begin(as_module(module), &quantizer, &calibration_));
  }
  Calibration(const Calibration &) = delete;
  Calibration &operator=(const Calibration &) = delete;
  ~Calibration() { burn_calibration_cancel(calibration_); }
  void end() {
    if (calibration_) check(burn_calibration_end(std::exchange(calibration_, nullptr)));
  }

 private:
  BurnCalibration *calibration_;
};

/* Owner of a module of C, the struct C with the descriptor Self::burn_type(): the base of all layers. */
template <class Self, class C>
class Layer {
 public:
  Layer() noexcept : value_() {}
  /* Takes over what an _init of C gave; throws if that failed. */
  explicit Layer(const C &value) : Layer() {
    value_ = value;
    check(burn_module_status({Self::burn_type(), &value_}));
  }
  Layer(Layer &&other) noexcept : value_(std::exchange(other.value_, C())) {}
  Layer &operator=(Layer &&other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Layer() { burn_module_release({Self::burn_type(), &value_}); }

  C *get() noexcept { return &value_; } /* stays with this object */
  const C *get() const noexcept { return &value_; }

 private:
  C value_;
};

/* A learned tensor of a module of one's own. */
class Param {
 public:
  Param() noexcept : param_() {}
  explicit Param(Tensor value) : param_(burn_param(value.release())) {}
  Param(Param &&other) noexcept : param_(std::exchange(other.param_, BurnParam())) {}
  Param &operator=(Param &&other) noexcept {
    std::swap(param_, other.param_);
    return *this;
  }
  ~Param() { burn_param_release(&param_); }
  static const BurnType *burn_type() { return BurnParam_type(); }
  Tensor value() const { return Tensor(burn_param_value(&param_)); } /* empty: there is none */
  void set(Tensor value) { burn_param_set(&param_, value.release()); }
  std::uint64_t id() const noexcept { return param_.id; }

 private:
  BurnParam param_;
};

namespace detail {
#define BURN_CPP_BUFFER_FIELDS(X) X(BurnBuffer, buffer, "")
BURN_MODULE(BufferOwner, BURN_CPP_BUFFER_FIELDS);
#undef BURN_CPP_BUFFER_FIELDS
}  // namespace detail

/* A tensor that is state, not learned; a const module may replace it. */
class Buffer {
 public:
  Buffer() noexcept : owner_() {}
  explicit Buffer(Tensor value) : owner_{burn_buffer(value.release())} {}
  Buffer(Buffer &&other) noexcept : owner_(std::exchange(other.owner_, detail::BufferOwner())) {}
  Buffer &operator=(Buffer &&other) noexcept {
    std::swap(owner_, other.owner_);
    return *this;
  }
  ~Buffer() { detail::BufferOwner_release(&owner_); }
  static const BurnType *burn_type() { return BurnBuffer_type(); }
  Tensor value() const { return Tensor(burn_buffer_value(&owner_.buffer)); } /* empty: there is none */
  void set(Tensor value) const { burn_buffer_set(&owner_.buffer, value.release()); }

 private:
  detail::BufferOwner owner_;
};

/* `count` modules of one type, made by make(index): burn::ModuleList<Block> blocks(4, [&](std::size_t) { .. }). */
template <class M>
class ModuleList {
 public:
  ModuleList() noexcept : list_() {}
  template <class Make>
  ModuleList(std::size_t count, Make make) : ModuleList() {
    list_ = burn_module_list(detail::Row<M>::type(), count);
    if (list_.count != count) throw std::bad_alloc();
    for (std::size_t i = 0; i < count; i++) new (burn_module_list_at(&list_, i)) M(make(i));
  }
  ModuleList(ModuleList &&other) noexcept : list_(std::exchange(other.list_, BurnModuleList())) {}
  ModuleList &operator=(ModuleList &&other) noexcept {
    std::swap(list_, other.list_);
    return *this;
  }
  ~ModuleList() {
    for (M &module : *this) module.~M();
    std::free(list_.data);
  }
  static const BurnType *burn_type() { return BurnModuleList_type(); }
  std::size_t size() const noexcept { return list_.count; }
  M *begin() noexcept { return static_cast<M *>(list_.data); }
  M *end() noexcept { return begin() + size(); }
  const M *begin() const noexcept { return static_cast<const M *>(list_.data); }
  const M *end() const noexcept { return begin() + size(); }
  M &operator[](std::size_t index) { return begin()[index]; }
  const M &operator[](std::size_t index) const { return begin()[index]; }

 private:
  BurnModuleList list_;
};

namespace detail {

/* Where members stand that follow each other in a struct, and where the last one ends. */
template <class... T>
struct Layout {
  std::array<std::size_t, sizeof...(T)> at{};
  std::size_t end = 0;
  constexpr Layout() {
    std::size_t i = 0;
    ((at[i] = (end + alignof(T) - 1) / alignof(T) * alignof(T), end = at[i++] + sizeof(T)), ...);
  }
};

/* The descriptor of a struct by its members and their names, "fc1, fc2". */
template <std::size_t N>
class Rows {
 public:
  template <class M, class... T>
  static Rows of(const char *name, const char *names) {
    constexpr Layout<T...> layout{};
    static_assert((layout.end + alignof(M)) / alignof(M) * alignof(M) == sizeof(M),
                  "BURN_CPP_MODULE is the last line of the struct and lists every member in its order");
    return Rows(name, names, sizeof(M), layout.at, {&Row<T>::type...});
  }
  const BurnType *type() {
    type_.fields = fields_.data();
    for (std::size_t i = 0; i < N; i++) fields_[i].name = names_[i].c_str();
    return &type_;
  }

 private:
  Rows(const char *name, const std::string &names, std::size_t bytes, const std::array<std::size_t, N> &at,
       const std::array<const BurnType *(*)(), N> &types) {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < N; i++) {
      const std::size_t comma = std::min(names.find(',', begin), names.size());
      names_[i] = names.substr(begin, comma - begin);
      begin = std::min(names.find_first_not_of(", ", comma), names.size());
      fields_[i].type = types[i];
      fields_[i].offset = at[i];
      fields_[i].doc = "";
    }
    type_.kind = BURN_TYPE_MODULE;
    type_.name = name;
    type_.bytes = bytes;
    type_.field_count = static_cast<std::uint32_t>(N);
  }
  BurnType type_{};
  std::array<BurnField, N> fields_{};
  std::array<std::string, N> names_;
};

template <class M, class... T>
const BurnType *type_of_members(const char *name, const char *names, std::tuple<T &...> *) {
  static Rows<sizeof...(T)> rows = Rows<sizeof...(T)>::template of<M, T...>(name, names);
  static const BurnType *type = rows.type();
  return type;
}

/* Made when all members are: tells the parameters their paths from here. */
struct Paths {
  template <class M>
  explicit Paths(M *module) {
    std::size_t i = 0;
    const BurnType *type = M::burn_type();
    const auto in_order = [&](const auto &...members) {
      return ((reinterpret_cast<const char *>(&members) ==
               reinterpret_cast<const char *>(module) + type->fields[i++].offset) &&
              ...);
    };
    if (!std::apply(in_order, module->burn_members()))
      throw std::logic_error(std::string("BURN_CPP_MODULE(") + type->name + ", ..): not the order of its members");
    check(burn_module_status(as_module(*module)));
  }
};

}  // namespace detail

/* The last line of a struct that is a module, with all its members (1 or more) in their order. */
#define BURN_CPP_MODULE(Self, ...)                                                                    \
  auto burn_members() noexcept { return std::tie(__VA_ARGS__); }                                      \
  static const BurnType *burn_type() {                                                                \
    using Members = decltype(std::declval<Self &>().burn_members());                                  \
    return burn::detail::type_of_members<Self>(#Self, #__VA_ARGS__, static_cast<Members *>(nullptr)); \
  }                                                                                                   \
  BURN_CPP_MODULE_SERVICES(Self)                                                                      \
  burn::detail::Paths burn_paths_{this};

/* -- what modules hold ------------------------------------------------------------------------ */

/* A tensor of a module: its path, "fc1.weight", and a clone of its value. */
struct NamedTensor {
  std::string path;
  Tensor value;
  std::uint64_t id;  /* of a parameter; 0 of a buffer */
  bool is_parameter; /* else a buffer */
};

namespace detail {
inline BurnStatus list_tensor(void *context, const BurnModuleTensor *tensor) try {
  BurnTensor *value = tensor->param ? burn_param_value(tensor->param) : burn_buffer_value(tensor->buffer);
  static_cast<std::vector<NamedTensor> *>(context)->push_back(
      {tensor->path, Tensor(value), tensor->param ? tensor->param->id : 0, tensor->param != nullptr});
  return BURN_OK;
} catch (const Error &error) {
  return error.status();
} catch (...) {
  return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "the tensors of a module");
}
}  // namespace detail

/* All tensors of a module, parameters and buffers, in the order of rows. */
template <class M>
std::vector<NamedTensor> state(const M &module) {
  std::vector<NamedTensor> tensors;
  check(burn_module_visit(as_module(module), detail::list_tensor, &tensors));
  return tensors;
}

/* Its parameters only. */
template <class M>
std::vector<NamedTensor> parameters(const M &module) {
  std::vector<NamedTensor> tensors = state(module);
  const auto is_buffer = [](const NamedTensor &tensor) { return !tensor.is_parameter; };
  tensors.erase(std::remove_if(tensors.begin(), tensors.end(), is_buffer), tensors.end());
  return tensors;
}

/* -- records: see burn/record.h --------------------------------------------------------------- */

template <class M>
void save(const M &module, const std::string &path, BurnRecordConfig config = {}) {
  check(burn_record_save(as_module(module), path.c_str(), &config));
}
template <class M>
void load(M &module, const std::string &path, BurnRecordConfig config = {}) {
  check(burn_record_load(as_module(module), path.c_str(), &config));
}

/* -- configs ---------------------------------------------------------------------------------- */

namespace detail {

/* What the method of a row takes: its own type, in braces where that has several parts, or what is easier to write. */
template <class T>
struct Setting {
  using Type = T;
};
template <>
struct Setting<BurnOptionF64> {
  struct Type : BurnOptionF64 {
    Type(double given) : BurnOptionF64{true, given} {}
    Type(BurnOptionF64 given) : BurnOptionF64(given) {}
  };
};
template <>
struct Setting<BurnOptionSize> {
  struct Type : BurnOptionSize {
    Type(std::size_t given) : BurnOptionSize{true, given} {}
    Type(BurnOptionSize given) : BurnOptionSize(given) {}
  };
};
template <>
struct Setting<BurnText> {
  struct Type : BurnText {
    Type(BurnText given) : BurnText(given) {}
    Type(const char *given) : Type(std::string(given)) {}
    Type(const std::string &given) : BurnText() {
      if (given.size() >= sizeof text)
        throw Error(burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "config: a text of %zu bytes, at most %zu fit",
                                     given.size(), sizeof text - 1));
      given.copy(text, given.size());
    }
  };
};

}  // namespace detail

#define BURN_INTERNAL_CPP_SETTER(T, name, ...)                      \
  auto &name(typename burn::detail::Setting<T>::Type burn__given) { \
    burn_config_.name = burn__given;                                \
    return *this;                                                   \
  }
#define BURN_INTERNAL_CPP_CONFIG(Name, C, ROWS)                \
  Name(const C &config) : burn_config_(config) {}              \
  ROWS(BURN_INTERNAL_CPP_SETTER, BURN_INTERNAL_CPP_SETTER)     \
  const C *get() const noexcept { return &burn_config_; }      \
  C *get() noexcept { return &burn_config_; }                  \
  operator const C &() const noexcept { return burn_config_; } \
                                                               \
 private:                                                      \
  C burn_config_;

/* A class of the config C, whose rows are ROWS: a constructor with the required ones and a method for each that sets
 * it, LinearConfig(784, 10).bias(false). get() is for functions of C: burn_config(BurnLinearConfig, config.get()). */
#define BURN_CPP_CONFIG(Name, C, ROWS)                                                                               \
  class Name {                                                                                                       \
   public:                                                                                                           \
    explicit Name(BURN_INTERNAL_DROP_FIRST(~ROWS(BURN_INTERNAL_CONFIG_PARAMETER, BURN_INTERNAL_CONFIG_NOTHING_OPT))) \
        : burn_config_(C##_defaults(                                                                                 \
              BURN_INTERNAL_DROP_FIRST(~ROWS(BURN_INTERNAL_CONFIG_ARGUMENT, BURN_INTERNAL_CONFIG_NOTHING_OPT)))) {}  \
    BURN_INTERNAL_CPP_CONFIG(Name, C, ROWS)                                                                          \
  }
/* The same without required rows. */
#define BURN_CPP_CONFIG_OPTIONAL(Name, C, ROWS) \
  class Name {                                  \
   public:                                      \
    Name() : burn_config_(C##_defaults()) {}    \
    BURN_INTERNAL_CPP_CONFIG(Name, C, ROWS)     \
  }

}  // namespace burn

#endif
