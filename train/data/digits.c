/* digits.c - handwritten-looking digits, drawn when they are asked for.
 *
 * An item is drawn in four steps: choose a way of writing the digit (digits_strokes.def) and jitter its points; lay
 * smooth curves through them and cut these into short segments; bend and map the segments into the image by a random
 * affine map; ink every pixel by its distance to the nearest segment, and add noise.
 *
 * All randomness of item i comes from blocks i * 64 .. i * 64 + 63 of the generator of random.h keyed with the seed.
 * Labels are dealt in hands of ten, each a permutation of 0..9 drawn from blocks in the upper half of the block
 * numbers. So any item can be drawn alone, by any thread. */
#include "dataset_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  SIDE = 28,
  PIXELS = SIDE * SIDE,
  CLASSES = 10,
  MAX_POINTS = 22,  /* of a variant */
  MAX_VARIANTS = 8, /* of a digit */
  CURVE_PIECES = 4, /* segments between two points of a curve */
  MAX_SEGMENTS = MAX_POINTS * CURVE_PIECES,
  /* of the 64 blocks of an item: choices (16 words) and two words for each point, then a byte for each pixel */
  CHOICE_BLOCKS = 15,
  NOISE_BLOCKS = PIXELS / 16,
  ITEM_BLOCKS = CHOICE_BLOCKS + NOISE_BLOCKS,
  LABEL_BLOCKS = 4, /* of a hand of ten */
  FIRST_JITTER_WORD = 16
};

/* -- the strokes ------------------------------------------------------------------------------ */

enum { ROW_DIGIT, ROW_PEN, ROW_LINE, ROW_VIA };

typedef struct StrokeRow {
  uint8_t kind; /* ROW_* */
  uint8_t x;    /* the label of a ROW_DIGIT */
  uint8_t y;
} StrokeRow;

static const StrokeRow stroke_rows[] = {
#define DIGIT(label) {ROW_DIGIT, label, 0},
#define PEN(x, y) {ROW_PEN, x, y},
#define LINE(x, y) {ROW_LINE, x, y},
#define VIA(x, y) {ROW_VIA, x, y},
#include "digits_strokes.def"
#undef DIGIT
#undef PEN
#undef LINE
#undef VIA
};
enum { STROKE_ROWS = sizeof stroke_rows / sizeof stroke_rows[0] };

/* One way of writing a digit: rows[0 .. count-1], without the DIGIT row. */
typedef struct Variant {
  const StrokeRow *rows;
  size_t count;
} Variant;

typedef struct DigitsContext {
  uint64_t seed;
  size_t variant_count[CLASSES];
  Variant variants[CLASSES][MAX_VARIANTS];
} DigitsContext;

/* Finds the variants of every digit in the table; false if the table breaks its own limits. */
static bool variants_index(DigitsContext *digits) {
  Variant *current = NULL;
  for (size_t i = 0; i < STROKE_ROWS; i++) {
    const StrokeRow *row = &stroke_rows[i];
    if (row->kind == ROW_DIGIT) {
      if (row->x >= CLASSES || digits->variant_count[row->x] == MAX_VARIANTS) return false;
      current = &digits->variants[row->x][digits->variant_count[row->x]++];
      current->rows = row + 1;
    } else if (current == NULL || current->count == MAX_POINTS || (current->count == 0 && row->kind != ROW_PEN)) {
      return false;
    } else {
      current->count++;
    }
  }
  for (size_t i = 0; i < CLASSES; i++)
    if (digits->variant_count[i] == 0) return false;
  return true;
}

/* -- random choices --------------------------------------------------------------------------- */

/* The words of an item, used from the front; those of the jitter stand at fixed places. */
typedef struct Choices {
  uint32_t words[CHOICE_BLOCKS * 4];
  size_t used;
} Choices;

static float between(Choices *choices, float low, float high) {
  return low + burn_random_unit_f32(choices->words[choices->used++]) * (high - low);
}

