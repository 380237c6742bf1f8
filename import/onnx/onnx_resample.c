/* onnx_resample.c - ONNX operators that read images and volumes where a grid says. */
#include "onnx_node.h"

#include <stdlib.h>

static BurnTensor *copy(const BurnTensor *x) { return burn_clone(x); }

/* -- volumes: the eight pixels around each point, gathered from the volume as one axis ----------- */

typedef struct Volume {
  OnnxNode *node;
  BurnTensor *x;         /* [n, channels, d * h * w] */
  BurnTensor *places[3]; /* [n, 1, points] along w, h, d */
  int64_t sizes[3];
  bool zeros; /* outside is 0 */
} Volume;

/* Mirrors places that lie outside `low` .. `high`, as often as needed. */
static BurnTensor *reflected(BurnTensor *x, double low, double high) {
  const double span = high - low;
  if (span <= 0) return burn_mul_scalar(x, 0);
  x = burn_fmod_scalar(burn_abs(burn_sub_scalar(x, low)), 2 * span);
  BurnTensor *back = burn_scalar_sub(2 * span, copy(x));
  return burn_add_scalar(burn_min_pair(back, x), low);
}

/* From -1 .. 1 to pixels; with margins that are not 0, places within the volume. */
static BurnTensor *place_of(const Volume *v, BurnTensor *x, int64_t size) {
  const bool corners = onnx_int(v->node, "align_corners", 0);
  const bool reflect = onnx_is(v->node, "padding_mode", "zeros", "reflection");
  const double in = (double)size;
  x = burn_add_scalar(x, 1);
  x = corners ? burn_mul_scalar(x, (in - 1) / 2) : burn_sub_scalar(burn_mul_scalar(x, in / 2), 0.5);
  if (reflect) x = reflected(x, corners ? 0 : -0.5, corners ? in - 1 : in - 0.5);
  return v->zeros ? x : burn_clamp(x, 0, in - 1);
}

/* The pixels [n, channels, points] at whole places; what lies outside is 0. */
static BurnTensor *pixels_at(const Volume *v, BurnTensor *const at[3]) {
  BurnTensor *index = NULL, *outside = NULL;
  for (int k = 2; k >= 0; k--) {
    BurnTensor *inside = burn_clamp(copy(at[k]), 0, (double)(v->sizes[k] - 1));
    BurnTensor *off = burn_not_equal(copy(at[k]), copy(inside));
    inside = burn_cast(inside, BURN_DTYPE_I64);
    index = index ? burn_add(burn_mul_scalar(index, (double)v->sizes[k]), inside) : inside;
    outside = outside ? burn_bool_or(outside, off) : off;
  }
  BurnShape all = burn_shape(index);
  all.dims[1] = burn_dim(v->x, 1);
  return burn_mask_fill(burn_gather(copy(v->x), 2, burn_expand(index, all)), outside, 0);
}

/* Pixel `which` of the eight around the places, times its share. */
static BurnTensor *corner(const Volume *v, int which) {
  BurnTensor *at[3], *share = NULL;
  for (int k = 0; k < 3; k++) {
    BurnTensor *low = burn_floor(copy(v->places[k])), *part = burn_sub(copy(v->places[k]), copy(low));
    const bool upper = which >> k & 1;
    at[k] = upper ? burn_add_scalar(low, 1) : low;
    if (!upper) part = burn_scalar_sub(1, part);
    share = share ? burn_mul(share, part) : part;
  }
  BurnTensor *y = burn_mul(pixels_at(v, at), share);
  for (int k = 0; k < 3; k++) burn_drop(at[k]);
  return y;
}

static BurnTensor *sampled(const Volume *v) {
  if (onnx_is(v->node, "mode", "linear", "nearest")) {
    BurnTensor *at[3];
    for (int k = 0; k < 3; k++) at[k] = burn_round(copy(v->places[k]));
    BurnTensor *y = pixels_at(v, at);
    for (int k = 0; k < 3; k++) burn_drop(at[k]);
    return y;
  }
  BurnTensor *y = corner(v, 0);
  for (int which = 1; which < 8; which++) y = burn_add(y, corner(v, which));
  return y;
}

