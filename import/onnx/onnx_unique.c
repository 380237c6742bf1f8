/* onnx_unique.c - Unique. The shape of the result depends on the data, so the values are compared on the host; the
 * result is then gathered on the device. */
#include "onnx_node.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A row of elements, which is one element without an axis. */
typedef struct Row {
  const double *floats;
  const int64_t *ints; /* one of the two */
  size_t count;
  size_t index, group;
} Row;

typedef struct Group {
  size_t first, count, rank; /* its first row; rows; its place in the result */
} Group;

static int compare_floats(double a, double b) {
  if (isnan(a) || isnan(b)) return isnan(a) - isnan(b); /* last, and equal, as in NumPy */
  return (a > b) - (a < b);
}

static int compare_values(const Row *a, const Row *b) {
  int order = 0;
  for (size_t i = 0; i < a->count && order == 0; i++) {
    order =
        a->floats ? compare_floats(a->floats[i], b->floats[i]) : (a->ints[i] > b->ints[i]) - (a->ints[i] < b->ints[i]);
  }
  return order;
}

static int by_value(const void *lhs, const void *rhs) {
  const Row *a = lhs, *b = rhs;
  const int order = compare_values(a, b);
  return order ? order : (a->index > b->index) - (a->index < b->index);
}

static int by_first(const void *lhs, const void *rhs) {
  const Group *const *a = lhs, *const *b = rhs;
  return ((*a)->first > (*b)->first) - ((*a)->first < (*b)->first);
}

typedef struct Search {
  Row *rows;
  Group *groups;
  Group **order; /* as they stand in the result */
  void *values;
  int64_t *numbers; /* [rows], for results */
  size_t row_count, group_count;
} Search;

static void release(Search *s) {
  free(s->rows);
  free(s->groups);
  free(s->order);
  free(s->values);
  free(s->numbers);
}

static BurnStatus read_values(Search *s, BurnTensor *x, size_t count, bool floats) {
  s->rows = calloc(s->row_count + 1, sizeof *s->rows);
  s->groups = calloc(s->row_count + 1, sizeof *s->groups);
  s->order = calloc(s->row_count + 1, sizeof(Group *));
  s->numbers = calloc(s->row_count + 1, sizeof *s->numbers);
  s->values = calloc(count + 1, sizeof(double));
  if (!s->rows || !s->groups || !s->order || !s->numbers || !s->values) {
    burn_drop(x);
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "Unique: %zu elements", count);
  }
  return floats ? burn_read_f64(x, s->values, count) : burn_read_i64(x, s->values, count);
}

static void group(Search *s, size_t width, bool floats, bool sorted) {
  for (size_t i = 0; i < s->row_count; i++) {
    Row *row = &s->rows[i];
    *row = (Row){.count = width, .index = i};
    if (floats) row->floats = (const double *)s->values + i * width;
    if (!floats) row->ints = (const int64_t *)s->values + i * width;
  }
  qsort(s->rows, s->row_count, sizeof *s->rows, by_value);
  for (size_t i = 0; i < s->row_count; i++) {
    if (i == 0 || compare_values(&s->rows[i - 1], &s->rows[i]) != 0) {
      s->order[s->group_count] = &s->groups[s->group_count];
      s->groups[s->group_count++].first = s->rows[i].index;
    }
    s->rows[i].group = s->group_count - 1;
    s->groups[s->group_count - 1].count++;
  }
  if (!sorted) qsort(s->order, s->group_count, sizeof(Group *), by_first);
  for (size_t i = 0; i < s->group_count; i++) s->order[i]->rank = i;
}

/* Results 1 to 3; and the rows that stay, for result 0. */
static BurnTensor *give_numbers(OnnxNode *node, Search *s) {
  for (size_t i = 0; i < s->row_count; i++) s->numbers[s->rows[i].index] = (int64_t)s->groups[s->rows[i].group].rank;
  onnx_give_rank(node, 2, onnx_i64s(node->device, s->numbers, s->row_count), ONNX_RANK_MORE);
  for (size_t i = 0; i < s->group_count; i++) s->numbers[i] = (int64_t)s->order[i]->count;
  onnx_give_rank(node, 3, onnx_i64s(node->device, s->numbers, s->group_count), ONNX_RANK_MORE);
  for (size_t i = 0; i < s->group_count; i++) s->numbers[i] = (int64_t)s->order[i]->first;
  BurnTensor *kept = onnx_i64s(node->device, s->numbers, s->group_count);
  onnx_give_rank(node, 1, burn_clone(kept), ONNX_RANK_MORE);
  return kept;
}

MAP(Unique) {
  BurnTensor *x = onnx_input(node, 0);
  const bool flat = !onnx_attribute(node, "axis"), floats = burn_dtype_kind(burn_dtype(x)) == BURN_KIND_FLOAT;
  if (flat) x = burn_reshape(x, BURN_SHAPE(-1));
  const int axis = flat ? 0 : onnx_axis(node, "axis", onnx_int(node, "axis", 0), burn_rank(x));
  const size_t count = (size_t)burn_element_count(x);
  Search s = {.row_count = (size_t)burn_dim(x, axis)};
  const BurnStatus status = read_values(&s, burn_movedim(burn_clone(x), axis, 0), count, floats);
  if (status != BURN_OK) {
    onnx_fail(node, status);
    burn_drop(x);
  } else {
    group(&s, s.row_count ? count / s.row_count : 0, floats, onnx_int(node, "sorted", 1));
    onnx_give_rank(node, 0, burn_select(x, axis, give_numbers(node, &s)), ONNX_RANK_MORE);
  }
  release(&s);
}
