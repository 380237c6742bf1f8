/* onnx_detect.c - ONNX operators that find objects: NonMaxSuppression, RoiAlign, MaxRoiPool. */
#include "onnx_node.h"

#include <math.h>
#include <stdlib.h>

static BurnTensor *copy(const BurnTensor *x) { return burn_clone(x); }

/* -- NonMaxSuppression: how many boxes stay depends on the data, so it runs on the host --------- */

typedef struct Box {
  double top, left, bottom, right;
} Box;

typedef struct Candidate {
  double score;
  size_t box;
} Candidate;

typedef struct Suppression {
  double *boxes, *scores;
  Candidate *candidates;
  int64_t *found; /* triples of batch, class, box */
  size_t found_count;
  int64_t batches, classes, count; /* of boxes */
  int64_t most;                    /* boxes per class */
  double overlap, score;           /* thresholds */
  bool centres;
} Suppression;

/* Two opposite corners in any order, y first; or a centre with a width and a height, x first. */
static Box box_at(const Suppression *s, int64_t batch, size_t i) {
  const double *b = s->boxes + (batch * s->count + (int64_t)i) * 4;
  if (s->centres) return (Box){b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2};
  return (Box){fmin(b[0], b[2]), fmin(b[1], b[3]), fmax(b[0], b[2]), fmax(b[1], b[3])};
}

static double area(Box b) { return (b.bottom - b.top) * (b.right - b.left); }

/* The common area as a part of the joined one. */
static double overlap(Box a, Box b) {
  const double height = fmin(a.bottom, b.bottom) - fmax(a.top, b.top);
  const double width = fmin(a.right, b.right) - fmax(a.left, b.left);
  const double both = fmax(height, 0) * fmax(width, 0), either = area(a) + area(b) - both;
  return area(a) <= 0 || area(b) <= 0 || either <= 0 ? 0 : both / either;
}

static int by_score(const void *lhs, const void *rhs) {
  const Candidate *a = lhs, *b = rhs;
  if (a->score != b->score) return a->score < b->score ? 1 : -1;
  return (a->box > b->box) - (a->box < b->box);
}

static bool is_covered(const Suppression *s, int64_t batch, size_t box, size_t from) {
  const Box b = box_at(s, batch, box);
  for (size_t i = from; i < s->found_count; i++) {
    if (overlap(b, box_at(s, batch, (size_t)s->found[3 * i + 2])) > s->overlap) return true;
  }
  return false;
}

/* Takes the best box that no taken one covers, until there are enough. */
static void suppress(Suppression *s, int64_t batch, int64_t class) {
  const double *scores = s->scores + (batch * s->classes + class) * s->count;
  const size_t from = s->found_count;
  size_t count = 0;
  for (int64_t i = 0; i < s->count; i++) {
    if (scores[i] > s->score) s->candidates[count++] = (Candidate){scores[i], (size_t)i};
  }
  qsort(s->candidates, count, sizeof *s->candidates, by_score);
  for (size_t i = 0; i < count && (int64_t)(s->found_count - from) < s->most; i++) {
    if (is_covered(s, batch, s->candidates[i].box, from)) continue;
    int64_t *found = s->found + 3 * s->found_count++;
    found[0] = batch;
    found[1] = class;
    found[2] = (int64_t)s->candidates[i].box;
  }
}

