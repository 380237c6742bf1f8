/* onnx_resize.c - Resize and Upsample: one axis after the other.
 *
 * A result's pixel is a sum of pixels at a place in the input, which ONNX computes in six ways. Images whose places are
 * those of our interpolate use it. Else each axis that changes is one product with a matrix [in, out] made here, since
 * it depends on shapes alone; of nearest pixels, a selection. */
#include "onnx_node.h"

#include <math.h>
#include <stdlib.h>

enum {
  MAX_PIXELS = 1 << 26,      /* of an axis, for each of which there is an index on the host, */
  MAX_WEIGHTS = 1 << 28,     /* and of the matrix of a product */
  MAX_COMPARED = 1 << 20,    /* pixels of an axis that are compared with those of our interpolate */
  FARTHEST_REGION = 1 << 20, /* in sizes of the input */
};

typedef enum Kernel { NEAREST, LINEAR, CUBIC } Kernel;

/* Values of coordinate_transformation_mode and of nearest_mode, in the order of their names below. */
typedef enum Mode { HALF_PIXEL, ALIGN_CORNERS, ASYMMETRIC, CROP_AND_RESIZE, PYTORCH_HALF_PIXEL, SYMMETRIC } Mode;
typedef enum Rounding { PREFER_FLOOR, PREFER_CEIL, FLOOR, CEIL } Rounding;
static const char *const modes[] = {"half_pixel",         "align_corners",      "asymmetric",
                                    "tf_crop_and_resize", "pytorch_half_pixel", "half_pixel_symmetric"};
static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};

/* One axis: its sizes, the scale that ONNX computes with, which need not be out / in, and the part that is read. */
typedef struct Axis {
  int64_t in, out;
  double scale, start, end;
} Axis;

typedef struct Resize {
  OnnxNode *node;
  Kernel kernel;
  Mode mode;
  Rounding rounding;
  bool antialias, exclude_outside, crops;
  double cubic; /* the coefficient a */
  Axis axes[BURN_MAX_RANK];
  uint32_t rank;
} Resize;

/* Which of the names an attribute is; the first of them if it is none. */
static size_t named(const OnnxNode *node, const char *attribute, const char *otherwise, const char *const *names,
                    size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (onnx_is(node, attribute, otherwise, names[i])) return i;
  }
  return 0;
}

/* Before opset 11 there were no such attributes. */
static Resize resize_of(OnnxNode *node) {
  const bool old = node->opset < 11, plain = onnx_is(node, "mode", "nearest", "nearest");
  const bool cubic = onnx_is(node, "mode", "nearest", "cubic");
  Resize r = {.node = node, .kernel = plain ? NEAREST : cubic ? CUBIC : LINEAR};
  r.mode = (Mode)named(node, "coordinate_transformation_mode", old ? "asymmetric" : "half_pixel", modes,
                       sizeof modes / sizeof modes[0]);
  r.rounding = (Rounding)named(node, "nearest_mode", old ? "floor" : "round_prefer_floor", roundings,
                               sizeof roundings / sizeof roundings[0]);
  r.crops = r.mode == CROP_AND_RESIZE;
  return r;
}

/* The place in the input of pixel i, by the attribute's formula. */
static double place(const Resize *r, const Axis *a, int64_t i) {
  const double in = (double)a->in, out = in * a->scale, x = (double)i;
  const double half_pixel = (x + 0.5) / a->scale - 0.5, part = a->end - a->start;
  switch (r->mode) {
    case ALIGN_CORNERS:
      return out == 1 ? 0 : x * (in - 1) / (out - 1);
    case ASYMMETRIC:
      return x / a->scale;
    case CROP_AND_RESIZE:
      return a->start * (in - 1) + (out == 1 ? part * (in - 1) / 2 : x * part * (in - 1) / (out - 1));
    case PYTORCH_HALF_PIXEL:
      return a->out == 1 ? -0.5 : half_pixel;
    case SYMMETRIC:
      return in / 2 * (1 - (double)a->out / out) + half_pixel;
    case HALF_PIXEL:
      break;
  }
  return half_pixel;
}

/* Places that are integers or halves but for rounding, of scales in f32, are these: nearest pixels depend on it. */
static double settled(double x) {
  const double near = floor(x * 2 + 0.5) / 2;
  return fabs(x - near) < 1e-6 * (1 + fabs(x)) ? near : x;
}

static int64_t nearest(const Resize *r, const Axis *a, int64_t i) {
  const double x = settled(place(r, a, i));
  double at = ceil(x - 0.5); /* PREFER_FLOOR */
  if (r->rounding == FLOOR) at = floor(x);
  if (r->rounding == CEIL) at = ceil(x);
  if (r->rounding == PREFER_CEIL) at = floor(x + 0.5);
  return at < 0 ? 0 : at > (double)(a->in - 1) ? a->in - 1 : (int64_t)at;
}

