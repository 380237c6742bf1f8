/* fuzz_net.h - a module that the targets of record files load into. Included by one file of a program. */
#ifndef BURN_TESTS_FUZZ_NET_H
#define BURN_TESTS_FUZZ_NET_H

#include "fuzz_target.h"

#include <burn/nn.h>

#define CHOICE_CASES(X, Choice)              \
  X(Choice, BurnIdentity, Off, "no tensors") \
  X(Choice, BurnLinear, Dense, "3 -> 2")
BURN_MODULE_VARIANT(Choice, CHOICE_CASES);

#define NET_FIELDS(X)                     \
  X(BurnLinear, linear, "3 -> 2")         \
  X(BurnBatchNorm, norm, "2 channels")    \
  X(BurnModuleList, list, "two linears")  \
  X(BurnSize, width, "a constant")        \
  X(BurnModuleOption, option, "a linear") \
  X(BurnModuleOption, absent, "nothing")  \
  X(Choice, dense, "a linear")            \
  X(Choice, off, "nothing")               \
  X(BurnConstant, table, "a constant tensor [2]")
BURN_MODULE(Net, NET_FIELDS);

enum { NET_FLOATS = 64 };
typedef struct Weights {
  float values[NET_FLOATS];
  size_t count;
} Weights;

static Net net_make(BurnDevice *device) {
  const BurnLinearConfig linear = BurnLinearConfig_defaults(3, 2);
  const BurnBatchNormConfig norm = BurnBatchNormConfig_defaults(2);
  BurnLinear option = burn_linear_init(&linear, device);
  Net net = {.linear = burn_linear_init(&linear, device),
             .norm = burn_batch_norm_init(&norm, device),
             .list = burn_module_list(BurnLinear_type(), 2),
             .width = 7,
             .dense = Choice_Dense(burn_linear_init(&linear, device)),
             .off = Choice_Off(burn_identity_init()),
             .table = burn_constant(burn_zeros(device, BURN_SHAPE(2), BURN_DTYPE_F32))};
  burn_module_option_set(&net.option, burn_module(BurnLinear, &option));
  for (size_t i = 0; i < net.list.count; i++)
    *(BurnLinear *)burn_module_list_at(&net.list, i) = burn_linear_init(&linear, device);
  return net;
}

static BurnStatus weights_add(void *context, const BurnModuleTensor *tensor) {
  Weights *weights = context;
  BurnTensor *value = tensor->param ? burn_param_value(tensor->param) : burn_buffer_value(tensor->buffer);
  const size_t count = (size_t)burn_element_count(value);
  FUZZ_REQUIRE(weights->count + count <= NET_FLOATS, "%s has grown to %zu elements", tensor->path, count);
  const BurnStatus status = burn_read_f32(value, weights->values + weights->count, count);
  weights->count += count;
  return status;
}

static Weights weights_of(Net *net) {
  Weights weights = {{0}, 0};
  FUZZ_REQUIRE(fuzz_ok(burn_module_visit(burn_module(Net, net), weights_add, &weights)),
               "a module cannot be read any more");
  return weights;
}

/* Loads or refuses; after a refusal the module is as it was. */
static void into_module(BurnStatus (*load)(BurnModule module, const void *from, const BurnRecordConfig *config),
                        const void *from, const BurnRecordConfig *config) {
  Net net = net_make(fuzz_device("ndarray"));
  const Weights before = weights_of(&net);
  const bool loaded = fuzz_ok(load(burn_module(Net, &net), from, config));
  const Weights after = weights_of(&net);
  FUZZ_REQUIRE(loaded || memcmp(&before, &after, sizeof before) == 0, "a refused record changed the module");
  Net_release(&net);
}

#endif
