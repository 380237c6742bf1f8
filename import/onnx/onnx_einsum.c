/* onnx_einsum.c - Einsum: sums of products by labels, as a row of matrix products.
 *
 * Two operands at a time: labels that only one has and nothing later wants are summed first; the rest is batch (kept by
 * both), left, right, or contracted, which is one matmul of reshaped operands. */
#include "onnx_node.h"

#include <string.h>

/* Labels 0 .. 51 are letters; those from ELLIPSIS on the axes of "...", counted from the last. */
enum { ELLIPSIS = 52, LABELS = ELLIPSIS + BURN_MAX_RANK, OPERANDS = 16 };

typedef struct Term {
  BurnTensor *x;
  int labels[BURN_MAX_RANK];
  uint32_t rank;
} Term;

typedef struct Equation {
  OnnxNode *node;
  Term terms[OPERANDS];
  size_t count;
  int output[BURN_MAX_RANK];
  uint32_t output_rank;
  int64_t sizes[LABELS]; /* 0: not seen */
  int uses[LABELS];
} Equation;

/* -- reading ----------------------------------------------------------------------------------- */

static int label_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A'; /* capitals first, as in ASCII: the order of an implicit result */
  return c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}

/* Reads labels up to ',' or '-' or the end. `wide` is the number of axes that "..." stands for. */
static const char *read_labels(OnnxNode *node, const char *at, int *labels, uint32_t *rank, uint32_t wide) {
  *rank = 0;
  for (; *at && *at != ',' && *at != '-'; at++) {
    const bool dots = strncmp(at, "...", 3) == 0;
    if (*at == ' ') continue;
    if ((!dots && label_of(*at) < 0) || *rank + (dots ? wide : 1) > BURN_MAX_RANK) {
      onnx_not_mapped(node, "the equation has '%c' or more than %d axes", *at, BURN_MAX_RANK);
      return at;
    }
    for (uint32_t i = 0; dots && i < wide; i++) labels[(*rank)++] = ELLIPSIS + (int)(wide - 1 - i);
    if (!dots) labels[(*rank)++] = label_of(*at);
    if (dots) at += 2;
  }
  return at;
}

static uint32_t letters_of(const char *at) {
  uint32_t count = 0;
  for (; *at && *at != ',' && *at != '-'; at++) count += label_of(*at) >= 0;
  return count;
}

/* The labels of operand i, and the sizes that they have; 1 gives way to others. */
static const char *read_term(Equation *e, const char *at, size_t i) {
  Term *t = &e->terms[i];
  const uint32_t rank = e->node->scalar[i] ? 0 : onnx_input_rank(e->node, i), letters = letters_of(at);
  at = read_labels(e->node, at, t->labels, &t->rank, rank > letters ? rank - letters : 0);
  if (!e->node->reason[0] && t->rank != rank) onnx_not_mapped(e->node, "operand %zu has rank %u", i, rank);
  for (uint32_t k = 0; k < t->rank && !e->node->reason[0]; k++) {
    int64_t *size = &e->sizes[t->labels[k]];
    const int64_t dim = onnx_input_dim(e->node, i, (int)k);
    if (*size > 1 && dim > 1 && *size != dim) onnx_not_mapped(e->node, "axes of one label have unequal sizes");
    if (*size <= 1) *size = dim;
    e->uses[t->labels[k]]++;
  }
  return at;
}

/* Without "->": the axes of "...", then the labels that stand once, by letter. */
static void implicit_output(Equation *e) {
  for (int k = LABELS - 1; k >= ELLIPSIS; k--) {
    if (e->uses[k] && e->output_rank < BURN_MAX_RANK) e->output[e->output_rank++] = k;
  }
  for (int k = 0; k < ELLIPSIS; k++) {
    if (e->uses[k] == 1 && e->output_rank < BURN_MAX_RANK) e->output[e->output_rank++] = k;
  }
}

