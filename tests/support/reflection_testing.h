/* reflection_testing.h - modules that module_test.c and record_test.c share: every kind of row, made without layers.
 *
 *   Net { dense: Dense {weight [2, 3], bias [3]}, drop, blocks: [Block {dense, norm}, Block], stride, rate,
 *         tail: Dense without bias, lookup: Lookup {table: integers [4]} } */
#ifndef BURN_REFLECTION_TESTING_H
#define BURN_REFLECTION_TESTING_H

#include "status_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#define DENSE_FIELDS(X)                \
  X(BurnParam, weight, "[2, 3]")       \
  X(BurnOptionParam, bias, "[3], may be absent")
BURN_MODULE(Dense, DENSE_FIELDS);

#define NORM_FIELDS(X)                      \
  X(BurnParam, gamma, "[3]")                \
  X(BurnBuffer, running_mean, "[3]")        \
  X(BurnF64, epsilon, "added")
BURN_MODULE(BurnTestNorm, NORM_FIELDS);

#define DROP_FIELDS(X) X(BurnF64, prob, "share")
BURN_MODULE(Drop, DROP_FIELDS);

#define BLOCK_FIELDS(X)           \
  X(Dense, dense, "first")        \
  X(BurnTestNorm, norm, "second")
BURN_MODULE(Block, BLOCK_FIELDS);

#define LOOKUP_FIELDS(X) X(BurnParam, table, "[4] integers")
BURN_MODULE(Lookup, LOOKUP_FIELDS);

#define NET_FIELDS(X)                    \
  X(Dense, dense, "in")                  \
  X(Drop, drop, "no tensors")            \
  X(BurnModuleList, blocks, "of Block")  \
  X(BurnSize2, stride, "constants")      \
  X(BurnOptionF64, rate, "constant")     \
  X(Dense, tail, "without bias")         \
  X(Lookup, lookup, "integers")
BURN_MODULE(Net, NET_FIELDS);
/* clang-format on */

enum { NET_TENSORS = 12, NET_FLOATS = 2 * 3 + 3 + 2 * (2 * 3 + 3 + 3 + 3) + 2 * 3 };

/* cmocka state: a plain and an autodiff device, and a folder for files. */
typedef struct Fixture {
  BurnDevice *plain, *training;
  char folder[64];
} Fixture;

BURN_UNUSED static BurnTensor *ramp(BurnDevice *device, float start, BurnShape shape) {
  float values[64];
  for (int i = 0; i < 64; i++) values[i] = start + (float)i / 8;
  return burn_tensor_f32(device, values, shape);
}

BURN_UNUSED static Dense dense_make(BurnDevice *device, float start, bool bias) {
  return (Dense){burn_param(ramp(device, start, BURN_SHAPE(2, 3))),
                 burn_param(bias ? ramp(device, start + 50, BURN_SHAPE(3)) : NULL)};
}

/* Values depend on `start` alone, so two nets of one start are equal. */
BURN_UNUSED static Net net_make(BurnDevice *device, float start) {
  const int32_t table[] = {3, -1, 70000, 5};
  Net net = {.dense = dense_make(device, start, true),
             .drop = {0.5},
             .blocks = burn_module_list(Block_type(), 2),
             .stride = {{2, 1}},
             .rate = BURN_ABSENT,
             .tail = dense_make(device, start + 100, false),
             .lookup = {burn_param(burn_tensor_i32(device, table, BURN_SHAPE(4)))}};
  for (size_t i = 0; i < 2; i++) {
    Block *block = burn_module_list_at(&net.blocks, i);
    block->dense = dense_make(device, start + 110 + 10 * (float)i, true);
    block->norm.gamma = burn_param(ramp(device, start + 190 + 10 * (float)i, BURN_SHAPE(3)));
    block->norm.running_mean = burn_buffer(ramp(device, start + 220 + 10 * (float)i, BURN_SHAPE(3)));
    block->norm.epsilon = 1e-5;
  }
  check_status(burn_module_status(burn_module(Net, &net)));
  return net;
}

/* All values and ids of a net, in row order. */
typedef struct NetDump {
  double values[64 * NET_TENSORS];
  size_t count;
  uint64_t ids[NET_TENSORS];
  size_t tensors;
} NetDump;

BURN_UNUSED static BurnStatus dump_tensor(void *context, const BurnModuleTensor *tensor) {
  NetDump *dump = context;
  BurnTensor *value = tensor->param ? burn_param_value(tensor->param) : burn_buffer_value(tensor->buffer);
  size_t count = (size_t)burn_element_count(value);
  assert_true(dump->count + count <= 64 * NET_TENSORS && dump->tensors < NET_TENSORS);
  BurnStatus status = burn_read_f64(value, dump->values + dump->count, count);
  dump->count += count;
  dump->ids[dump->tensors++] = tensor->param ? tensor->param->id : 0;
  return status;
}

BURN_UNUSED static NetDump net_dump(Net *net) {
  NetDump dump;
  memset(&dump, 0, sizeof dump);
  check_status(burn_module_visit(burn_module(Net, net), dump_tensor, &dump));
  assert_int_equal(dump.tensors, NET_TENSORS);
  return dump;
}

BURN_UNUSED static bool same_values(const NetDump *a, const NetDump *b) {
  return a->count == b->count && memcmp(a->values, b->values, a->count * sizeof a->values[0]) == 0;
}

BURN_UNUSED static int fixture_setup(void **state) {
  static Fixture fixture;
  fixture.plain = burn_device_open("ndarray");
  fixture.training = burn_device_open_training("ndarray");
  check_status(burn_device_status(fixture.plain));
  check_status(burn_device_status(fixture.training));
  (void)snprintf(fixture.folder, sizeof fixture.folder, "/tmp/burn-reflection-test-XXXXXX");
  *state = &fixture;
  return mkdtemp(fixture.folder) ? 0 : -1;
}

#endif
