/* cases.c - the table of cases.def. */
#include "bench.h"

const char *const group_names[] = {"op", "overhead", "convolution", "model", "large", "gpu"};

#define TYPED(dtype, group, name, kind, args, repeats, read, written, flops) \
  {BURN_DTYPE_##dtype, group, name, kind, ARGS args, repeats, read, written, flops},
#define CASE(...) TYPED(F32, __VA_ARGS__)
const Case bench_cases[] = {
#include "cases.def"
};
#undef CASE
#undef TYPED
const size_t bench_case_count = sizeof bench_cases / sizeof bench_cases[0];
