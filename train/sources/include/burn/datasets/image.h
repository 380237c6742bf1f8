/* image.h - pictures: PNG and JPEG files read and written, PGM and PPM read, and what is done with them before they are
 * tensors. */
#ifndef BURN_DATASETS_IMAGE_H
#define BURN_DATASETS_IMAGE_H

#include <burn/train/dataset.h>

BURN_EXTERN_C_BEGIN

/* A side has at most so many pixels, a picture at most so many bytes: what a header of a few bytes may ask for. */
enum { BURN_IMAGE_SIDE_LIMIT = 1 << 16, BURN_IMAGE_BYTES_LIMIT = 1 << 30 };

/* A picture in memory. */
typedef struct BurnImage {
  uint8_t *pixels; /* [height, width, channels], 0 .. 255 */
  uint32_t width, height;
  uint32_t channels; /* 1: grey; 3: red, green, blue */
} BurnImage;

/* Makes a picture of that size with zeros; INVALID_SHAPE beyond the limits. Released by burn_image_release. */
BURN_API BURN_USE_RESULT BurnStatus burn_image_init(BurnImage *image, uint32_t width, uint32_t height,
                                                    uint32_t channels);
/* Frees the pixels and leaves the picture empty; NULL is allowed. */
BURN_API void burn_image_release(BurnImage *image);

/* Reads a PNG, JPEG, PGM or PPM file (binary, of 8 bits) of at most 1 GiB; `channels` is what the picture is to have:
 * 1, 3, or 0 as the file has. Colours become grey by ITU-R 601 (0.299, 0.587, 0.114), as in Pillow; 16 bits of a PNG
 * become 8 by their upper ones; what is transparent is laid on black. Released by burn_image_release, empty on failure:
 * CORRUPT_DATA with the path and the library's words. */
BURN_API BURN_USE_RESULT BurnStatus burn_image_read(const char *path, uint32_t channels, BurnImage *image);
/* The same for a file that lies in memory. */
BURN_API BURN_USE_RESULT BurnStatus burn_image_decode(const uint8_t *bytes, size_t count, uint32_t channels,
                                                      BurnImage *image);
/* Writes a PNG file as a whole (burn_file_write, whose failures it has). INVALID_ARGUMENT without pixels,
 * FAILED_PRECONDITION in a build without libpng. */
BURN_API BURN_USE_RESULT BurnStatus burn_image_write_png(const char *path, const BurnImage *image);
/* The same as JPEG, of quality 1 .. 100 as libjpeg scales it: INVALID_ARGUMENT for another, INTERNAL with the words of
 * libjpeg if that fails. */
BURN_API BURN_USE_RESULT BurnStatus burn_image_write_jpeg(const char *path, const BurnImage *image, int quality);

/* A part of a picture, in pixels. */
typedef struct BurnImageBox {
  uint32_t left, top, width, height;
} BurnImageBox;

/* Resizes a part of a picture (NULL: all of it) to width x height: bilinear, and where it shrinks over all pixels that
 * become one (antialiased), as Pillow's BILINEAR. *out is another picture, released by burn_image_release. */
BURN_API BURN_USE_RESULT BurnStatus burn_image_resize(const BurnImage *image, const BurnImageBox *box, uint32_t width,
                                                      uint32_t height, BurnImage *out);
/* Turns left and right in place. */
BURN_API void burn_image_flip(BurnImage *image);

/* -- pictures as items ------------------------------------------------------------------------ */

/* How the part of a picture that becomes an item is chosen. */
typedef enum BurnImageCrop {
  BURN_IMAGE_CROP_NONE = 0,          /* all of it, stretched to the item */
  BURN_IMAGE_CROP_CENTER = 1,        /* the largest part of the item's proportions, in the middle */
  BURN_IMAGE_CROP_RANDOM = 2,        /* such a part anywhere */
  BURN_IMAGE_CROP_RANDOM_RESIZED = 3 /* 8 to 100 % of the area, 3:4 to 4:3, anywhere (RandomResizedCrop) */
} BurnImageCrop;

/* How a picture becomes an item. What is random is a function of seed, epoch and index. */
typedef struct BurnImageConfig {
  uint32_t height, width; /* of an item, at least 1 */
  uint32_t channels;      /* 1 or 3; 0: 3 */
  BurnImageCrop crop;
  uint32_t shorter_side; /* 0, or: for the crops CENTER and RANDOM the shorter side is first resized to this, of which
                            height x width pixels are cut out, as Resize and CenterCrop or RandomCrop do */
  double flip;           /* how likely left and right are turned, 0 .. 1 */
  bool bytes;            /* items are u8 as they are; otherwise f32, (pixel / 255 - mean) / deviation */
  float mean[3];         /* of each channel */
  float deviation[3];    /* of each channel; 0: 1 */
  uint64_t seed;         /* of what is random */
  BurnReadConfig read;   /* for files that cannot be read */
} BurnImageConfig;

/* The item of a picture: to `out`, u8 or f32 [channels, height, width]. The picture has the channels of the config. */
BURN_API BURN_USE_RESULT BurnStatus burn_image_item(const BurnImage *image, const BurnImageConfig *config, size_t epoch,
                                                    size_t index, void *out);

/* The pictures (.png, .jpg, .jpeg, .pgm, .ppm, in any case) of a folder whose subfolders are classes (class_files.h):
 * columns "image" [channels, height, width] and "label" i64. First bytes of files are looked at when it is made,
 * pixels when an item is asked for: a file that is damaged further on is CORRUPT_DATA then, with its path; a loader
 * may leave it out (loader.h). */
BURN_API BURN_CHAINS(3) BURN_USE_RESULT BurnDataset *burn_dataset_image_folder(const char *folder,
                                                                               const BurnImageConfig *config,
                                                                               BurnStatus *status);
/* The same for a list of files, with a label each; NULL: without that column. */
BURN_API BURN_CHAINS(5) BURN_USE_RESULT BurnDataset *burn_dataset_images(const char *const *paths,
                                                                         const int64_t *labels, size_t count,
                                                                         const BurnImageConfig *config,
                                                                         BurnStatus *status);

BURN_EXTERN_C_END

#endif