static BurnStatus read_suppression(Suppression *s, OnnxNode *node) {
  s->batches = onnx_input_dim(node, 0, 0);
  s->count = onnx_input_dim(node, 0, 1);
  s->classes = onnx_input_dim(node, 1, 1);
  const size_t boxes = (size_t)onnx_input_size(node, 0) / 4, scores = (size_t)onnx_input_size(node, 1);
  const bool is_fitting = onnx_input_rank(node, 0) == 3 && onnx_input_rank(node, 1) == 3 &&
                          onnx_input_dim(node, 0, 2) == 4 && onnx_input_dim(node, 1, 0) == s->batches &&
                          onnx_input_dim(node, 1, 2) == s->count;
  if (!is_fitting) { /* sizes are not multiplied: those of nothing may be any */
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "NonMaxSuppression: boxes %s do not go with scores %s",
                            burn_shape_text(burn_shape(node->inputs[0])).text,
                            burn_shape_text(burn_shape(node->inputs[1])).text);
  }
  s->boxes = calloc(4 * boxes + 1, sizeof *s->boxes);
  s->scores = calloc(scores + 1, sizeof *s->scores);
  s->candidates = calloc((size_t)s->count + 1, sizeof *s->candidates);
  s->found = calloc(3 * scores + 1, sizeof *s->found);
  if (!s->boxes || !s->scores || !s->candidates || !s->found) {
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "NonMaxSuppression: %zu scores", scores);
  }
  const BurnStatus status = burn_read_f64(onnx_input(node, 0), s->boxes, 4 * boxes);
  return status == BURN_OK ? burn_read_f64(onnx_input(node, 1), s->scores, scores) : status;
}

MAP(NonMaxSuppression) {
  Suppression s = {.most = onnx_input_int(node, 2, 0), .overlap = onnx_input_number(node, 3, 0)};
  s.score = onnx_input_number(node, 4, -(double)INFINITY);
  s.centres = onnx_int(node, "center_point_box", 0);
  const BurnStatus status = read_suppression(&s, node);
  const bool any = s.count > 0; /* of no boxes there may be any number of classes */
  for (int64_t batch = 0; status == BURN_OK && any && batch < s.batches; batch++) {
    for (int64_t class = 0; class < s.classes; class ++) suppress(&s, batch, class);
  }
  if (status == BURN_OK) {
    onnx_give_rank(node, 0, burn_tensor_i64(node->device, s.found, BURN_SHAPE((int64_t)s.found_count, 3)),
                   ONNX_RANK_MORE);
  } else {
    onnx_fail(node, status);
  }
  free(s.boxes);
  free(s.scores);
  free(s.candidates);
  free(s.found);
}

/* -- RoiAlign: samples in the bins of regions --------------------------------------------------- */

/* One axis of all regions. The samples of a bin are `samples` or, if that is 0, as many as a bin has pixels, which
 * differs between regions: then `places` has room for the most, and `counts` says how many count. */
typedef struct Samples {
  int64_t regions, bins, samples, size; /* size: pixels of the axis */
  BurnTensor *places;                   /* [regions, bins, samples]: where, within the axis */
  BurnTensor *counts;                   /* [regions, 1, 1] */
  BurnTensor *off;                      /* [regions, bins, samples]: true for samples that are 0 or do not count */
  BurnTensor *unused;                   /* of these, those that do not count */
} Samples;