static unsigned label_of(uint64_t seed, size_t index) {
  uint8_t hand[CLASSES];
  uint32_t words[LABEL_BLOCKS * 4];
  const uint64_t first = ((uint64_t)1 << 63) + (uint64_t)(index / CLASSES) * LABEL_BLOCKS;
  for (uint64_t i = 0; i < LABEL_BLOCKS; i++) burn_philox(seed, first + i, words + i * 4);
  for (unsigned i = 0; i < CLASSES; i++) hand[i] = (uint8_t)i;
  for (unsigned last = CLASSES - 1; last > 0; last--) {
    const unsigned chosen = (unsigned)((uint64_t)words[last] * (last + 1) >> 32);
    const uint8_t kept = hand[last];
    hand[last] = hand[chosen];
    hand[chosen] = kept;
  }
  return hand[index % CLASSES];
}

/* -- from strokes to segments ----------------------------------------------------------------- */

typedef struct Point {
  float x, y;
} Point;

typedef struct Segment {
  Point from, to;
} Segment;

typedef struct Drawing {
  Segment segments[MAX_SEGMENTS];
  size_t count;
} Drawing;

/* A point of the Catmull-Rom curve between b and c; a and d are their neighbours. */
static Point curve_at(Point a, Point b, Point c, Point d, float t) {
  const float square = t * t, cube = square * t;
  const float wa = -cube + 2.0f * square - t, wb = 3.0f * cube - 5.0f * square + 2.0f;
  const float wc = -3.0f * cube + 4.0f * square + t, wd = cube - square;
  return (Point){0.5f * (wa * a.x + wb * b.x + wc * c.x + wd * d.x),
                 0.5f * (wa * a.y + wb * b.y + wc * c.y + wd * d.y)};
}

/* The points of a variant in a box from -0.5 to 0.5, each moved a little. */
static void points_jitter(const Variant *variant, const Choices *choices, float amount, Point *points) {
  for (size_t i = 0; i < variant->count; i++) {
    const uint32_t *words = &choices->words[FIRST_JITTER_WORD + 2 * i];
    const float dx = burn_random_unit_f32(words[0]) - 0.5f, dy = burn_random_unit_f32(words[1]) - 0.5f;
    points[i].x = (float)variant->rows[i].x / 100.0f - 0.5f + amount * dx;
    points[i].y = (float)variant->rows[i].y / 100.0f - 0.5f + amount * dy;
  }
}

static void segments_cut(const Variant *variant, const Point *points, Drawing *drawing) {
  const StrokeRow *rows = variant->rows;
  drawing->count = 0;
  for (size_t i = 1; i < variant->count; i++) {
    if (rows[i].kind == ROW_PEN) continue;
    if (rows[i].kind == ROW_LINE) {
      drawing->segments[drawing->count++] = (Segment){points[i - 1], points[i]};
      continue;
    }
    const bool smooth_before = rows[i - 1].kind == ROW_VIA,
               smooth_after = i + 1 < variant->count && rows[i + 1].kind == ROW_VIA;
    const Point before = points[smooth_before ? i - 2 : i - 1], after = points[smooth_after ? i + 1 : i];
    /* Each piece reads where the one before ended: a Point carried from round to round gcc 14 vectorises wrongly
     * (-O2, 14.2). */
    Segment *pieces = &drawing->segments[drawing->count];
    for (int piece = 0; piece < CURVE_PIECES; piece++) {
      const float t = (float)(piece + 1) / (float)CURVE_PIECES;
      pieces[piece] = (Segment){piece == 0 ? points[i - 1] : pieces[piece - 1].to,
                                curve_at(before, points[i - 1], points[i], after, t)};
    }
    drawing->count += CURVE_PIECES;
  }
}

/* -- from segments to the image --------------------------------------------------------------- */

/* Where the points go: a wave that bends the strokes, then a linear map, in pixels. */
typedef struct Placement {
  float wave, wave_x, wave_y; /* height, in the box; phases */
  float matrix[2][2];         /* rotation * shear * scale */
} Placement;