static bool changes(const Resize *r, uint32_t axis) {
  const Axis *a = &r->axes[axis];
  return a->in != a->out || a->scale != 1 || (r->crops && (a->start != 0 || a->end != 1));
}

/* -- our interpolate ---------------------------------------------------------------------------- */

/* Whether our nearest mode, with pixels counted from their edges or their centres, reads the same pixels. */
static bool same_nearest(const Resize *r, const Axis *a, bool centres) {
  for (int64_t i = 0; i < a->out; i++) {
    const int64_t ours = centres ? (2 * i + 1) * a->in / (2 * a->out) : i * a->in / a->out;
    if (nearest(r, a, i) != ours) return false;
  }
  return true;
}

/* Whether our linear and cubic modes read at the same places; the border is repeated by both. */
static bool same_places(const Resize *r, const Axis *a, bool corners) {
  for (int64_t i = 0; i < a->out; i++) {
    const double x = (double)i, in = (double)a->in, out = (double)a->out;
    const double aligned = a->out == 1 ? 0 : x * (in - 1) / (out - 1),
                 ours = corners ? aligned : (x + 0.5) * in / out - 0.5;
    if (fabs(place(r, a, i) - ours) > 1e-9) return false;
  }
  return true;
}

/* False if no mode of ours is the same. */
static bool find_mode(const Resize *r, BurnInterpolateOptions *options) {
  const Axis *h = &r->axes[2], *w = &r->axes[3];
  const bool image = r->rank == 4 && !changes(r, 0) && !changes(r, 1) && h->out > 0 && w->out > 0;
  if (!image || h->out > MAX_COMPARED || w->out > MAX_COMPARED || r->antialias || r->exclude_outside || r->crops ||
      (r->kernel == CUBIC && r->cubic != -0.75))
    return false;
  const bool floats = burn_dtype_kind(burn_dtype(r->node->inputs[0])) == BURN_KIND_FLOAT;
  *options = (BurnInterpolateOptions){BURN_INTERPOLATE_NEAREST, false};
  if (r->kernel == NEAREST) {
    if (!floats) return false;
    if (same_nearest(r, h, false) && same_nearest(r, w, false)) return true;
    options->mode = BURN_INTERPOLATE_NEAREST_EXACT;
    return same_nearest(r, h, true) && same_nearest(r, w, true);
  }
  options->mode = r->kernel == CUBIC ? BURN_INTERPOLATE_BICUBIC : BURN_INTERPOLATE_BILINEAR;
  if (!floats) return false;
  if (same_places(r, h, false) && same_places(r, w, false)) return true;
  options->align_corners = true;
  return same_places(r, h, true) && same_places(r, w, true);
}

/* -- axis by axis -------------------------------------------------------------------------------- */

/* What a pixel at that distance counts. */
static double share(const Resize *r, double distance) {
  const double x = fabs(distance), a = r->cubic;
  if (r->kernel == LINEAR) return x < 1 ? 1 - x : 0;
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((x - 5) * x + 8) * x * a - 4 * a : 0;
}

/* Column i of the matrix [in, out]: pixels outside are those of the border, or left out. Against aliasing the kernel is
 * as wide as a pixel of the result. */
static void fill_column(const Resize *r, const Axis *a, int64_t i, float *matrix) {
  const double narrow = r->antialias && a->scale < 1 ? a->scale : 1, reach = (r->kernel == LINEAR ? 1 : 2) / narrow;
  const double last_pixel = (double)(a->in - 1), at_most = last_pixel + reach + 1; /* farther ones see the same */
  const double x = fmin(fmax(place(r, a, i), -reach - 1), at_most);
  const int64_t first = (int64_t)ceil(x - reach), last = (int64_t)floor(x + reach);
  double total = 0;
  for (int64_t k = first; k <= last; k++) {
    const double part = share(r, ((double)k - x) * narrow);
    if (!r->exclude_outside || (k >= 0 && k < a->in)) total += part;
  }
  for (int64_t k = first; k <= last; k++) {
    const double part = share(r, ((double)k - x) * narrow);
    const int64_t at = k < 0 ? 0 : k >= a->in ? a->in - 1 : k;
    if (r->exclude_outside && at != k) continue;
    matrix[at * a->out + i] += (float)(part / (total == 0 ? 1 : total));
  }
}