/* Columns `first` and `first + 2` of the regions are the ends along the axis. */
static Samples samples_of(OnnxNode *node, int first, int64_t bins, int64_t size) {
  const bool half = onnx_is(node, "coordinate_transformation_mode",
                            node->opset < 16 ? "output_half_pixel" : "half_pixel", "half_pixel");
  const double scale = onnx_float(node, "spatial_scale", 1), offset = half ? 0.5 : 0;
  Samples s = {.regions = onnx_input_dim(node, 1, 0), .bins = bins, .size = size};
  s.samples = onnx_int(node, "sampling_ratio", 0);
  const BurnShape each = BURN_SHAPE(s.regions, 1, 1);
  BurnTensor *low = burn_reshape(burn_select_dim(onnx_input(node, 1), 1, first), each);
  BurnTensor *high = burn_reshape(burn_select_dim(onnx_input(node, 1), 1, first + 2), each);
  BurnTensor *extent = burn_mul_scalar(burn_sub(high, copy(low)), scale);
  if (!half) extent = burn_clamp_min(extent, 1);
  low = burn_sub_scalar(burn_mul_scalar(low, scale), offset);
  BurnTensor *bin = burn_div_scalar(extent, (double)bins);
  s.counts = s.samples > 0 ? burn_full_like(copy(bin), (double)s.samples) : burn_ceil(copy(bin));
  if (s.samples == 0) {
    double most = 1;
    const BurnStatus status = burn_read_scalar(burn_max(copy(s.counts)), &most);
    if (status != BURN_OK) onnx_fail(node, status);
    s.samples = most > 1 ? (int64_t)most : 1;
  }
  const BurnDType dtype = burn_dtype(bin);
  BurnTensor *sample = burn_cast(burn_arange(node->device, 0, s.samples, 1), dtype);
  sample = burn_reshape(sample, BURN_SHAPE(1, 1, s.samples));
  s.unused = burn_greater_equal(copy(sample), burn_clamp_min(copy(s.counts), 1)); /* of no samples one stays, 0 */
  BurnTensor *beyond = burn_greater_equal(copy(sample), copy(s.counts));
  sample = burn_div(burn_add_scalar(sample, 0.5), burn_clamp_min(copy(s.counts), 1));
  BurnTensor *numbers = burn_reshape(burn_cast(burn_arange(node->device, 0, bins, 1), dtype), BURN_SHAPE(1, bins, 1));
  s.places = burn_add(low, burn_mul(burn_add(numbers, sample), bin));
  BurnTensor *outside =
      burn_bool_or(burn_lower_scalar(copy(s.places), -1), burn_greater_scalar(copy(s.places), (double)size));
  s.off = burn_bool_or(outside, beyond);
  s.places = burn_clamp(s.places, 0, (double)(size - 1));
  return s;
}

static void release(Samples *s) {
  burn_drop(s->places);
  burn_drop(s->counts);
  burn_drop(s->off);
  burn_drop(s->unused);
}

/* [regions, bins, samples, size]: how much of each pixel a sample is. */
static BurnTensor *shares(const Samples *s) {
  BurnDevice *device = burn_tensor_device(s->places);
  BurnTensor *pixels = burn_cast(burn_arange(device, 0, s->size, 1), burn_dtype(s->places));
  BurnTensor *apart =
      burn_abs(burn_sub(burn_unsqueeze_dim(copy(s->places), 3), burn_reshape(pixels, BURN_SHAPE(1, 1, 1, s->size))));
  BurnTensor *share = burn_clamp_min(burn_scalar_sub(1, apart), 0);
  return burn_mask_fill(share, burn_unsqueeze_dim(copy(s->off), 3), 0);
}

/* Averages are separable: a matrix [bins, size] of each region for rows, and one for columns. */
static BurnTensor *averages(const Samples *s) {
  BurnTensor *x = burn_squeeze_dim(burn_sum_dim(shares(s), 2), 2);
  return burn_unsqueeze_dim(burn_div(x, burn_clamp_min(copy(s->counts), 1)), 1);
}

/* One corner of all samples [regions, bins * samples, size], as a matrix that picks it times its share. `upper` picks
 * the pixel after the place. */
static BurnTensor *corner(const Samples *s, bool upper) {
  BurnDevice *device = burn_tensor_device(s->places);
  BurnTensor *low = burn_floor(copy(s->places));
  BurnTensor *share = burn_sub(copy(s->places), copy(low));
  if (!upper) share = burn_scalar_sub(1, share);
  if (upper) low = burn_clamp_max(burn_add_scalar(low, 1), (double)(s->size - 1));
  BurnTensor *pixels = burn_cast(burn_arange(device, 0, s->size, 1), burn_dtype(low));
  BurnTensor *hit = burn_equal(burn_unsqueeze_dim(low, 3), burn_reshape(pixels, BURN_SHAPE(1, 1, 1, s->size)));
  BurnTensor *x = burn_mul(burn_cast(hit, burn_dtype(share)), burn_unsqueeze_dim(copy(share), 3));
  burn_drop(share);
  x = burn_mask_fill(x, burn_unsqueeze_dim(copy(s->off), 3), 0);
  return burn_reshape(x, BURN_SHAPE(s->regions, 1, s->bins * s->samples, s->size));
}

