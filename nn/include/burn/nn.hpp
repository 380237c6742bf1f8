/* nn.hpp - the layers of burn/nn.h for C++17: a class per module and one per config, generated from the headers of C.
 * Header only; links libburn_nn.
 *
 *   burn::nn::Linear fc(784, 128, device);                              required rows of the config, device
 *   burn::nn::Linear up(burn::nn::LinearConfig(784, 128).bias(false), device);
 *   burn::Tensor y = fc(x).relu();                                      burn_linear_forward
 *   burn::nn::Conv2d conv(burn::nn::Conv2dConfig({1, 8}, {3, 3}).padding(BURN_PADDING_SAME), device);
 *
 * What a layer computes, its rows and defaults stand in the header of C of its name. Functions other than _forward are
 * methods: burn_huber_loss_forward_no_reduction is huber.forward_no_reduction(x, y). A config that makes no sense and
 * every failure of a pass throw burn::Error. Models of layers: burn/module.hpp. */
#ifndef BURN_NN_HPP
#define BURN_NN_HPP

#include <burn/module.hpp>
#include <burn/nn.h>

namespace burn::nn {

namespace detail {

/* Tensors that a function of C gave in a struct; the first failed one throws, and none is lost. */
template <class S, class... T>
S take_all(T *...handles) {
  std::unique_ptr<BurnTensor, void (*)(BurnTensor *)> owners[] = {{handles, burn_drop}...};
  std::array<Tensor, sizeof...(T)> tensors;
  for (std::size_t i = 0; i < tensors.size(); i++) tensors[i] = Tensor(owners[i].release());
  return std::apply([](auto &...x) { return S{std::move(x)...}; }, tensors);
}

/* The result of a function of C that also gave a last state. */
template <class Given, class State>
Tensor with_last(BurnTensor *result, const Given &given, State *last) {
  if constexpr (std::is_pointer_v<Given>) {
    std::array<Tensor, 2> both = take_all<std::array<Tensor, 2>>(result, given);
    if (last) *last = std::move(both[1]);
    return std::move(both[0]);
  } else {
    std::array<Tensor, 3> all = take_all<std::array<Tensor, 3>>(result, given.cell, given.hidden);
    if (last) *last = {std::move(all[1]), std::move(all[2])};
    return std::move(all[0]);
  }
}

struct TransformerCacheEnd {
  void operator()(BurnTransformerCache *cache) const { burn_transformer_cache_destroy(cache); }
};

}  // namespace detail

/* Keys and values of the tokens so far; get() is for the methods of inference. */
using TransformerCache = std::unique_ptr<BurnTransformerCache, detail::TransformerCacheEnd>;

#define BURN_CPP_LAYER(Name)                                         \
  Name() noexcept = default;                                         \
  explicit Name(const Burn##Name &taken) : Layer(taken) {}           \
  static const BurnType *burn_type() { return Burn##Name##_type(); } \
  BURN_CPP_MODULE_SERVICES(Name)
#define BURN_CPP_LAYER_OPTIONAL(Name, Config, prefix)                                              \
  Name(const Config &config, const Device &device) : Layer(prefix##_init(config.get(), device)) {} \
  explicit Name(const Device &device) : Name(Config(), device) {}
#define BURN_CPP_LAYER_NEW(Name, Config, prefix, ROWS)                                                                 \
  Name(const Config &config, const Device &device) : Layer(prefix##_init(config.get(), device)) {}                     \
  Name(ROWS(BURN_INTERNAL_CONFIG_PARAMETER_THEN, BURN_INTERNAL_CONFIG_NOTHING_OPT) const Device &device)               \
      : Name(Config(BURN_INTERNAL_DROP_FIRST(~ROWS(BURN_INTERNAL_CONFIG_ARGUMENT, BURN_INTERNAL_CONFIG_NOTHING_OPT))), \
             device) {}
#define BURN_CPP_FORWARD(prefix, x) \
  Tensor operator()(Tensor x) const { return Tensor(prefix##_forward(get(), x.release())); }
#include <burn/nn_hpp_configs.def>
#include <burn/nn_hpp_layers.def>
#undef BURN_CPP_LAYER
#undef BURN_CPP_LAYER_OPTIONAL
#undef BURN_CPP_LAYER_NEW
#undef BURN_CPP_FORWARD

}  // namespace burn::nn

#endif
