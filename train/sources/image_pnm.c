/* image_pnm.c - PGM and PPM (Netpbm), binary and of 8 bits: a header in letters, then the pixels as they are. They need
 * no library, so they are read in every build. */
#include "image_private.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_NUMBER = 1 << 24 };

/* Where the header is being read. */
typedef struct Header {
  const uint8_t *bytes;
  size_t count, at;
} Header;

/* White space, and comments from # to the end of a line. */
static void skip_blank(Header *header) {
  bool comment = false;
  for (; header->at < header->count; header->at++) {
    const uint8_t c = header->bytes[header->at];
    if (c == '#') comment = true;
    if (c == '\n' || c == '\r') comment = false;
    if (!comment && !isspace(c)) return;
  }
}

/* False at what is not a number, or one that no picture has. */
static bool read_number(Header *header, uint32_t *number) {
  *number = 0;
  skip_blank(header);
  while (header->at < header->count && isdigit(header->bytes[header->at])) {
    *number = 10 * *number + (uint32_t)(header->bytes[header->at] - '0');
    if (*number > LARGEST_NUMBER) return false;
    header->at++;
  }
  return *number > 0;
}

static BurnStatus corrupt(const Header *header, const char *what) {
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "image: PGM or PPM, byte %zu: %s", header->at, what);
}

bool burn__is_pnm(const uint8_t *bytes, size_t count) {
  return count > 2 && bytes[0] == 'P' && (bytes[1] == '5' || bytes[1] == '6') && isspace(bytes[2]);
}

/* The samples of the file, of 0 .. largest, as those of the picture, of 0 .. 255. */
static void copy_samples(const uint8_t *from, uint32_t largest, BurnImage *image) {
  const size_t count = (size_t)image->width * image->height * image->channels;
  for (size_t i = 0; i < count; i++) {
    const uint32_t sample = from[i] < largest ? from[i] : largest;
    image->pixels[i] = (uint8_t)((sample * 255 + largest / 2) / largest);
  }
}

/* Grey as three equal colours, or colours as grey, where that is asked for. */
static BurnStatus with_channels(BurnImage *image, uint32_t channels) {
  if (channels == 0 || channels == image->channels) return BURN_OK;
  if (channels == 1) {
    burn__image_grey(image);
    return BURN_OK;
  }
  BurnImage colours;
  const BurnStatus status = burn_image_init(&colours, image->width, image->height, 3);
  if (status != BURN_OK) return status;
  const size_t count = (size_t)image->width * image->height;
  for (size_t i = 0; i < count; i++) memset(colours.pixels + 3 * i, image->pixels[i], 3);
  burn_image_release(image);
  *image = colours;
  return BURN_OK;
}

BurnStatus burn__pnm_decode(const uint8_t *bytes, size_t count, uint32_t channels, BurnImage *image) {
  Header header = {bytes, count, 2};
  const uint32_t own = bytes[1] == '6' ? 3 : 1;
  uint32_t width, height, largest;
  if (!read_number(&header, &width) || !read_number(&header, &height) || !read_number(&header, &largest)) {
    return corrupt(&header, "width, height and largest value expected");
  }
  if (largest > 255) return corrupt(&header, "samples of 16 bits are not read; make it 8 bits: convert -depth 8");
  if (header.at == count || !isspace(bytes[header.at++])) return corrupt(&header, "white space before pixels expected");
  if ((uint64_t)width * height * own > count - header.at) return corrupt(&header, "the file ends within the pixels");
  BurnStatus status = burn_image_init(image, width, height, own);
  if (status != BURN_OK) return status;
  copy_samples(bytes + header.at, largest, image);
  status = with_channels(image, channels);
  if (status != BURN_OK) burn_image_release(image);
  return status;
}
