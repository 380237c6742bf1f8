/* image_item.c - from a picture to an item: which part of it, resized, turned, as numbers. What is random is drawn from
 * the counter-based generator, by seed, epoch and index: so it is the same on every thread. */
#include "image_private.h"
#include "null_check.h"

#include <burn/plugin/random.h>

#include <math.h>
#include <string.h>

enum { AREA_TRIES = 10 /* as torchvision */, DRAWS = 4 };
static const double area_low = 0.08, area_high = 1, proportion_low = 3.0 / 4, proportion_high = 4.0 / 3;

/* Random numbers of one item, one after the other. */
typedef struct Draw {
  uint64_t key, block;
  uint32_t words[DRAWS];
  size_t next;
} Draw;

static uint64_t two_words(const uint32_t *words) { return (uint64_t)words[0] | (uint64_t)words[1] << 32; }

static Draw draw_begin(uint64_t seed, size_t epoch, size_t index) {
  Draw draw = {0, 0, {0}, DRAWS};
  uint32_t words[DRAWS];
  burn_philox(seed, epoch, words);
  burn_philox(two_words(words), index, words);
  draw.key = two_words(words);
  return draw;
}

/* In [0, 1). */
static double draw_next(Draw *draw) {
  if (draw->next == DRAWS) {
    burn_philox(draw->key, draw->block++, draw->words);
    draw->next = 0;
  }
  return (double)draw->words[draw->next++] * 0x1p-32;
}

/* 0 .. limit, all as likely. */
static uint32_t draw_below(Draw *draw, uint32_t limit) {
  const double value = floor(draw_next(draw) * ((double)limit + 1));
  return (uint32_t)value;
}

/* -- the part --------------------------------------------------------------------------------- */

static uint32_t rounded_within(double value, uint32_t limit) {
  const double nearest = floor(value + 0.5);
  return nearest < 1 ? 1 : nearest > (double)limit ? limit : (uint32_t)nearest;
}

/* The largest part of a picture with the proportions of width to height, at the top left. */
static BurnImageBox largest_part(const BurnImage *image, double width, double height) {
  const double scale = fmin((double)image->width / width, (double)image->height / height);
  return (BurnImageBox){0, 0, rounded_within(width * scale, image->width),
                        rounded_within(height * scale, image->height)};
}

/* With a shorter side, height x width pixels of what was resized to it are this part of the source. */
static BurnImageBox cut_part(const BurnImage *image, const BurnImageConfig *config) {
  if (config->shorter_side == 0) return largest_part(image, (double)config->width, (double)config->height);
  const uint32_t shorter = image->width < image->height ? image->width : image->height;
  const double scale = (double)shorter / (double)config->shorter_side;
  return (BurnImageBox){0, 0, rounded_within((double)config->width * scale, image->width),
                        rounded_within((double)config->height * scale, image->height)};
}

/* A part of random area and proportions; after some that do not fit, the largest in the middle. */
static BurnImageBox random_part(const BurnImage *image, Draw *draw) {
  const double area = (double)image->width * (double)image->height;
  for (int i = 0; i < AREA_TRIES; i++) {
    const double wanted = area * (area_low + (area_high - area_low) * draw_next(draw));
    const double low = log(proportion_low), high = log(proportion_high);
    const double proportion = exp(low + (high - low) * draw_next(draw));
    const double width = floor(sqrt(wanted * proportion) + 0.5), height = floor(sqrt(wanted / proportion) + 0.5);
    if (width < 1 || height < 1 || width > (double)image->width || height > (double)image->height) continue;
    const uint32_t w = (uint32_t)width, h = (uint32_t)height;
    const uint32_t left = draw_below(draw, image->width - w), top = draw_below(draw, image->height - h);
    return (BurnImageBox){left, top, w, h};
  }
  const double own = (double)image->width / (double)image->height;
  BurnImageBox part = largest_part(image, fmin(fmax(own, proportion_low), proportion_high), 1);
  part.left = (image->width - part.width) / 2;
  part.top = (image->height - part.height) / 2;
  return part;
}

static BurnImageBox part_choose(const BurnImage *image, const BurnImageConfig *config, Draw *draw) {
  if (config->crop == BURN_IMAGE_CROP_NONE) return (BurnImageBox){0, 0, image->width, image->height};
  if (config->crop == BURN_IMAGE_CROP_RANDOM_RESIZED) return random_part(image, draw);
  BurnImageBox part = cut_part(image, config);
  const uint32_t across = image->width - part.width, down = image->height - part.height;
  const bool random = config->crop == BURN_IMAGE_CROP_RANDOM;
  part.left = random ? draw_below(draw, across) : across / 2;
  part.top = random ? draw_below(draw, down) : down / 2;
  return part;
}

/* -- numbers ---------------------------------------------------------------------------------- */

/* [height, width, channels] of bytes to [channels, height, width] of the item. */
static void numbers_put(const BurnImage *image, const BurnImageConfig *config, void *out) {
  const size_t count = (size_t)image->width * image->height, channels = image->channels;
  for (size_t channel = 0; channel < channels; channel++) {
    const uint8_t *from = image->pixels + channel;
    const float deviation = config->deviation[channel] > 0 ? config->deviation[channel] : 1;
    float values[256];
    for (int i = 0; i < 256 && !config->bytes; i++) values[i] = ((float)i / 255.0f - config->mean[channel]) / deviation;
    uint8_t *bytes = (uint8_t *)out + channel * count;
    float *floats = (float *)out + channel * count;
    for (size_t i = 0; i < count && config->bytes; i++) bytes[i] = from[i * channels];
    for (size_t i = 0; i < count && !config->bytes; i++) floats[i] = values[from[i * channels]];
  }
}

BurnStatus burn_image_item(const BurnImage *image, const BurnImageConfig *config, size_t epoch, size_t index,
                           void *out) {
  BurnStatus status = BURN_REQUIRED(image, "a BurnImage");
  if (status == BURN_OK) status = BURN_REQUIRED(config, "a BurnImageConfig");
  if (status == BURN_OK) status = BURN_REQUIRED(out, "room for the item");
  if (status != BURN_OK) return status;
  Draw draw = draw_begin(config->seed, epoch, index);
  BurnImage item;
  const BurnImageBox part = part_choose(image, config, &draw);
  status = burn_image_resize(image, &part, config->width, config->height, &item);
  if (status != BURN_OK) return status;
  if (config->flip > 0 && draw_next(&draw) < config->flip) burn_image_flip(&item);
  numbers_put(&item, config, out);
  burn_image_release(&item);
  return BURN_OK;
}
