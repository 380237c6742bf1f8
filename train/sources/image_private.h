/* image_private.h - what the files about pictures share. */
#ifndef BURN_SOURCES_IMAGE_PRIVATE_H
#define BURN_SOURCES_IMAGE_PRIVATE_H

#include <burn/datasets.h>

/* The pictures of a PNG or JPEG file in memory, as burn_image_decode gives them. */
BURN_USE_RESULT BurnStatus burn__png_decode(const uint8_t *bytes, size_t count, uint32_t channels, BurnImage *image);
BURN_USE_RESULT BurnStatus burn__jpeg_decode(const uint8_t *bytes, size_t count, uint32_t channels, BurnImage *image);

/* Whether bytes begin as a binary PGM or PPM. */
bool burn__is_pnm(const uint8_t *bytes, size_t count);
/* The same of a PGM or PPM, which it begins as. */
BURN_USE_RESULT BurnStatus burn__pnm_decode(const uint8_t *bytes, size_t count, uint32_t channels, BurnImage *image);

/* Whether there are a path to write to and a picture. */
BURN_USE_RESULT BurnStatus burn__image_check_write(const char *path, const BurnImage *image);

/* Makes colours grey, in place. */
void burn__image_grey(BurnImage *image);

#endif
