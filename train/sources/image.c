/* image.c - pictures in memory: read by what their first bytes show, resized, turned.
 *
 * Resizing is separable, as in Pillow: each pixel of the result is a weighted sum over those of the source under a
 * triangle, which is as wide as a pixel of the result where it shrinks; first along rows, then along columns, each with
 * weights of 22 bits and rounding to a byte. */
#include "image_private.h"
#include "null_check.h"
#include "path_check.h"

#include <burn/file.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WEIGHT_BITS = 22, RED = 19595, GREEN = 38470, BLUE = 7471, GREY_BITS = 16 /* ITU-R 601, as Pillow has it */ };

BurnStatus burn_image_init(BurnImage *image, uint32_t width, uint32_t height, uint32_t channels) {
  const BurnStatus given = BURN_REQUIRED(image, "a BurnImage");
  if (given != BURN_OK) return given;
  *image = (BurnImage){NULL, 0, 0, 0};
  if (width < 1 || height < 1 || width > BURN_IMAGE_SIDE_LIMIT || height > BURN_IMAGE_SIDE_LIMIT ||
      (channels != 1 && channels != 3) || (uint64_t)width * height * channels > BURN_IMAGE_BYTES_LIMIT)
    return burn_status_make(BURN_STATUS_INVALID_SHAPE, "image: %u x %u pixels of %u channels", (unsigned)width,
                            (unsigned)height, (unsigned)channels);
  uint8_t *pixels = calloc((size_t)width * height, channels);
  if (pixels == NULL)
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "image: no memory for %u x %u pixels", (unsigned)width,
                            (unsigned)height);
  *image = (BurnImage){pixels, width, height, channels};
  return BURN_OK;
}

void burn_image_release(BurnImage *image) {
  if (!image) return;
  free(image->pixels);
  *image = (BurnImage){NULL, 0, 0, 0};
}

void burn__image_grey(BurnImage *image) {
  const size_t count = (size_t)image->width * image->height;
  for (size_t i = 0; i < count; i++) {
    const uint8_t *from = image->pixels + 3 * i;
    const uint32_t sum = from[0] * (uint32_t)RED + from[1] * (uint32_t)GREEN + from[2] * (uint32_t)BLUE;
    image->pixels[i] = (uint8_t)((sum + (1u << (GREY_BITS - 1))) >> GREY_BITS);
  }
  image->channels = 1;
}

BurnStatus burn_image_decode(const uint8_t *bytes, size_t count, uint32_t channels, BurnImage *image) {
  static const uint8_t png[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'}, jpeg[] = {0xff, 0xd8, 0xff};
  const BurnStatus given = BURN_REQUIRED(image, "a BurnImage");
  if (given != BURN_OK) return given;
  *image = (BurnImage){NULL, 0, 0, 0};
  if (bytes == NULL) count = 0;
  if (channels != 0 && channels != 1 && channels != 3)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "image: %u channels, 0, 1 or 3 expected", (unsigned)channels);
  if (count >= sizeof png && memcmp(bytes, png, sizeof png) == 0)
    return burn__png_decode(bytes, count, channels, image);
  if (count >= sizeof jpeg && memcmp(bytes, jpeg, sizeof jpeg) == 0)
    return burn__jpeg_decode(bytes, count, channels, image);
  if (burn__is_pnm(bytes, count)) return burn__pnm_decode(bytes, count, channels, image);
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "image: neither a PNG, a JPEG nor a PGM or PPM, of %zu bytes",
                          count);
}

BurnStatus burn_image_read(const char *path, uint32_t channels, BurnImage *image) {
  uint8_t *bytes = NULL;
  size_t count = 0;
  BurnStatus status = BURN_REQUIRED(image, "a BurnImage");
  if (status != BURN_OK) return status;
  *image = (BurnImage){NULL, 0, 0, 0};
  status = burn__path_check("image", path);
  if (status != BURN_OK) return status;
  status = burn_file_read(path, BURN_IMAGE_BYTES_LIMIT, &bytes, &count);
  if (status == BURN_OK) status = burn_image_decode(bytes, count, channels, image);
  free(bytes);
  return burn_status_annotate(status, "%s", path);
}

BurnStatus burn__image_check_write(const char *path, const BurnImage *image) {
  const BurnStatus status = burn__path_check("image", path);
  if (status != BURN_OK || (image != NULL && image->pixels != NULL)) return status;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "image: %s: no image", path);
}

/* -- resizing --------------------------------------------------------------------------------- */

/* Of each pixel of the result along an axis: where its sum begins, over how many, and with which weights. */
typedef struct Weights {
  uint32_t size; /* the most of a sum */
  uint32_t *first, *count;
  int32_t *values; /* [result, size] */
} Weights;

static void weights_release(Weights *weights) {
  free(weights->first);
  free(weights->count);
  free(weights->values);
}

/* The sum of pixel `index`: a triangle around its middle, in the source, that reaches `support` to either side. */
static void weights_fill(Weights *weights, uint32_t index, double begin, double scale, double width, uint32_t limit) {
  const double spread = width > 1 ? width : 1, middle = begin + ((double)index + 0.5) * scale;
  const double low = floor(middle - spread + 0.5), high = floor(middle + spread + 0.5);
  const uint32_t first = low > 0 ? (uint32_t)low : 0, end = high < (double)limit ? (uint32_t)high : limit;
  int32_t *values = weights->values + (size_t)index * weights->size;
  double sum = 0;
  for (uint32_t i = first; i < end; i++) sum += fmax(1 - fabs(((double)i - middle + 0.5) * (1 / spread)), 0);
  for (uint32_t i = first; i < end; i++) {
    const double weight = fmax(1 - fabs(((double)i - middle + 0.5) * (1 / spread)), 0) * (1 / sum);
    values[i - first] = (int32_t)(weight * (double)(1 << WEIGHT_BITS) + 0.5);
  }
  weights->first[index] = first;
  weights->count[index] = end - first;
}