static BurnTensor *along(const Resize *r, BurnTensor *x, uint32_t axis) {
  const Axis *a = &r->axes[axis];
  const bool fits = a->out == 0 || a->in <= MAX_WEIGHTS / a->out;
  float *matrix = fits ? calloc((size_t)(a->in * a->out) + 1, sizeof *matrix) : NULL;
  if (!matrix) {
    burn_drop(x);
    return burn_tensor_failed(
        burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%lld by %lld weights", (long long)a->in, (long long)a->out));
  }
  for (int64_t i = 0; i < a->out; i++) fill_column(r, a, i, matrix);
  BurnTensor *weights = burn_tensor_f32(r->node->device, matrix, BURN_SHAPE(a->in, a->out));
  free(matrix);
  x = burn_movedim(x, (int)axis, -1);
  weights = burn_cast(weights, burn_dtype(x));
  x = onnx_broadcast(burn_matmul, onnx_to_rank(x, 2), weights);
  if (r->rank == 1) x = burn_reshape(x, BURN_SHAPE(a->out));
  return burn_movedim(x, -1, (int)axis);
}

static BurnTensor *pick_nearest(const Resize *r, BurnTensor *x, uint32_t axis) {
  const Axis *a = &r->axes[axis];
  int64_t *at = calloc((size_t)a->out + 1, sizeof *at);
  for (int64_t i = 0; at && i < a->out; i++) at[i] = nearest(r, a, i);
  BurnTensor *indices = at ? onnx_i64s(r->node->device, at, (size_t)a->out)
                           : burn_tensor_failed(burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "Resize"));
  free(at);
  return burn_select(x, (int)axis, indices);
}

/* tf_crop_and_resize: what lies outside the input is a value of its own. */
static BurnTensor *extrapolated(const Resize *r, BurnTensor *x, uint32_t axis) {
  const Axis *a = &r->axes[axis];
  int64_t dims[BURN_MAX_RANK];
  bool *outside = calloc((size_t)a->out + 1, sizeof *outside);
  for (int64_t i = 0; outside && i < a->out; i++) {
    const double at = place(r, a, i);
    outside[i] = at < 0 || at > (double)(a->in - 1);
  }
  for (uint32_t k = 0; k < r->rank; k++) dims[k] = k == axis ? a->out : 1;
  BurnTensor *mask = outside ? burn_tensor_bool(r->node->device, outside, onnx_shape(dims, r->rank))
                             : burn_tensor_failed(burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "Resize"));
  free(outside);
  return burn_mask_fill(x, mask, onnx_float(r->node, "extrapolation_value", 0));
}

/* Integers are interpolated in f32; the fraction is cut off, as in ONNX. */
static BurnTensor *resized(const Resize *r, BurnTensor *x) {
  const BurnDType dtype = burn_dtype(x);
  const bool cast = r->kernel != NEAREST && burn_dtype_kind(dtype) != BURN_KIND_FLOAT;
  if (cast) x = burn_cast(x, BURN_DTYPE_F32);
  for (uint32_t i = 0; i < r->rank; i++) {
    if (changes(r, i)) x = r->kernel == NEAREST ? pick_nearest(r, x, i) : along(r, x, i);
  }
  for (uint32_t i = 0; i < r->rank && r->crops; i++) {
    if (changes(r, i)) x = extrapolated(r, x, i);
  }
  return cast ? burn_cast(x, dtype) : x;
}

/* -- sizes and scales --------------------------------------------------------------------------- */

/* The pixels that a product with a scale comes to: less than 0, or INT64_MAX, where they are not a size. */
static int64_t pixels_of(double x) { return x >= 0 ? x <= MAX_PIXELS ? (int64_t)x : INT64_MAX : -1; }

/* With a policy for the aspect ratio, all named axes have the smallest or largest of their scales. */
static void share_scale(Resize *r, const int *dims, size_t count) {
  const bool larger = onnx_is(r->node, "keep_aspect_ratio_policy", "stretch", "not_smaller");
  const bool smaller = onnx_is(r->node, "keep_aspect_ratio_policy", "stretch", "not_larger");
  double shared = larger ? 0 : (double)INFINITY;
  for (size_t i = 0; i < count; i++) {
    const double scale = r->axes[dims[i]].scale;
    shared = larger ? fmax(shared, scale) : fmin(shared, scale);
  }
  for (size_t i = 0; i < count && (larger || smaller); i++) {
    Axis *a = &r->axes[dims[i]];
    a->scale = shared;
    a->out = pixels_of(floor((double)a->in * shared + 0.5));
  }
}

/* The numbers of an input, or of the attribute before there was one. */
static size_t scales_of(OnnxNode *node, size_t input, double *scales, size_t room) {
  const Onnx__AttributeProto *listed = onnx_attribute(node, "scales");
  size_t count = onnx_has_input(node, input) ? (size_t)onnx_input_size(node, input) : 0;
  if (count > room) count = 0;
  if (count > 0 && burn_read_f64(onnx_input(node, input), scales, count) != BURN_OK) count = 0;
  if (count > 0 || !listed || listed->n_floats > room) return count;
  for (size_t i = 0; i < listed->n_floats; i++) scales[i] = (double)listed->floats[i];
  return listed->n_floats;
}