static Placement placement_choose(Choices *choices) {
  Placement place = {0};
  const float angle = between(choices, -15.0f, 15.0f) * 3.14159265f / 180.0f;
  const float shear = between(choices, -0.2f, 0.2f);
  const float height = between(choices, 18.0f, 21.0f), width = height * between(choices, 0.8f, 1.05f);
  place.wave = between(choices, 0.0f, 0.035f);
  place.wave_x = between(choices, 0.0f, 6.2831853f);
  place.wave_y = between(choices, 0.0f, 6.2831853f);
  const float c = cosf(angle), s = sinf(angle);
  place.matrix[0][0] = c * width;
  place.matrix[0][1] = (c * -shear - s) * height;
  place.matrix[1][0] = s * width;
  place.matrix[1][1] = (s * -shear + c) * height;
  return place;
}

static Point place_point(const Placement *place, Point point) {
  const float x = point.x + place->wave * sinf(7.0f * point.y + place->wave_x);
  const float y = point.y + place->wave * sinf(7.0f * point.x + place->wave_y);
  return (Point){place->matrix[0][0] * x + place->matrix[0][1] * y, place->matrix[1][0] * x + place->matrix[1][1] * y};
}

/* Maps the drawing into the image, its bounding box centred but for a shift. */
static void drawing_place(Drawing *drawing, const Placement *place, float shift_x, float shift_y) {
  Point low = {1e9f, 1e9f}, high = {-1e9f, -1e9f};
  for (size_t i = 0; i < drawing->count; i++) {
    Segment *segment = &drawing->segments[i];
    segment->from = place_point(place, segment->from);
    segment->to = place_point(place, segment->to);
    low.x = fminf(low.x, fminf(segment->from.x, segment->to.x));
    low.y = fminf(low.y, fminf(segment->from.y, segment->to.y));
    high.x = fmaxf(high.x, fmaxf(segment->from.x, segment->to.x));
    high.y = fmaxf(high.y, fmaxf(segment->from.y, segment->to.y));
  }
  const float dx = (float)SIDE / 2.0f - 0.5f * (low.x + high.x) + shift_x;
  const float dy = (float)SIDE / 2.0f - 0.5f * (low.y + high.y) + shift_y;
  for (size_t i = 0; i < drawing->count; i++) {
    Segment *segment = &drawing->segments[i];
    segment->from = (Point){segment->from.x + dx, segment->from.y + dy};
    segment->to = (Point){segment->to.x + dx, segment->to.y + dy};
  }
}

/* The first pixel at or after `value`, within 0..SIDE. */
static int pixel_at(float value) { return value < 0.0f ? 0 : value > (float)SIDE ? SIDE : (int)value; }

/* Ink of one segment: a pen of that radius covers pixels whose centre is nearer, softly at its edge. */
static void segment_ink(const Segment *segment, float radius, float *ink) {
  const float dx = segment->to.x - segment->from.x, dy = segment->to.y - segment->from.y;
  const float square = dx * dx + dy * dy, reach = radius + 1.0f;
  const float inverse = square > 1e-12f ? 1.0f / square : 0.0f;
  const int left = pixel_at(fminf(segment->from.x, segment->to.x) - reach);
  const int right = pixel_at(fmaxf(segment->from.x, segment->to.x) + reach + 1.0f);
  const int top = pixel_at(fminf(segment->from.y, segment->to.y) - reach);
  const int bottom = pixel_at(fmaxf(segment->from.y, segment->to.y) + reach + 1.0f);
  for (int row = top; row < bottom; row++) {
    for (int column = left; column < right; column++) {
      const float x = (float)column + 0.5f - segment->from.x, y = (float)row + 0.5f - segment->from.y;
      const float along = (x * dx + y * dy) * inverse;
      const float t = along < 0.0f ? 0.0f : along > 1.0f ? 1.0f : along;
      const float ex = x - t * dx, ey = y - t * dy;
      const float cover = radius + 0.5f - sqrtf(ex * ex + ey * ey);
      float *pixel = &ink[row * SIDE + column];
      if (cover > *pixel) *pixel = cover;
    }
  }
}

