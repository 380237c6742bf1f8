/* ops_quantization_moves.c - ops whose result stays quantized. Where the blocks of the result are whole blocks of q,
 * values and scales move alike and nothing is rounded. Elsewhere it is Burn's way: floats, the op, and quantized again
 * by the range of the result. */
#include "quantization_internal.h"

typedef BurnTensor *(*Move)(BurnTensor *x, const void *arguments);

/* Takes x, whose shape may not fit the scheme any more. */
static BurnQuantTensor quantized_again(BurnTensor *x, const char *user, BurnQuantScheme scheme) {
  BurnQuantBlocks blocks;
  if (burn__quant_fits(&x, user, &scheme, &blocks)) return burn_quantize_dynamic(x, scheme);
  return (BurnQuantTensor){x, {NULL, NULL}, scheme};
}

/* Takes q, which fits its scheme. `of_scales` are the arguments for the scales; NULL where blocks would be torn. */
static BurnQuantTensor moved(BurnQuantTensor q, const char *user, Move move, const void *of_values,
                             const void *of_scales) {
  const bool has_blocks = q.scheme.block_rank > 0;
  if (has_blocks && !of_scales) {
    const BurnQuantScheme scheme = q.scheme;
    return quantized_again(move(burn_dequantize(q, BURN_DTYPE_F32), of_values), user, scheme);
  }
  q.values = move(q.values, of_values);
  if (has_blocks) q.parameters.scales = move(q.parameters.scales, of_scales);
  return q;
}

/* -- shape ------------------------------------------------------------------------------------ */

static BurnTensor *to_shape(BurnTensor *x, const void *shape) { return burn__reshape_to(x, *(const BurnShape *)shape); }
static BurnTensor *to_expanded(BurnTensor *x, const void *shape) { return burn_expand(x, *(const BurnShape *)shape); }

/* What `change` makes of the shape of x, which stays; false, and a failed x, if it cannot. */
static bool shape_after(BurnTensor **x, BurnTensor *(*change)(BurnTensor *, BurnShape), BurnShape *shape) {
  BurnTensor *changed = change(burn_clone(*x), *shape);
  *shape = burn_shape(changed);
  if (burn_tensor_status(changed) == BURN_OK) {
    burn_drop(changed);
    return true;
  }
  burn_drop(*x);
  *x = changed;
  return false;
}

/* The grid of scales for the new shape, if each block stays a run of elements or all axes with blocks stay as they are.
 */
static bool grid_after(const BurnQuantScheme *scheme, BurnShape from, BurnShape to, BurnShape *grid) {
  const uint32_t blocked = scheme->block_rank;
  bool same = to.rank >= blocked;
  *grid = to;
  for (uint32_t i = 1; i <= blocked && i <= to.rank; i++) {
    const int64_t size = to.dims[to.rank - i], block = scheme->block[blocked - i];
    same = same && size == from.dims[from.rank - i];
    if (size % block != 0) return false;
    grid->dims[to.rank - i] = size / block;
  }
  return same || blocked == 1;
}

BurnQuantTensor burn_quant_reshape(BurnQuantTensor q, BurnShape shape) {
  BurnQuantBlocks blocks;
  BurnShape grid;
  if (!burn__quant_fits(&q.values, "quant_reshape", &q.scheme, &blocks)) return q;
  const BurnShape from = burn_shape(q.values);
  if (!shape_after(&q.values, burn_reshape, &shape)) return q;
  return moved(q, "quant_reshape", to_shape, &shape, grid_after(&q.scheme, from, shape, &grid) ? &grid : NULL);
}

/* Only axes of size 1 stretch, and their blocks have size 1. */
BurnQuantTensor burn_quant_expand(BurnQuantTensor q, BurnShape shape) {
  BurnQuantBlocks blocks;
  if (!burn__quant_fits(&q.values, "quant_expand", &q.scheme, &blocks)) return q;
  const BurnShape from = burn_shape(q.values);
  if (!shape_after(&q.values, burn_expand, &shape)) return q;
  BurnShape grid = shape;
  for (uint32_t i = 0; i < blocks.scales.rank && i < from.rank; i++) {
    const uint32_t to = shape.rank - from.rank + i;
    if (shape.dims[to] == from.dims[i]) grid.dims[to] = blocks.scales.dims[i];
  }
  return moved(q, "quant_expand", to_expanded, &shape, &grid);
}

