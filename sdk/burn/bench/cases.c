/* cases.c - the table of cases.def. */
#include "bench.h"

const char *const group_names[] = {"op", "overhead", "model"};

#define CASE(group, name, kind, args, repeats, read, written, flops) \
  {group, name, kind, ARGS args, repeats, read, written, flops},
const Case bench_cases[] = {
#include "cases.def"
};
#undef CASE
const size_t bench_case_count = sizeof bench_cases / sizeof bench_cases[0];