/* The largest of all products of pixels and shares. Samples that do not count are -infinity. */
static BurnTensor *largest(const Samples *rows, const Samples *columns, const BurnTensor *x) {
  BurnTensor *best = NULL;
  for (int i = 0; i < 4; i++) {
    BurnTensor *products = burn_matmul(corner(rows, i & 1), copy(x));
    products = burn_matmul(products, burn_transpose(corner(columns, i & 2)));
    best = best ? burn_max_pair(best, products) : products;
  }
  const int64_t channels = burn_dim(x, 1);
  best = burn_reshape(best,
                      BURN_SHAPE(rows->regions, channels, rows->bins, rows->samples, columns->bins, columns->samples));
  BurnTensor *unused = burn_bool_or(
      burn_reshape(burn_expand(copy(rows->unused), BURN_SHAPE(rows->regions, rows->bins, rows->samples)),
                   BURN_SHAPE(rows->regions, 1, rows->bins, rows->samples, 1, 1)),
      burn_reshape(burn_expand(copy(columns->unused), BURN_SHAPE(rows->regions, columns->bins, columns->samples)),
                   BURN_SHAPE(rows->regions, 1, 1, 1, columns->bins, columns->samples)));
  const int dims[] = {3, 5};
  return burn_squeeze_dims(burn_max_dims(burn_mask_fill(best, unused, -(double)INFINITY), dims, 2), dims, 2);
}

MAP(RoiAlign) {
  BurnTensor *x = onnx_input(node, 0);
  Samples rows = samples_of(node, 1, onnx_int(node, "output_height", 1), burn_dim(x, 2));
  Samples columns = samples_of(node, 0, onnx_int(node, "output_width", 1), burn_dim(x, 3));
  x = burn_select(x, 0, burn_cast(onnx_input(node, 2), BURN_DTYPE_I64)); /* the image of each region */
  if (onnx_is(node, "mode", "avg", "max")) {
    onnx_give(node, 0, largest(&rows, &columns, x));
    burn_drop(x);
  } else {
    onnx_give(node, 0, burn_matmul(burn_matmul(averages(&rows), x), burn_transpose(averages(&columns))));
  }
  release(&rows);
  release(&columns);
}

/* -- MaxRoiPool: the largest elements in the bins of regions, whose ends are pixels ---------------- */

typedef struct Regions {
  double *rows;         /* [count, 5]: image, left, top, right, bottom */
  BurnTensor **results; /* [count] */
  int64_t count, images;
  int64_t bins[2];  /* down, across */
  int64_t sizes[2]; /* pixels */
} Regions;

enum { MAX_BINS = 4096, REGION = 5 };

/* The pixels of a bin along one axis, which may be none. Floats as ONNX Runtime computes them. */
static BurnRange bin_of(const Regions *r, size_t region, int axis, int64_t bin, double scale) {
  const double *row = r->rows + region * REGION, low = row[axis == 0 ? 2 : 1], high = row[axis == 0 ? 4 : 3];
  const int64_t first = llroundf((float)low * (float)scale), last = llroundf((float)high * (float)scale);
  const int64_t pixels = last - first + 1 > 1 ? last - first + 1 : 1, size = r->sizes[axis];
  const float width = (float)pixels / (float)r->bins[axis];
  const int64_t begin = first + (int64_t)floorf((float)bin * width),
                end = first + (int64_t)ceilf((float)(bin + 1) * width);
  const int64_t from = begin < 0 ? 0 : begin > size ? size : begin, to = end < 0 ? 0 : end > size ? size : end;
  return BURN_RANGE(from, to > from ? to : from);
}