/* Whether pixels can be computed: there are some to read, and no position overflows. Against aliasing, a pixel of the
 * result reads as many as it is wide, which is not much more than there are. */
static bool can_be_resized(const Resize *r, uint32_t axis) {
  const Axis *a = &r->axes[axis];
  if (!changes(r, axis)) return true;
  const bool sizes = a->out >= 0 && a->out <= MAX_PIXELS && a->in <= MAX_PIXELS && (a->in > 0 || a->out == 0);
  const bool scaled = a->scale > 0 && (!r->antialias || a->out == 0 || a->scale >= 0.25 / (double)a->in);
  return sizes && scaled && fabs(a->start) <= FARTHEST_REGION && fabs(a->end) <= FARTHEST_REGION;
}

/* Fails the node where an axis, or the result, is none that there can be. */
static bool check_axes(const Resize *r) {
  int64_t dims[BURN_MAX_RANK];
  size_t count;
  for (uint32_t i = 0; i < r->rank; i++) {
    const Axis *a = &r->axes[i];
    dims[i] = a->out;
    if (can_be_resized(r, i)) continue;
    onnx_fail(r->node, burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                                        "axis %u: %lld pixels cannot become %lld by a scale of %g from %g to %g", i,
                                        (long long)a->in, (long long)a->out, a->scale, a->start, a->end));
    return false;
  }
  if (onnx_count_elements(dims, r->rank, &count)) return true;
  onnx_fail(r->node, burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "a result of %s is too large",
                                      burn_shape_text(onnx_shape(dims, r->rank)).text));
  return false;
}

/* The axes that `axes` names, or all, as their inputs say. */
static bool read_axes(Resize *r, size_t scales_input, size_t sizes_input, size_t roi_input) {
  OnnxNode *node = r->node;
  int64_t sizes[ONNX_INTS], axes[ONNX_INTS];
  double scales[BURN_MAX_RANK] = {0}, roi[2 * BURN_MAX_RANK] = {0};
  int dims[BURN_MAX_RANK];
  r->rank = onnx_input_rank(node, 0);
  for (uint32_t i = 0; i < r->rank; i++) {
    const int64_t size = onnx_input_dim(node, 0, (int)i);
    r->axes[i] = (Axis){size, size, 1, 0, 1};
  }
  const size_t given = onnx_ints(node, "axes", axes), count = given ? given : r->rank;
  if (!onnx_axes(node, given ? axes : NULL, count, r->rank, dims)) return false;
  const bool sized = onnx_input_ints(node, sizes_input, sizes) == count;
  if (!sized && scales_of(node, scales_input, scales, count) != count)
    onnx_not_mapped(node, "neither sizes nor scales");
  if (r->crops && scales_of(node, roi_input, roi, 2 * count) != 2 * count) onnx_not_mapped(node, "a roi of odd size");
  for (size_t i = 0; i < count && !node->reason[0]; i++) {
    Axis *a = &r->axes[dims[i]];
    a->scale = !sized ? scales[i] : sizes[i] == a->in ? 1 : (double)sizes[i] / (double)a->in;
    if (r->crops) a->start = roi[i];
    if (r->crops) a->end = roi[i + count];
    a->out = sized ? sizes[i] : pixels_of(floor((double)a->in * (a->end - a->start) * scales[i] + 1e-9));
  }
  if (sized) share_scale(r, dims, count);
  return !node->reason[0] && check_axes(r);
}

static void give_resized(const Resize *r) {
  BurnInterpolateOptions options;
  OnnxNode *node = r->node;
  if (find_mode(r, &options)) {
    const int64_t size[] = {r->axes[2].out, r->axes[3].out};
    onnx_give(node, 0, burn_interpolate(onnx_input(node, 0), size, options));
  } else {
    onnx_give(node, 0, resized(r, onnx_input(node, 0)));
  }
}

/* Scales were the second input before opset 11. */
MAP(Resize) {
  Resize r = resize_of(node);
  const bool old = node->opset < 11;
  r.antialias = onnx_int(node, "antialias", 0);
  r.exclude_outside = onnx_int(node, "exclude_outside", 0);
  r.cubic = onnx_float(node, "cubic_coeff_a", -0.75);
  if (read_axes(&r, old ? 1 : 2, old ? ONNX_MAX_VALUES : 3, 1)) give_resized(&r);
}

/* Nearest or linear, from the corners of pixels; it gave way to Resize. */
MAP(Upsample) {
  Resize r = resize_of(node);
  if (read_axes(&r, 1, ONNX_MAX_VALUES, ONNX_MAX_VALUES)) give_resized(&r);
}
