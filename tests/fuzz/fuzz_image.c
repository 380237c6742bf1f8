/* fuzz_image.c - PNG, JPEG, PGM and PPM files: decoded, as items in all ways of cropping, and what was read written and read again.
 *
 * Input: a byte that says how, then the file. */
#include "fuzz_target.h"

#include <burn/datasets.h>

enum { SIDE = 6, PIXELS_LIMIT = 1 << 22 };

static void item_check(const BurnImage *image, uint8_t choice) {
  const BurnImageConfig config = {.height = SIDE,
                                  .width = SIDE - 1,
                                  .crop = (BurnImageCrop)(choice >> 2 & 3),
                                  .shorter_side = choice & 16 ? SIDE + 1 : 0,
                                  .flip = 0.5,
                                  .bytes = choice & 32};
  float item[3 * SIDE * SIDE] = {0};
  FUZZ_REQUIRE(fuzz_ok(burn_image_item(image, &config, choice, 3, item)), "a picture is not an item");
  for (size_t i = 0; i < 3 * SIDE * (SIDE - 1) && !config.bytes; i++)
    FUZZ_REQUIRE(item[i] >= 0 && item[i] <= 1, "value %zu is %g", i, (double)item[i]);
}

static void write_check(const BurnImage *image) {
  BurnImage again;
  FUZZ_REQUIRE(fuzz_ok(burn_image_write_png("again.png", image)) && fuzz_ok(burn_image_read("again.png", 0, &again)),
               "what was read is not written");
  const size_t count = (size_t)image->width * image->height * image->channels;
  FUZZ_REQUIRE(again.width == image->width && again.height == image->height, "it has another size");
  if (again.channels == image->channels)
    FUZZ_REQUIRE(memcmp(again.pixels, image->pixels, count) == 0, "it has other pixels");
  burn_image_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  FuzzInput input = {bytes, count};
  const uint8_t choice = fuzz_byte(&input);
  const uint32_t channels[] = {0, 1, 3, 2};
  BurnImage image;
  fuzz_scratch_clear();
  const BurnStatus status = burn_image_decode(input.next, input.left, channels[choice & 3], &image);
  FUZZ_REQUIRE(fuzz_ok(status) == (image.pixels != NULL), "a picture and a failure, or neither");
  if (image.pixels != NULL && (size_t)image.width * image.height <= PIXELS_LIMIT) {
    item_check(&image, choice);
    write_check(&image);
  }
  burn_image_release(&image);
  return 0;
}
