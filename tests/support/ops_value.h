/* ops_value.h - the tensors of golden rows: from text to host memory, and from there to a device in several memory
 * layouts. */
#ifndef BURN_OPS_VALUE_H
#define BURN_OPS_VALUE_H

#include "ops_case.h"

/* Elements in host memory. */
typedef struct OpsValue {
  bool absent;
  BurnDType dtype;
  BurnShape shape;
  int64_t count;
  size_t bytes; /* of one element */
  char *data;
  bool digest; /* data is two doubles: weighted sums of what is expected */
} OpsValue;

/* How an input lies in memory: row-major; transposed; every second element from the end; with strides of 0 along axes
 * whose elements are equal. */
enum { OPS_LAYOUT_PLAIN = 0, OPS_LAYOUT_TRANSPOSED, OPS_LAYOUT_BACKWARDS, OPS_LAYOUT_EXPANDED, OPS_LAYOUT_COUNT };
extern const char *const ops_layout_names[OPS_LAYOUT_COUNT];

/* Where the test is, for messages; static, so that it lives when a failed assertion jumps out. */
extern char ops_place[512];

/* The tensors of a text with ';' between them; returns how many. `texts` is what "$k" stands for. */
size_t ops_values_parse(const char *text, const char *const *texts, OpsValue values[OPS_MAX_TENSORS]);
void ops_values_free(OpsValue *values, size_t count);

/* Element i as a double, and exactly in *whole if it is an integer (0 for floats). */
double ops_value_load(const OpsValue *value, int64_t i, int64_t *whole);

/* Stores element i: `number` into floats, `whole` (its lowest bits) into the others. */
void ops_value_store(OpsValue *value, int64_t i, double number, int64_t whole);

/* A number as f16 or bf16 has it: nearest, ties to even, too large ones infinite. */
double ops_value_round(BurnDType dtype, double number);

/* True if the layout means something for one of the values. */
bool ops_layout_applies(BurnDevice *device, int layout, const OpsValue *values, size_t count);

/* A tensor of the value, in a layout if that applies to it, else in row-major order. */
BurnTensor *ops_value_tensor(BurnDevice *device, const OpsValue *value, int layout);

#endif