/* Grey values from ink, with noise of the given height, a byte of randomness for each pixel. */
static void image_finish(const float *ink, float strength, float noise, uint64_t seed, uint64_t block, uint8_t *image) {
  uint32_t words[4];
  for (size_t i = 0; i < PIXELS; i++) {
    if (i % 16 == 0) burn_philox(seed, block + i / 16, words);
    const float grain = (float)(words[i % 16 / 4] >> (i % 4 * 8) & 0xffu) - 127.5f;
    const float cover = ink[i] > 1.0f ? 1.0f : ink[i];
    const float value = cover * strength + grain * noise;
    image[i] = (uint8_t)(value < 0.0f ? 0.0f : value > 255.0f ? 255.0f : value);
  }
}

static BurnStatus digits_get(void *context, size_t index, void *const *columns) {
  const DigitsContext *digits = context;
  const uint64_t block = (uint64_t)index * ITEM_BLOCKS;
  const unsigned label = label_of(digits->seed, index);
  Choices choices = {{0}, 0};
  Point points[MAX_POINTS];
  Drawing drawing;
  float ink[PIXELS] = {0.0f};
  for (uint64_t i = 0; i < CHOICE_BLOCKS; i++) burn_philox(digits->seed, block + i, choices.words + i * 4);
  const uint64_t chosen = (uint64_t)choices.words[choices.used++] * digits->variant_count[label] >> 32;
  const Variant *variant = &digits->variants[label][chosen];
  const Placement place = placement_choose(&choices);
  const float shift_x = between(&choices, -1.2f, 1.2f), shift_y = between(&choices, -1.2f, 1.2f);
  const float radius = between(&choices, 0.8f, 1.7f), pressure = between(&choices, 0.0f, 0.3f);
  const float phase = between(&choices, 0.0f, 6.2831853f), strength = between(&choices, 180.0f, 285.0f);
  const float noise = between(&choices, 0.0f, 0.2f);
  points_jitter(variant, &choices, between(&choices, 0.02f, 0.08f), points);
  segments_cut(variant, points, &drawing);
  drawing_place(&drawing, &place, shift_x, shift_y);
  for (size_t i = 0; i < drawing.count; i++) {
    const float along = (float)i / (float)drawing.count;
    segment_ink(&drawing.segments[i], radius * (1.0f + pressure * sinf(9.0f * along + phase)), ink);
  }
  image_finish(ink, strength, noise, digits->seed, block + CHOICE_BLOCKS, columns[0]);
  *(uint8_t *)columns[1] = (uint8_t)label;
  return BURN_OK;
}

BurnDataset *burn_dataset_digits(const BurnDigitsConfig *config, BurnStatus *status) {
  if (burn__entry_status(status) != BURN_OK) return NULL;
  if (config == NULL) {
    burn__store_status(status, burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                                                "digits: config is NULL: a BurnDigitsConfig with a count expected"));
    return NULL;
  }
  DigitsContext *digits = calloc(1, sizeof *digits);
  if (digits == NULL) {
    burn__store_status(status, burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "digits: out of memory"));
    return NULL;
  }
  digits->seed = config->seed;
  if (!variants_index(digits)) {
    free(digits);
    burn__store_status(status,
                       burn_status_make(BURN_STATUS_INTERNAL, "digits: the table of strokes breaks its limits"));
    return NULL;
  }
  const BurnColumn columns[] = {{"image", BURN_DTYPE_U8, BURN_SHAPE(SIDE, SIDE)}, {"label", BURN_DTYPE_U8, {0, {0}}}};
  const BurnDatasetInterface interface = {2, columns, config->count, digits_get, free, digits};
  return burn_dataset_create(&interface, status);
}