/* x [channels, h, w] with the pixels of an axis as bins; a bin without pixels is 0. */
static BurnTensor *binned(const Regions *r, BurnTensor *x, size_t region, int axis, double scale) {
  BurnTensor *parts[MAX_BINS];
  for (int64_t bin = 0; bin < r->bins[axis]; bin++) {
    const BurnRange range = bin_of(r, region, axis, bin, scale);
    parts[bin] = range.start < range.end ? burn_max_dim(burn_slice_dim(copy(x), axis + 1, range), axis + 1)
                                         : burn_zeros_like(burn_narrow(copy(x), axis + 1, 0, 1));
  }
  burn_drop(x);
  return burn_cat(parts, (size_t)r->bins[axis], axis + 1);
}

/* The numbers of the regions on the host; pixels beyond 2^30 are not pixels. */
static BurnStatus read_regions(Regions *r, OnnxNode *node, double scale) {
  r->rows = calloc((size_t)r->count * REGION + 1, sizeof *r->rows);
  r->results = calloc((size_t)r->count + 1, sizeof(BurnTensor *));
  if (!r->rows || !r->results)
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "MaxRoiPool: %lld regions", (long long)r->count);
  const BurnStatus status = burn_read_f64(onnx_input(node, 1), r->rows, (size_t)r->count * REGION);
  for (int64_t i = 0; status == BURN_OK && i < r->count; i++) {
    const double *row = r->rows + i * REGION;
    bool fits = row[0] >= 0 && row[0] < (double)r->images;
    for (int k = 1; k < REGION; k++) fits = fits && fabs(row[k] * scale) <= (double)(1 << 30);
    if (fits) continue;
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "MaxRoiPool: region %lld is of image %g of %lld, at %g %g %g %g",
                            (long long)i, row[0], (long long)r->images, row[1], row[2], row[3], row[4]);
  }
  return status;
}

static void look_at_regions(OnnxNode *node, Regions *r) {
  int64_t bins[ONNX_INTS];
  const bool ranks = onnx_input_rank(node, 0) == 4 && onnx_input_rank(node, 1) == 2;
  if (!ranks || onnx_input_dim(node, 1, 1) != REGION) onnx_not_mapped(node, "images or regions of another form");
  if (onnx_ints(node, "pooled_shape", bins) != 2 || bins[0] < 1 || bins[1] < 1 || bins[0] > MAX_BINS ||
      bins[1] > MAX_BINS) {
    onnx_not_mapped(node, "a pooled_shape that is not two sizes up to %d", MAX_BINS);
  }
  if (node->reason[0]) return;
  for (int axis = 0; axis < 2; axis++) {
    r->bins[axis] = bins[axis];
    r->sizes[axis] = onnx_input_dim(node, 0, axis + 2);
    if (r->sizes[axis] < 1) onnx_not_mapped(node, "images without pixels");
  }
  r->images = onnx_input_dim(node, 0, 0);
  r->count = onnx_input_dim(node, 1, 0);
}

/* Region by region, since each has bins of its own; rows of a bin first, so that fewer are left for the columns. */
MAP(MaxRoiPool) {
  Regions r = {0};
  const double scale = onnx_float(node, "spatial_scale", 1);
  look_at_regions(node, &r);
  if (node->reason[0]) return;
  const BurnStatus status = read_regions(&r, node, scale);
  for (int64_t i = 0; status == BURN_OK && i < r.count; i++) {
    BurnTensor *x = burn_select_dim(onnx_input(node, 0), 0, (int64_t)r.rows[i * REGION]);
    r.results[i] = binned(&r, binned(&r, x, (size_t)i, 0, scale), (size_t)i, 1, scale);
  }
  const BurnShape none = BURN_SHAPE(0, onnx_input_dim(node, 0, 1), r.bins[0], r.bins[1]);
  if (status != BURN_OK) {
    onnx_fail(node, status);
  } else {
    onnx_give(node, 0,
              r.count ? burn_stack(r.results, (size_t)r.count, 0)
                      : burn_zeros(node->device, none, burn_dtype(node->inputs[0])));
  }
  free(r.rows);
  free(r.results);
}
