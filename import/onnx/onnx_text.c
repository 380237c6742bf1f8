/* onnx_text.c - ONNX operators on texts: StringConcat, StringSplit, StringNormalizer, RegexFullMatch. They run on the
 * host. */
#include "onnx_letters.h"
#include "onnx_strings.h"
#include "store_pattern.h"

#include <stdlib.h>
#include <string.h>

/* More strings than this are refused: small inputs may ask for any number. */
enum { MAX_STRINGS = 1 << 26 };

static bool fits(OnnxNode *node, size_t count, size_t times) {
  if (times == 0 || count <= MAX_STRINGS / times) return true;
  onnx_fail(node, burn_status_make(BURN_STATUS_OUT_OF_RANGE, "%zu times %zu strings; at most %d expected", count, times,
                                   MAX_STRINGS));
  return false;
}

static OnnxRank rank_of(bool scalar) { return scalar ? ONNX_RANK_0 : ONNX_RANK_MORE; }

/* -- StringConcat ------------------------------------------------------------------------------ */

/* The size of axis k of `rank`, counted as if the shape had leading axes of size 1. */
static int64_t size_at(const BurnShape *shape, uint32_t rank, uint32_t k) {
  return k + shape->rank < rank ? 1 : shape->dims[k + shape->rank - rank];
}

/* The shape that both are stretched to; false, with the node failed, if there is none. */
static bool stretched(OnnxNode *node, const BurnShape *a, const BurnShape *b, BurnShape *out, size_t *count) {
  *out = (BurnShape){.rank = a->rank > b->rank ? a->rank : b->rank};
  *count = 1;
  for (uint32_t k = 0; k < out->rank; k++) {
    const int64_t x = size_at(a, out->rank, k), y = size_at(b, out->rank, k);
    if (x != y && x != 1 && y != 1) {
      onnx_fail(node, burn_status_make(BURN_STATUS_INVALID_SHAPE, "shapes %s and %s", burn_shape_text(*a).text,
                                       burn_shape_text(*b).text));
      return false;
    }
    out->dims[k] = x == 1 ? y : x;
  }
  for (uint32_t k = 0; k < out->rank; k++) {
    if (!fits(node, *count, (size_t)out->dims[k])) return false;
    *count *= (size_t)out->dims[k];
  }
  return true;
}

/* The element of `shape` that is stretched to element i of `out`. */
static size_t source(const BurnShape *shape, const BurnShape *out, size_t i) {
  size_t at = 0, step = 1;
  for (uint32_t k = out->rank; k-- > 0;) {
    const size_t size = (size_t)size_at(shape, out->rank, k), place = i % (size_t)out->dims[k];
    i /= (size_t)out->dims[k];
    at += size == 1 ? 0 : place * step;
    step *= size;
  }
  return at;
}

MAP(StringConcat) {
  const OnnxStrings *x = onnx_input_strings(node, 0), *y = onnx_input_strings(node, 1);
  OnnxStringsBuilder builder = ONNX_STRINGS_BUILDER;
  BurnShape shape;
  size_t count;
  if (!x || !y || !stretched(node, &x->shape, &y->shape, &shape, &count)) return;
  for (size_t i = 0; i < count; i++) {
    const char *first = x->items[source(&x->shape, &shape, i)], *second = y->items[source(&y->shape, &shape, i)];
    onnx_add_bytes(&builder, first, strlen(first));
    onnx_add_string(&builder, second, strlen(second));
  }
  onnx_give_strings(node, 0, onnx_build_strings(&builder, shape), rank_of(node->scalar[0] && node->scalar[1]));
}

/* -- StringSplit ------------------------------------------------------------------------------- */

/* A text that is being cut, as Python's str.split does. */
typedef struct Cut {
  const char *rest;      /* NULL: there is no more */
  const char *delimiter; /* "": any number of whitespace */
  int64_t left;          /* cuts; negative: any number */
} Cut;

static bool next_word(Cut *cut, const char **piece, size_t *length) {
  static const char space[] = " \t\n\v\f\r";
  *piece = cut->rest + strspn(cut->rest, space);
  *length = cut->left == 0 ? strlen(*piece) : strcspn(*piece, space);
  cut->rest = *piece + *length;
  return *length > 0;
}