static void read_equation(Equation *e, const char *at) {
  uint32_t wide = 0;
  for (size_t i = 0; i < e->count && !e->node->reason[0]; i++) {
    at = read_term(e, at, i);
    if (i + 1 < e->count && *at++ != ',') onnx_not_mapped(e->node, "the equation has too few operands");
  }
  if (e->node->reason[0]) return;
  for (int k = ELLIPSIS; k < LABELS; k++) wide += e->uses[k] > 0;
  if (strncmp(at, "->", 2) == 0) {
    at = read_labels(e->node, at + 2, e->output, &e->output_rank, wide);
  } else {
    implicit_output(e);
  }
  if (*at && !e->node->reason[0]) onnx_not_mapped(e->node, "the equation has too many operands");
  for (uint32_t k = 0; k < e->output_rank && !e->node->reason[0]; k++) {
    if (!e->uses[e->output[k]]) onnx_not_mapped(e->node, "the result has a label that no operand has");
  }
}

/* -- steps on one operand ---------------------------------------------------------------------- */

static int axis_of(const Term *t, int label) {
  for (uint32_t k = 0; k < t->rank; k++) {
    if (t->labels[k] == label) return (int)k;
  }
  return -1;
}

static void remove_axis(Term *t, int axis) {
  for (uint32_t k = (uint32_t)axis; k + 1 < t->rank; k++) t->labels[k] = t->labels[k + 1];
  t->rank--;
}

/* Sums an axis away; a tensor whose last axis goes stays [1]. */
static void sum_axis(Term *t, int axis) {
  t->x = burn_sum_dim(t->x, axis);
  if (t->rank > 1) t->x = burn_squeeze_dim(t->x, axis);
  remove_axis(t, axis);
}

/* A label twice in one operand: what is off the diagonal becomes 0, and the second axis is summed. */
static void take_diagonals(Term *t) {
  for (uint32_t k = 0; k < t->rank; k++) {
    const int first = axis_of(t, t->labels[k]);
    if (first == (int)k) continue;
    int64_t dims[BURN_MAX_RANK];
    for (uint32_t i = 0; i < t->rank; i++) dims[i] = (int)i == first || i == k ? burn_dim(t->x, (int)i) : 1;
    BurnTensor *off = burn_diag_mask(burn_tensor_device(t->x), BURN_SHAPE(dims[first], dims[k]), 0);
    t->x = burn_mask_fill(t->x, burn_expand(onnx_reshape(off, dims, t->rank), burn_shape(t->x)), 0);
    sum_axis(t, (int)k--);
  }
}

/* The axes of the operand in the order of `labels`, stretched where another operand is larger, as `dims`. */
static BurnTensor *arranged(const Equation *e, Term *t, const int *labels, const int64_t *dims, uint32_t groups) {
  int axes[BURN_MAX_RANK];
  BurnShape full = {t->rank ? t->rank : 1, {1}};
  for (uint32_t k = 0; k < t->rank; k++) {
    axes[k] = axis_of(t, labels[k]);
    full.dims[k] = e->sizes[labels[k]];
  }
  BurnTensor *x = t->rank ? burn_permute(t->x, axes) : t->x;
  return onnx_reshape(burn_expand(x, full), dims, groups);
}

/* -- two operands become one ------------------------------------------------------------------- */

static bool is_in(const int *labels, uint32_t count, int label) {
  for (uint32_t k = 0; k < count; k++) {
    if (labels[k] == label) return true;
  }
  return false;
}

static bool is_wanted(const Equation *e, size_t after, int label) {
  for (size_t i = after; i < e->count; i++) {
    if (axis_of(&e->terms[i], label) >= 0) return true;
  }
  return is_in(e->output, e->output_rank, label);
}

static void sum_unwanted(const Equation *e, Term *t, const Term *other, size_t after) {
  for (int k = (int)t->rank - 1; k >= 0; k--) {
    const int label = t->labels[k];
    if ((!other || axis_of(other, label) < 0) && !is_wanted(e, after, label)) sum_axis(t, k);
  }
}