/* -- axes ------------------------------------------------------------------------------------- */

static BurnTensor *with_axes(BurnTensor *x, const void *axes) { return burn_permute(x, axes); }

/* Blocks of the axes in their new order; false if they would span more axes than a block can. */
static bool permute_blocks(BurnQuantScheme *scheme, const BurnQuantBlocks *blocks, const int *axes, uint32_t rank) {
  uint32_t first = rank - 1; /* the first axis of the result whose blocks are wider than 1 */
  int64_t size[BURN_MAX_RANK];
  for (uint32_t i = rank; i-- > 0;) {
    size[i] = blocks->size[axes[i] < 0 ? axes[i] + (int)rank : axes[i]];
    if (size[i] != 1) first = i;
  }
  if (rank - first > BURN_QUANT_BLOCK_RANK) return false;
  scheme->block_rank = rank - first;
  for (uint32_t i = first; i < rank; i++) scheme->block[i - first] = size[i];
  return true;
}

BurnQuantTensor burn_quant_permute(BurnQuantTensor q, const int *axes) {
  BurnQuantBlocks blocks;
  if (!burn__quant_fits(&q.values, "quant_permute", &q.scheme, &blocks)) return q;
  const uint32_t rank = burn_rank(q.values);
  q = moved(q, "quant_permute", with_axes, axes, axes);
  if (q.scheme.block_rank == 0 || burn_tensor_status(q.values) != BURN_OK) return q;
  if (permute_blocks(&q.scheme, &blocks, axes, rank)) return q;
  q.values =
      fail(q.values, "quant_permute",
           BURN_FAIL(INVALID_ARGUMENT, "quant_permute: a block would have more than %d axes", BURN_QUANT_BLOCK_RANK));
  return q;
}

BurnQuantTensor burn_quant_swap_dims(BurnQuantTensor q, int dim1, int dim2) {
  int64_t first = 0, second = 0;
  int axes[BURN_MAX_RANK];
  const uint32_t rank = burn_rank(q.values);
  BurnStatus status = burn__resolve_dim(q.values, "quant_swap_dims", dim1, rank, &first);
  if (status == BURN_OK) status = burn__resolve_dim(q.values, "quant_swap_dims", dim2, rank, &second);
  if (status != BURN_OK) {
    q.values = fail(q.values, "quant_swap_dims", status);
    return q;
  }
  for (uint32_t i = 0; i < rank; i++) axes[i] = (int)i;
  axes[first] = (int)second;
  axes[second] = (int)first;
  return burn_quant_permute(q, axes);
}
BurnQuantTensor burn_quant_transpose(BurnQuantTensor q) { return burn_quant_swap_dims(q, -2, -1); }

typedef struct Dims {
  const int *dims;
  uint32_t count;
} Dims;
static BurnTensor *flipped(BurnTensor *x, const void *arguments) {
  const Dims *dims = arguments;
  return burn_flip(x, dims->dims, dims->count);
}

BurnQuantTensor burn_quant_flip(BurnQuantTensor q, const int *dims, uint32_t count) {
  const Dims flip = {dims, count};
  BurnQuantBlocks blocks;
  if (!burn__quant_fits(&q.values, "quant_flip", &q.scheme, &blocks)) return q;
  return moved(q, "quant_flip", flipped, &flip, &flip);
}

/* -- parts ------------------------------------------------------------------------------------ */

typedef struct Ranges {
  BurnRange ranges[BURN_MAX_RANK];
  const BurnRange *given;
  uint32_t count;
} Ranges;
static BurnTensor *part(BurnTensor *x, const void *arguments) {
  const Ranges *ranges = arguments;
  return burn_slice(x, ranges->given, ranges->count);
}