/* From `length` of `limit` pixels, beginning at `begin`, to `size`. */
static bool weights_make(uint32_t begin, uint32_t length, uint32_t limit, uint32_t size, Weights *weights) {
  const double scale = (double)length / (double)size;
  weights->size = 2 * (uint32_t)ceil(scale > 1 ? scale : 1) + 2;
  weights->first = calloc(size, sizeof *weights->first);
  weights->count = calloc(size, sizeof *weights->count);
  weights->values = calloc((size_t)size * weights->size, sizeof *weights->values);
  if (weights->first == NULL || weights->count == NULL || weights->values == NULL) return false;
  for (uint32_t i = 0; i < size; i++) weights_fill(weights, i, (double)begin, scale, scale, limit);
  return true;
}

static uint8_t rounded(int64_t sum) {
  const int64_t value = sum >> WEIGHT_BITS;
  return value < 0 ? 0 : value > 255 ? 255 : (uint8_t)value;
}

/* One row of the result's width out of a row of the source. */
static void row_resize(const uint8_t *from, uint32_t channels, const Weights *weights, uint32_t width, uint8_t *to) {
  for (uint32_t x = 0; x < width; x++) {
    const int32_t *values = weights->values + (size_t)x * weights->size;
    const uint8_t *pixel = from + (size_t)weights->first[x] * channels;
    for (uint32_t channel = 0; channel < channels; channel++) {
      int64_t sum = 1 << (WEIGHT_BITS - 1);
      for (uint32_t i = 0; i < weights->count[x]; i++) sum += (int64_t)values[i] * pixel[i * channels + channel];
      to[x * channels + channel] = rounded(sum);
    }
  }
}

/* One row of the result out of rows that are `bytes` long. */
static void rows_merge(const uint8_t *rows, size_t bytes, const int32_t *values, uint32_t count, uint8_t *to) {
  for (size_t i = 0; i < bytes; i++) {
    int64_t sum = 1 << (WEIGHT_BITS - 1);
    for (uint32_t row = 0; row < count; row++) sum += (int64_t)values[row] * rows[row * bytes + i];
    to[i] = rounded(sum);
  }
}

static bool both_axes(const BurnImage *image, const Weights *across, const Weights *down, BurnImage *out) {
  const uint32_t last = out->height - 1, top = down->first[0], end = down->first[last] + down->count[last];
  const size_t bytes = (size_t)out->width * out->channels, source = (size_t)image->width * image->channels;
  uint8_t *rows = calloc(end - top, bytes);
  if (rows == NULL) return false;
  for (uint32_t y = top; y < end; y++)
    row_resize(image->pixels + y * source, image->channels, across, out->width, rows + (y - top) * bytes);
  for (uint32_t y = 0; y < out->height; y++)
    rows_merge(rows + (down->first[y] - top) * bytes, bytes, down->values + (size_t)y * down->size, down->count[y],
               out->pixels + y * bytes);
  free(rows);
  return true;
}

/* A part of the same size is copied. */
static void part_copy(const BurnImage *image, const BurnImageBox *box, BurnImage *out) {
  const size_t bytes = (size_t)box->width * image->channels;
  for (uint32_t y = 0; y < box->height; y++) {
    const size_t from = ((size_t)(box->top + y) * image->width + box->left) * image->channels;
    memcpy(out->pixels + y * bytes, image->pixels + from, bytes);
  }
}

BurnStatus burn_image_resize(const BurnImage *image, const BurnImageBox *box, uint32_t width, uint32_t height,
                             BurnImage *out) {
  BurnStatus status = BURN_REQUIRED(image, "a BurnImage");
  if (status == BURN_OK) status = BURN_REQUIRED(out, "a BurnImage");
  if (status != BURN_OK) return status;
  const BurnImageBox all = {0, 0, image->width, image->height};
  const BurnImageBox *part = box != NULL ? box : &all;
  if (part->width < 1 || part->height < 1 || part->left > image->width || part->top > image->height ||
      part->width > image->width - part->left || part->height > image->height - part->top)
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "image: %u x %u pixels at %u, %u of %u x %u",
                            (unsigned)part->width, (unsigned)part->height, (unsigned)part->left, (unsigned)part->top,
                            (unsigned)image->width, (unsigned)image->height);
  status = burn_image_init(out, width, height, image->channels);
  if (status != BURN_OK) return status;
  if (part->width == width && part->height == height) {
    part_copy(image, part, out);
    return BURN_OK;
  }
  Weights across = {0}, down = {0};
  const bool good = weights_make(part->left, part->width, image->width, width, &across) &&
                    weights_make(part->top, part->height, image->height, height, &down) &&
                    both_axes(image, &across, &down, out);
  weights_release(&across);
  weights_release(&down);
  if (good) return BURN_OK;
  burn_image_release(out);
  return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "image: no memory to resize to %u x %u", (unsigned)width,
                          (unsigned)height);
}

void burn_image_flip(BurnImage *image) {
  const size_t channels = image->channels;
  for (uint32_t y = 0; y < image->height; y++) {
    uint8_t *row = image->pixels + (size_t)y * image->width * channels;
    for (uint32_t x = 0; x < image->width / 2; x++) {
      uint8_t kept[3];
      uint8_t *left = row + x * channels, *right = row + (image->width - 1 - x) * channels;
      memcpy(kept, left, channels);
      memcpy(left, right, channels);
      memcpy(right, kept, channels);
    }
  }
}
