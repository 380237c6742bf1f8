/* onnx_resample.c - ONNX operators that read images between their pixels.
 *
 * ONNX has many ways from a pixel of the result to a place in the input; ours has two or three. So the places are
 * computed here, and a case is mapped where they are those of one of our modes. */
#include "onnx_node.h"

#include <math.h>

/* One axis: its sizes and the scale that ONNX computes with, which need not be out / in. */
typedef struct Axis {
  int64_t in, out;
  double scale;
} Axis;

/* The place in the input of pixel i, by the attribute's formula. */
static double place(const OnnxNode *node, const Axis *a, int64_t i) {
  const double in = (double)a->in, out = in * a->scale, x = (double)i;
  const char *const mode = "coordinate_transformation_mode", *const otherwise = "half_pixel";
  if (onnx_is(node, mode, otherwise, "align_corners")) return out == 1 ? 0 : x * (in - 1) / (out - 1);
  if (onnx_is(node, mode, otherwise, "asymmetric")) return x / a->scale;
  const double half_pixel = (x + 0.5) / a->scale - 0.5;
  if (onnx_is(node, mode, otherwise, "pytorch_half_pixel")) return a->out == 1 ? -0.5 : half_pixel;
  if (onnx_is(node, mode, otherwise, "half_pixel_symmetric")) return in / 2 * (1 - (double)a->out / out) + half_pixel;
  return half_pixel;
}

static int64_t nearest(const OnnxNode *node, const Axis *a, int64_t i) {
  const double x = place(node, a, i);
  double at = ceil(x - 0.5); /* round_prefer_floor */
  if (onnx_is(node, "nearest_mode", "round_prefer_floor", "floor")) at = floor(x);
  if (onnx_is(node, "nearest_mode", "round_prefer_floor", "ceil")) at = ceil(x);
  if (onnx_is(node, "nearest_mode", "round_prefer_floor", "round_prefer_ceil")) at = floor(x + 0.5);
  return at < 0 ? 0 : at > (double)(a->in - 1) ? a->in - 1 : (int64_t)at;
}

/* Whether our nearest mode, with pixels counted from their edges or their centres, reads the same pixels. */
static bool same_nearest(const OnnxNode *node, const Axis *a, bool centres) {
  for (int64_t i = 0; i < a->out; i++) {
    const int64_t ours = centres ? (2 * i + 1) * a->in / (2 * a->out) : i * a->in / a->out;
    if (nearest(node, a, i) != ours) return false;
  }
  return true;
}

/* Whether our linear and cubic modes read at the same places; the border is repeated by both. */
static bool same_places(const OnnxNode *node, const Axis *a, bool corners) {
  for (int64_t i = 0; i < a->out; i++) {
    const double x = (double)i, in = (double)a->in, out = (double)a->out;
    const double aligned = a->out == 1 ? 0 : x * (in - 1) / (out - 1),
                 ours = corners ? aligned : (x + 0.5) * in / out - 0.5;
    if (fabs(place(node, a, i) - ours) > 1e-9) return false;
  }
  return true;
}

/* The mode of ours that is the same, or a reason why there is none. */
static BurnInterpolateOptions mode_of(OnnxNode *node, const Axis *h, const Axis *w) {
  BurnInterpolateOptions options = {BURN_INTERPOLATE_NEAREST, false};
  if (onnx_is(node, "mode", "nearest", "nearest")) {
    const bool edges = same_nearest(node, h, false) && same_nearest(node, w, false);
    if (!edges && same_nearest(node, h, true) && same_nearest(node, w, true)) {
      options.mode = BURN_INTERPOLATE_NEAREST_EXACT;
    } else if (!edges) {
      onnx_not_mapped(node, "interpolate chooses other nearest pixels in Burn");
    }
    return options;
  }
  options.mode = onnx_is(node, "mode", "nearest", "cubic") ? BURN_INTERPOLATE_BICUBIC : BURN_INTERPOLATE_BILINEAR;
  options.align_corners = !(same_places(node, h, false) && same_places(node, w, false));
  if (options.align_corners && !(same_places(node, h, true) && same_places(node, w, true))) {
    onnx_not_mapped(node,
                    "interpolate reads at other places in Burn (scales are out / in, half pixels or aligned corners)");
  }
  return options;
}

