/* image_png.c - PNG by libpng's simplified interface, which checks sizes, checksums and order itself. */
#include "image_private.h"

#include <burn/file.h>

#include <png.h>
#include <stdlib.h>
#include <string.h>

static BurnStatus png_failed(png_image *png, const char *what) {
  const BurnStatus status = burn_status_make(BURN_STATUS_CORRUPT_DATA, "image: %s: %s", what, png->message);
  png_image_free(png);
  return status;
}

BurnStatus burn__png_decode(const uint8_t *bytes, size_t count, uint32_t channels, BurnImage *image) {
  png_image png;
  memset(&png, 0, sizeof png);
  png.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_memory(&png, bytes, count)) return png_failed(&png, "no PNG");
  if (channels == 0) channels = png.format & PNG_FORMAT_FLAG_COLOR ? 3 : 1;
  const BurnStatus status = burn_image_init(image, png.width, png.height, 3);
  if (status != BURN_OK) {
    png_image_free(&png);
    return status;
  }
  const png_color black = {0, 0, 0};
  png.flags |=
      PNG_IMAGE_FLAG_16BIT_sRGB; /* as most are, whatever the standard says: without it they would be brightened */
  png.format = PNG_FORMAT_RGB;
  if (!png_image_finish_read(&png, &black, image->pixels, 0, NULL)) {
    burn_image_release(image);
    return png_failed(&png, "damaged PNG");
  }
  /* Grey by our weights: libpng's are those of linear light. */
  if (channels == 1) burn__image_grey(image);
  return BURN_OK;
}

BurnStatus burn_image_write_png(const char *path, const BurnImage *image) {
  png_image png;
  png_alloc_size_t count = 0;
  BurnStatus status = burn__image_check_write(path, image);
  if (status != BURN_OK) return status;
  memset(&png, 0, sizeof png);
  png.version = PNG_IMAGE_VERSION;
  png.width = image->width;
  png.height = image->height;
  png.format = image->channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  if (!png_image_write_get_memory_size(png, count, 0, image->pixels, 0, NULL)) return png_failed(&png, path);
  uint8_t *bytes = malloc(count);
  if (bytes == NULL) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "image: %s: out of memory", path);
  if (!png_image_write_to_memory(&png, bytes, &count, 0, image->pixels, 0, NULL)) status = png_failed(&png, path);
  if (status == BURN_OK) status = burn_status_annotate(burn_file_write(path, bytes, count), "image: %s", path);
  free(bytes);
  return status;
}