static bool next_piece(Cut *cut, const char **piece, size_t *length) {
  bool found = cut->rest != NULL;
  if (found && !cut->delimiter[0]) {
    found = next_word(cut, piece, length);
  } else if (found) {
    const char *end = cut->left == 0 ? NULL : strstr(cut->rest, cut->delimiter);
    *piece = cut->rest;
    *length = end ? (size_t)(end - cut->rest) : strlen(cut->rest);
    cut->rest = end ? end + strlen(cut->delimiter) : NULL;
  }
  if (cut->left > 0) cut->left--;
  return found;
}

/* The pieces of all strings, filled up with empty ones to `width` for each. */
static OnnxStrings *pieces(const OnnxStrings *x, Cut cut, BurnShape shape, size_t width) {
  OnnxStringsBuilder builder = ONNX_STRINGS_BUILDER;
  for (size_t i = 0; i < x->count; i++) {
    Cut each = cut;
    const char *piece;
    size_t length, made = 0;
    each.rest = x->items[i];
    for (; next_piece(&each, &piece, &length); made++) onnx_add_string(&builder, piece, length);
    for (; made < width; made++) onnx_add_string(&builder, "", 0);
  }
  return onnx_build_strings(&builder, shape);
}

static void split(OnnxNode *node, const OnnxStrings *x, Cut cut, int64_t *counts) {
  const bool scalar = node->scalar[0];
  BurnShape shape = x->shape;
  size_t width = 0;
  for (size_t i = 0; i < x->count; i++) {
    Cut each = cut;
    const char *piece;
    size_t length;
    each.rest = x->items[i];
    while (next_piece(&each, &piece, &length)) counts[i]++;
    if ((size_t)counts[i] > width) width = (size_t)counts[i];
  }
  if (shape.rank == BURN_MAX_RANK) {
    onnx_not_mapped(node, "strings with %u axes", shape.rank);
    return;
  }
  if (!fits(node, x->count, width)) return;
  shape.dims[scalar ? 0 : shape.rank++] = (int64_t)width;
  onnx_give_strings(node, 0, pieces(x, cut, shape, width), ONNX_RANK_MORE);
  onnx_give_rank(node, 1, burn_tensor_i64(node->device, counts, x->shape), rank_of(scalar));
}