typedef enum Role { BATCH, FREE, CONTRACTED } Role;

/* Appends the labels of t with that role, and gives the product of their sizes. */
static int64_t collect(const Equation *e, const Term *t, const Term *other, size_t after, Role role, int *labels,
                       uint32_t *count) {
  int64_t product = 1;
  for (uint32_t k = 0; k < t->rank; k++) {
    const int label = t->labels[k];
    const Role is = axis_of(other, label) < 0 ? FREE : is_wanted(e, after, label) ? BATCH : CONTRACTED;
    if (is != role) continue;
    labels[(*count)++] = label;
    product *= e->sizes[label];
  }
  return product;
}

/* a [batch, left, contracted] times b [batch, contracted, right]. */
static Term product(const Equation *e, Term *a, Term *b, size_t after) {
  Term result = {0};
  int left[2 * BURN_MAX_RANK], right[2 * BURN_MAX_RANK], all[3 * BURN_MAX_RANK];
  uint32_t lefts = 0, rights = 0, total = 0;
  sum_unwanted(e, a, b, after);
  sum_unwanted(e, b, a, after);
  const int64_t batch = collect(e, a, b, after, BATCH, left, &lefts);
  memcpy(right, left, sizeof left);
  memcpy(all, left, sizeof left);
  rights = total = lefts;
  const int64_t rows = collect(e, a, b, after, FREE, left, &lefts);
  (void)collect(e, a, b, after, FREE, all, &total);
  const int64_t inner = collect(e, a, b, after, CONTRACTED, left, &lefts);
  (void)collect(e, a, b, after, CONTRACTED, right, &rights);
  const int64_t columns = collect(e, b, a, after, FREE, right, &rights);
  (void)collect(e, b, a, after, FREE, all, &total);
  if (total > BURN_MAX_RANK) {
    onnx_not_mapped(e->node, "a product of %u axes", total);
    return result;
  }
  BurnTensor *lhs = arranged(e, a, left, (int64_t[]){batch, rows, inner}, 3);
  BurnTensor *rhs = arranged(e, b, right, (int64_t[]){batch, inner, columns}, 3);
  int64_t dims[BURN_MAX_RANK];
  for (uint32_t k = 0; k < total; k++) {
    result.labels[k] = all[k];
    dims[k] = e->sizes[all[k]];
  }
  a->x = b->x = NULL;
  result.rank = total;
  result.x = onnx_reshape(burn_matmul(lhs, rhs), dims, total);
  return result;
}

static void give_result(Equation *e, Term *t) {
  int64_t dims[BURN_MAX_RANK];
  sum_unwanted(e, t, NULL, e->count);
  for (uint32_t k = 0; k < e->output_rank; k++) dims[k] = e->sizes[e->output[k]];
  BurnTensor *x = arranged(e, t, e->output, dims, e->output_rank);
  t->x = NULL;
  onnx_give_rank(e->node, 0, x, e->output_rank ? ONNX_RANK_MORE : ONNX_RANK_0);
}

MAP(Einsum) {
  char text[256] = "";
  const Onnx__AttributeProto *equation = onnx_attribute(node, "equation");
  Equation e = {.node = node, .count = node->proto->n_input};
  if (!equation || equation->s.len >= sizeof text || e.count > OPERANDS || e.count == 0) {
    onnx_not_mapped(node, "an equation of %zu operands, or too long", e.count);
    return;
  }
  if (equation->s.len > 0) memcpy(text, equation->s.data, equation->s.len); /* else there are no data */
  read_equation(&e, text);
  if (node->reason[0]) return;
  for (size_t i = 0; i < e.count; i++) {
    e.terms[i].x = onnx_input(node, i);
    take_diagonals(&e.terms[i]);
  }
  Term all = e.terms[0];
  for (size_t i = 1; i < e.count && !node->reason[0]; i++) all = product(&e, &all, &e.terms[i], i + 1);
  if (!node->reason[0]) give_result(&e, &all);
  burn_drop(all.x);
}