static void sample_volume(OnnxNode *node) {
  const BurnShape in = burn_shape(node->inputs[0]), grid = burn_shape(node->inputs[1]);
  Volume v = {.node = node, .zeros = onnx_is(node, "padding_mode", "zeros", "zeros")};
  if (onnx_is(node, "mode", "linear", "cubic") || onnx_is(node, "mode", "linear", "bicubic")) {
    onnx_not_mapped(node, "GridSample of volumes is linear or nearest");
    return;
  }
  v.x = burn_reshape(onnx_input(node, 0), BURN_SHAPE(in.dims[0], in.dims[1], -1));
  for (int k = 0; k < 3; k++) {
    v.sizes[k] = in.dims[4 - k];
    BurnTensor *x = burn_reshape(burn_select_dim(onnx_input(node, 1), -1, k), BURN_SHAPE(in.dims[0], 1, -1));
    v.places[k] = place_of(&v, x, v.sizes[k]);
  }
  const BurnShape out = BURN_SHAPE(in.dims[0], in.dims[1], grid.dims[1], grid.dims[2], grid.dims[3]);
  onnx_give(node, 0, burn_reshape(sampled(&v), out));
  burn_drop(v.x);
  for (int k = 0; k < 3; k++) burn_drop(v.places[k]);
}

/* -- grids ---------------------------------------------------------------------------------------- */

MAP(GridSample) {
  BurnGridSampleOptions options = BURN_GRID_SAMPLE_OPTIONS;
  if (onnx_input_rank(node, 0) == 5) {
    sample_volume(node);
    return;
  }
  if (onnx_is(node, "mode", "linear", "nearest")) options.mode = BURN_GRID_SAMPLE_NEAREST;
  if (onnx_is(node, "mode", "linear", "cubic") || onnx_is(node, "mode", "linear", "bicubic")) {
    options.mode = BURN_GRID_SAMPLE_BICUBIC;
  }
  if (onnx_is(node, "padding_mode", "zeros", "border")) options.padding_mode = BURN_GRID_PADDING_BORDER;
  if (onnx_is(node, "padding_mode", "zeros", "reflection")) options.padding_mode = BURN_GRID_PADDING_REFLECTION;
  options.align_corners = onnx_int(node, "align_corners", 0);
  onnx_give(node, 0, burn_grid_sample_2d(onnx_input(node, 0), onnx_input(node, 1), options));
}

/* theta [n, 3, 4] times the points (x, y, z, 1) of a volume, which depend on its shape alone. */
static BurnTensor *volume_grid(BurnTensor *theta, const int64_t *size, bool corners) {
  int64_t count = 1;
  for (int k = 2; k < 5; k++)
    count = size[k] < 0 || size[k] > INT32_MAX || count > INT32_MAX / (size[k] + 1) ? -1 : count * size[k];
  if (count < 0) {
    burn_drop(theta);
    return burn_tensor_failed(burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                                               "a volume of %lld x %lld x %lld; less than 2^31 points expected",
                                               (long long)size[2], (long long)size[3], (long long)size[4]));
  }
  float *points = calloc((size_t)count * 4 + 1, sizeof *points);
  for (int64_t i = 0; points && i < count; i++) {
    const int64_t at[] = {i % size[4], i / size[4] % size[3], i / size[4] / size[3]};
    for (int k = 0; k < 3; k++) {
      const double in = (double)size[4 - k], x = (double)at[k], aligned = in > 1 ? 2 * x / (in - 1) - 1 : 0;
      points[4 * i + k] = (float)(corners ? aligned : (2 * x + 1) / in - 1);
    }
    points[4 * i + 3] = 1;
  }
  BurnTensor *grid = points ? burn_tensor_f32(burn_tensor_device(theta), points, BURN_SHAPE(1, count, 4))
                            : burn_tensor_failed(burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "AffineGrid"));
  free(points);
  grid = burn_cast(grid, burn_dtype(theta));
  grid = burn_matmul(grid, burn_transpose(theta));
  return burn_reshape(grid, BURN_SHAPE(-1, size[2], size[3], size[4], 3));
}

/* Ours has -1 and 1 at the centres of the corner pixels; at their edges, points lie nearer to the middle. */
MAP(AffineGrid) {
  int64_t size[ONNX_INTS];
  const size_t count = onnx_input_ints(node, 1, size);
  if (count == 5) {
    onnx_give(node, 0, volume_grid(onnx_input(node, 0), size, onnx_int(node, "align_corners", 0)));
    return;
  }
  if (!onnx_counts_are(node, "size", count, 4)) return;
  BurnTensor *theta = onnx_input(node, 0);
  if (!onnx_int(node, "align_corners", 0)) {
    const double h = (double)size[2], w = (double)size[3];
    const float factors[] = {(float)((w - 1) / w), (float)((h - 1) / h), 1};
    theta = burn_mul(theta, burn_tensor_f32(node->device, factors, BURN_SHAPE(1, 1, 3)));
  }
  onnx_give(node, 0, burn_affine_grid_2d(theta, size[2], size[3]));
}