MAP(StringSplit) {
  const OnnxStrings *x = onnx_input_strings(node, 0);
  char *delimiter = x ? onnx_string_attribute(node, "delimiter") : NULL;
  int64_t *counts = delimiter ? calloc(x->count + 1, sizeof *counts) : NULL;
  if (delimiter && !counts) onnx_fail(node, burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%zu strings", x->count));
  if (counts) split(node, x, (Cut){.delimiter = delimiter, .left = onnx_int(node, "maxsplit", -1)}, counts);
  free(counts);
  free(delimiter);
}

/* -- StringNormalizer -------------------------------------------------------------------------- */

/* All in lower or upper case; NULL with the node failed. */
static OnnxStrings *in_case(OnnxNode *node, const OnnxStrings *x, bool upper) {
  OnnxStringsBuilder builder = ONNX_STRINGS_BUILDER;
  bool known = true;
  for (size_t i = 0; i < x->count; i++) known = onnx_add_in_case(&builder, x->items[i], upper) && known;
  if (!known) {
    onnx_not_mapped(node, "this build has no utf8proc, and so the case of letters of ASCII only");
    onnx_builder_release(&builder);
    return NULL;
  }
  OnnxStrings *changed = onnx_build_strings(&builder, x->shape);
  if (!changed) onnx_fail(node, burn_status_make(BURN_STATUS_OUT_OF_MEMORY, ONNX_NO_STRINGS, x->count));
  return changed;
}

/* Words that are left out, sorted, in lower case if case does not count; NULL with the node failed. */
static OnnxStrings *stop_words(OnnxNode *node, bool lower) {
  const Onnx__AttributeProto *attribute = onnx_attribute(node, "stopwords");
  static const Onnx__AttributeProto none = {.name = (char *)"stopwords"};
  BurnStatus status;
  OnnxStrings *words = onnx_strings_of_list(attribute ? attribute : &none, &status);
  if (!words) onnx_fail(node, status);
  if (words && lower) {
    OnnxStrings *lowered = in_case(node, words, false);
    onnx_strings_release(words);
    words = lowered;
  }
  if (words && words->count) qsort(words->items, words->count, sizeof words->items[0], onnx_by_bytes);
  return words;
}

/* Strings of `x` whose key is not a stop word: [n] or [1, n], and one empty string where none is left. */
static OnnxStrings *kept(const OnnxStrings *x, const OnnxStrings *keys, const OnnxStrings *stops) {
  OnnxStringsBuilder builder = ONNX_STRINGS_BUILDER;
  BurnShape shape = x->shape;
  for (size_t i = 0; i < x->count; i++) {
    const bool stops_here = bsearch(&keys->items[i], stops->items, stops->count, sizeof stops->items[0], onnx_by_bytes);
    if (!stops_here) onnx_add_string(&builder, x->items[i], strlen(x->items[i]));
  }
  if (builder.count == 0) onnx_add_string(&builder, "", 0);
  shape.dims[shape.rank - 1] = (int64_t)builder.count;
  return onnx_build_strings(&builder, shape);
}

MAP(StringNormalizer) {
  const OnnxStrings *x = onnx_input_strings(node, 0);
  const bool upper = onnx_is(node, "case_change_action", "NONE", "UPPER");
  const bool lower = onnx_is(node, "case_change_action", "NONE", "LOWER"),
             exact = onnx_int(node, "is_case_sensitive", 0);
  if (!x) return;
  if (!upper && !lower && !onnx_is(node, "case_change_action", "NONE", "NONE")) {
    onnx_not_mapped(node, "its case_change_action is none of LOWER, UPPER and NONE");
    return;
  }
  if (node->scalar[0] || x->shape.rank > 2 || (x->shape.rank == 2 && x->shape.dims[0] != 1)) {
    onnx_fail(node, burn_status_make(BURN_STATUS_INVALID_SHAPE, "strings %s; [n] or [1,n] expected",
                                     burn_shape_text(x->shape).text));
    return;
  }
  OnnxStrings *stops = stop_words(node, !exact);
  OnnxStrings *keys = !stops ? NULL : exact ? onnx_strings_retain(node->strings[0]) : in_case(node, x, false);
  OnnxStrings *changed = !keys            ? NULL
                         : upper || lower ? in_case(node, x, upper)
                                          : onnx_strings_retain(node->strings[0]);
  if (changed) onnx_give_strings(node, 0, kept(changed, keys, stops), ONNX_RANK_MORE);
  onnx_strings_release(stops);
  onnx_strings_release(keys);
  onnx_strings_release(changed);
}

/* -- RegexFullMatch ---------------------------------------------------------------------------- */

static void match(OnnxNode *node, const OnnxStrings *x, const BurnStorePattern *pattern, bool *matches) {
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < x->count && status == BURN_OK; i++) {
    status = burn__store_pattern_matches(pattern, x->items[i], &matches[i]);
  }
  if (status != BURN_OK) onnx_fail(node, status);
  if (status == BURN_OK)
    onnx_give_rank(node, 0, burn_tensor_bool(node->device, matches, x->shape), rank_of(node->scalar[0]));
}

MAP(RegexFullMatch) {
  const OnnxStrings *x = onnx_input_strings(node, 0);
  char *text = x ? onnx_string_attribute(node, "pattern") : NULL;
  bool *matches = text ? calloc(x->count + 1, sizeof *matches) : NULL;
  BurnStatus status = BURN_OK;
  BurnStorePattern *pattern = text ? burn__store_pattern_of_all(text, &status) : NULL;
  if (text && !matches) status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%zu strings", x->count);
  if (status != BURN_OK) onnx_fail(node, status);
  if (pattern && matches) match(node, x, pattern, matches);
  burn__store_pattern_end(pattern);
  free(matches);
  free(text);
}