/* A range of whole blocks, as one of the scales. */
static bool range_of_scales(BurnRange range, int64_t size, int64_t block, BurnRange *of_scales) {
  *of_scales = range;
  if (block == 1) return true;
  const int64_t start = clamp_bound(range.start, size), end = clamp_bound(range.end, size);
  *of_scales = BURN_RANGE(start / block, end / block);
  return range.step == 1 && start % block == 0 && end % block == 0;
}

BurnQuantTensor burn_quant_slice(BurnQuantTensor q, const BurnRange *ranges, uint32_t count) {
  const Ranges of_values = {.given = ranges, .count = count};
  Ranges of_scales = {.given = of_scales.ranges, .count = count};
  BurnQuantBlocks blocks;
  if (!burn__quant_fits(&q.values, "quant_slice", &q.scheme, &blocks)) return q;
  const BurnShape shape = burn_shape(q.values);
  bool whole = q.scheme.block_rank > 0;
  for (uint32_t i = 0; whole && ranges && i < count && i < shape.rank; i++) {
    whole = range_of_scales(ranges[i], shape.dims[i], blocks.size[i], &of_scales.ranges[i]);
  }
  return moved(q, "quant_slice", part, &of_values, whole && count <= shape.rank ? &of_scales : NULL);
}

typedef struct Repeat {
  int dim;
  int64_t times;
} Repeat;
static BurnTensor *repeated(BurnTensor *x, const void *arguments) {
  const Repeat *repeat = arguments;
  return burn_repeat_dim(x, repeat->dim, repeat->times);
}

BurnQuantTensor burn_quant_repeat_dim(BurnQuantTensor q, int dim, int64_t times) {
  const Repeat repeat = {dim, times};
  BurnQuantBlocks blocks;
  if (!burn__quant_fits(&q.values, "quant_repeat_dim", &q.scheme, &blocks)) return q;
  return moved(q, "quant_repeat_dim", repeated, &repeat, &repeat);
}

/* -- by index --------------------------------------------------------------------------------- */

typedef struct Places {
  int dim;
  BurnTensor *indices; /* stays */
} Places;
static BurnTensor *selected(BurnTensor *x, const void *arguments) {
  const Places *places = arguments;
  return burn_select(x, places->dim, burn_clone(places->indices));
}
static BurnTensor *gathered(BurnTensor *x, const void *arguments) {
  const Places *places = arguments;
  return burn_gather(x, places->dim, burn_clone(places->indices));
}

/* Takes both. Rows of one element along dim have their own scales. */
BurnQuantTensor burn_quant_select(BurnQuantTensor q, int dim, BurnTensor *indices) {
  const Places places = {dim, indices};
  const uint32_t rank = burn_rank(q.values);
  const int64_t axis = dim < 0 ? (int64_t)dim + rank : dim;
  BurnQuantBlocks blocks;
  if (burn__quant_fits(&q.values, "quant_select", &q.scheme, &blocks)) {
    const bool whole = axis >= 0 && axis < (int64_t)rank && blocks.size[axis] == 1;
    q = moved(q, "quant_select", selected, &places, whole ? &places : NULL);
  }
  burn__tensor_take(indices, "quant_select");
  return q;
}

BurnQuantTensor burn_quant_gather(BurnQuantTensor q, int dim, BurnTensor *indices) {
  const Places places = {dim, indices};
  BurnQuantBlocks blocks;
  if (burn__quant_fits(&q.values, "quant_gather", &q.scheme, &blocks)) {
    q = moved(q, "quant_gather", gathered, &places, NULL);
  }
  burn__tensor_take(indices, "quant_gather");
  return q;
}

/* Takes places: what they point at; they go to *indices where the caller wants them. */
static BurnQuantTensor picked(BurnQuantTensor q, int dim, BurnTensor *places, BurnTensor **indices) {
  q = burn_quant_gather(q, dim, burn_clone(places));
  give(indices, places);
  return q;
}

static BurnTensor *floats_of(const BurnQuantTensor *q) { return burn_dequantize(burn_quant_clone(q), BURN_DTYPE_F32); }