/* Sizes and scales of all axes from the inputs; `axes` says which of them are given. */
static void axes_of(OnnxNode *node, size_t scales_input, size_t sizes_input, Axis *all) {
  int64_t axes[ONNX_INTS], sizes[ONNX_INTS];
  double scales[BURN_MAX_RANK] = {0};
  const uint32_t rank = onnx_input_rank(node, 0);
  const size_t named = onnx_ints(node, "axes", axes), count = named ? named : rank;
  const bool larger = onnx_is(node, "keep_aspect_ratio_policy", "stretch", "not_smaller");
  const bool smaller = onnx_is(node, "keep_aspect_ratio_policy", "stretch", "not_larger");
  const bool sized = onnx_input_ints(node, sizes_input, sizes);
  double shared = larger ? 0 : (double)INFINITY;
  if (!sized && burn_read_f64(onnx_input(node, scales_input), scales, count) != BURN_OK)
    onnx_not_mapped(node, "odd scales");
  for (uint32_t i = 0; i < rank; i++)
    all[i] = (Axis){onnx_input_dim(node, 0, (int)i), onnx_input_dim(node, 0, (int)i), 1};
  for (size_t i = 0; i < count; i++) {
    Axis *a = &all[onnx_axis(named ? axes[i] : (int64_t)i, rank)];
    a->scale = sized ? (double)sizes[i] / (double)a->in : scales[i];
    a->out = sized ? sizes[i] : (int64_t)floor((double)a->in * scales[i]);
    shared = larger ? fmax(shared, a->scale) : fmin(shared, a->scale);
  }
  for (size_t i = 0; i < count && sized && (larger || smaller); i++) {
    Axis *a = &all[onnx_axis(named ? axes[i] : (int64_t)i, rank)];
    a->scale = shared;
    a->out = (int64_t)floor((double)a->in * shared + 0.5);
  }
}

static void resize(OnnxNode *node, const Axis *all) {
  const uint32_t rank = onnx_input_rank(node, 0);
  if (rank != 4 || all[0].in != all[0].out || all[1].in != all[1].out)
    onnx_not_mapped(node, "not the two axes of an image");
  if (node->reason[0]) return;
  const int64_t size[] = {all[2].out, all[3].out};
  const BurnInterpolateOptions options = mode_of(node, &all[2], &all[3]);
  if (!node->reason[0]) onnx_give(node, 0, burn_interpolate(onnx_input(node, 0), size, options));
}

MAP(Resize) {
  Axis all[BURN_MAX_RANK];
  axes_of(node, 2, 3, all);
  if (onnx_int(node, "antialias", 0)) onnx_not_mapped(node, "interpolate does not smooth (antialias) in Burn");
  if (onnx_int(node, "exclude_outside", 0))
    onnx_not_mapped(node, "interpolate repeats the border in Burn (exclude_outside)");
  if (onnx_is(node, "coordinate_transformation_mode", "half_pixel", "tf_crop_and_resize")) {
    onnx_not_mapped(node, "interpolate takes whole images in Burn (tf_crop_and_resize)");
  }
  resize(node, all);
}

/* Nearest pixels counted from their edges, or linear; it gave way to Resize. */
MAP(Upsample) {
  Axis all[BURN_MAX_RANK];
  axes_of(node, 1, ONNX_MAX_VALUES, all);
  const int64_t size[] = {all[2].out, all[3].out};
  if (!onnx_is(node, "mode", "nearest", "nearest")) onnx_not_mapped(node, "only nearest is mapped");
  onnx_give(node, 0, burn_interpolate(onnx_input(node, 0), size, BURN_INTERPOLATE_OPTIONS(BURN_INTERPOLATE_NEAREST)));
}

MAP(GridSample) {
  BurnGridSampleOptions options = BURN_GRID_SAMPLE_OPTIONS;
  if (onnx_input_rank(node, 0) != 4) {
    onnx_not_mapped(node, "grid_sample exists for images only, not for volumes");
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

/* Ours has -1 and 1 at the centres of the corner pixels; at their edges, points lie nearer to the middle. */
MAP(AffineGrid) {
  int64_t size[ONNX_INTS];
  if (onnx_input_ints(node, 1, size) != 4) {
    onnx_not_mapped(node, "affine_grid exists for images only, not for volumes");
    return;
  }
  BurnTensor *theta = onnx_input(node, 0);
  if (!onnx_int(node, "align_corners", 0)) {
    const double h = (double)size[2], w = (double)size[3];
    const float factors[] = {(float)((w - 1) / w), (float)((h - 1) / h), 1};
    theta = burn_mul(theta, burn_tensor_f32(node->device, factors, BURN_SHAPE(1, 1, 3)));
  }
  onnx_give(node, 0, burn_affine_grid_2d(theta, size[2], size[3]));
}