BurnQuantTensor burn_quant_topk(BurnQuantTensor q, int64_t k, int dim, BurnTensor **indices) {
  return picked(q, dim, burn_argtopk(floats_of(&q), k, dim), indices);
}
BurnQuantTensor burn_quant_sort(BurnQuantTensor q, int dim, bool descending, BurnTensor **indices) {
  BurnTensor *x = floats_of(&q);
  return picked(q, dim, descending ? burn_argsort_descending(x, dim) : burn_argsort(x, dim), indices);
}
BurnQuantTensor burn_quant_max_dim(BurnQuantTensor q, int dim, BurnTensor **indices) {
  return picked(q, dim, burn_argmax(floats_of(&q), dim), indices);
}
BurnQuantTensor burn_quant_min_dim(BurnQuantTensor q, int dim, BurnTensor **indices) {
  return picked(q, dim, burn_argmin(floats_of(&q), dim), indices);
}
BurnQuantTensor burn_quant_max_abs_dim(BurnQuantTensor q, int dim, BurnTensor **indices) {
  return picked(q, dim, burn_argmax(burn_abs(floats_of(&q)), dim), indices);
}

/* -- quantized again -------------------------------------------------------------------------- */

BurnQuantTensor burn_quant_abs(BurnQuantTensor q) {
  const BurnQuantScheme scheme = q.scheme;
  return quantized_again(burn_abs(burn_dequantize(q, BURN_DTYPE_F32)), "quant_abs", scheme);
}

/* Blocks of one scheme without a scale of the tensor: the result has the blocks of all. */
static bool blocks_join(const BurnQuantTensor *tensors, size_t count) {
  const BurnQuantScheme *first = &tensors[0].scheme;
  bool same = first->block_rank > 0 && first->block_rank <= BURN_QUANT_BLOCK_RANK && !first->two_level;
  for (size_t i = 1; same && i < count; i++) {
    const BurnQuantScheme *next = &tensors[i].scheme;
    same =
        next->value == first->value && next->scale_dtype == first->scale_dtype && next->block_rank == first->block_rank;
    same = same && !next->two_level;
    for (uint32_t axis = 0; same && axis < first->block_rank; axis++) same = next->block[axis] == first->block[axis];
  }
  return same;
}

/* Takes the tensors; `parts` has room for `count`. */
static BurnQuantTensor joined(const BurnQuantTensor *tensors, size_t count, int dim, BurnTensor **parts) {
  BurnQuantTensor result = {NULL, {NULL, NULL}, tensors[0].scheme};
  if (!blocks_join(tensors, count)) {
    for (size_t i = 0; i < count; i++) parts[i] = burn_dequantize(tensors[i], BURN_DTYPE_F32);
    return quantized_again(burn_cat(parts, count, dim), "quant_cat", result.scheme);
  }
  BurnQuantBlocks blocks;
  for (size_t i = 0; i < count; i++) {
    parts[i] = tensors[i].values;
    (void)burn__quant_fits(&parts[i], "quant_cat", &tensors[i].scheme, &blocks); /* a failure is in the values then */
  }
  result.values = burn_cat(parts, count, dim);
  for (size_t i = 0; i < count; i++) parts[i] = tensors[i].parameters.scales;
  result.parameters.scales = burn_cat(parts, count, dim);
  return result;
}

BurnQuantTensor burn_quant_cat(const BurnQuantTensor *tensors, size_t count, int dim) {
  const BurnHost *host = burn__host();
  const uint64_t bytes = (uint64_t)count * sizeof(BurnTensor *);
  const bool given = tensors && count > 0 && count <= UINT32_MAX;
  BurnTensor **parts = given ? host->allocate(bytes) : NULL;
  if (parts) {
    const BurnQuantTensor result = joined(tensors, count, dim, parts);
    host->free(parts, bytes);
    return result;
  }
  for (size_t i = 0; given && i < count; i++) burn_quant_drop(tensors[i]);
  const BurnStatus status = given ? BURN_FAIL(OUT_OF_MEMORY, "quant_cat: no memory for %zu tensors", count)
                                  : BURN_FAIL(INVALID_ARGUMENT, "quant_cat: %zu tensors given%s", count,
                                              tensors || count == 0 ? "" : " as NULL");
  return (BurnQuantTensor){burn__tensor_failed(status), {NULL, NULL}, BURN_QUANT_SCHEME};
}
