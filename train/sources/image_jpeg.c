/* image_jpeg.c - JPEG by libjpeg-turbo. Its errors leave it by longjmp, as its interface wants; a warning, which it
 * gives for data that are cut or damaged, counts as one, as half a picture is none. */
#include "image_private.h"

#include <burn/file.h>

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

enum { MAX_SCANS = 500 };

typedef struct Errors {
  struct jpeg_error_mgr manager;
  jmp_buf way_out;
  char text[JMSG_LENGTH_MAX];
} Errors;

static void error_leave(j_common_ptr jpeg) {
  Errors *errors = (Errors *)(void *)jpeg->err;
  errors->manager.format_message(jpeg, errors->text);
  longjmp(errors->way_out, 1);
}

static void message_take(j_common_ptr jpeg, int level) {
  if (level < 0) error_leave(jpeg);
}

static void output_nothing(j_common_ptr jpeg) { (void)jpeg; }

static struct jpeg_error_mgr *errors_set(Errors *errors) {
  jpeg_std_error(&errors->manager);
  errors->manager.error_exit = error_leave;
  errors->manager.emit_message = message_take;
  errors->manager.output_message = output_nothing;
  return &errors->manager;
}

/* -- reading ---------------------------------------------------------------------------------- */

/* A progressive file may say the same pixels over and over: few bytes that take long. */
static void scans_bound(j_common_ptr jpeg) {
  const struct jpeg_decompress_struct *reading = (const struct jpeg_decompress_struct *)(const void *)jpeg;
  if (reading->input_scan_number <= MAX_SCANS) return;
  Errors *errors = (Errors *)(void *)jpeg->err;
  (void)snprintf(errors->text, sizeof errors->text, "more than %d scans", MAX_SCANS);
  longjmp(errors->way_out, 1);
}

/* What is read; nothing of it is in a register when longjmp comes. */
typedef struct Reading {
  struct jpeg_decompress_struct jpeg;
  struct jpeg_progress_mgr progress;
  Errors errors;
  BurnStatus status;
} Reading;

static void pixels_read(Reading *reading, BurnImage *image) {
  struct jpeg_decompress_struct *jpeg = &reading->jpeg;
  jpeg_calc_output_dimensions(jpeg);
  reading->status =
      burn_image_init(image, jpeg->output_width, jpeg->output_height, (uint32_t)jpeg->out_color_components);
  if (reading->status == BURN_OK) jpeg_start_decompress(jpeg);
  while (reading->status == BURN_OK && jpeg->output_scanline < jpeg->output_height) {
    JSAMPROW row = image->pixels + (size_t)jpeg->output_scanline * image->width * image->channels;
    jpeg_read_scanlines(jpeg, &row, 1);
  }
  if (reading->status == BURN_OK) jpeg_finish_decompress(jpeg);
}

static void header_read(Reading *reading, const uint8_t *bytes, size_t count, uint32_t channels) {
  struct jpeg_decompress_struct *jpeg = &reading->jpeg;
  jpeg_mem_src(jpeg, bytes, (unsigned long)count);
  jpeg_read_header(jpeg, TRUE);
  const bool grey = channels == 1 || (channels == 0 && jpeg->jpeg_color_space == JCS_GRAYSCALE);
  jpeg->out_color_space = grey ? JCS_GRAYSCALE : JCS_RGB;
  if (jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK)
    reading->status =
        burn_status_make(BURN_STATUS_INCOMPATIBLE, "image: a JPEG of four inks (CMYK) is not read; convert it to RGB");
}

BurnStatus burn__jpeg_decode(const uint8_t *bytes, size_t count, uint32_t channels, BurnImage *image) {
  Reading *reading = calloc(1, sizeof *reading);
  if (reading == NULL) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "image: out of memory");
  reading->jpeg.err = errors_set(&reading->errors);
  reading->status = BURN_OK;
  if (setjmp(reading->errors.way_out) == 0) {
    jpeg_create_decompress(&reading->jpeg);
    reading->jpeg.mem->max_memory_to_use = BURN_IMAGE_BYTES_LIMIT;
    reading->progress.progress_monitor = scans_bound;
    reading->jpeg.progress = &reading->progress;
    header_read(reading, bytes, count, channels);
    if (reading->status == BURN_OK) pixels_read(reading, image);
  } else {
    reading->status = burn_status_make(BURN_STATUS_CORRUPT_DATA, "image: damaged JPEG: %s", reading->errors.text);
  }
  const BurnStatus status = reading->status;
  jpeg_destroy_decompress(&reading->jpeg);
  free(reading);
  if (status != BURN_OK) burn_image_release(image);
  return status;
}

/* -- writing ---------------------------------------------------------------------------------- */

typedef struct Writing {
  struct jpeg_compress_struct jpeg;
  Errors errors;
  unsigned char *bytes; /* from malloc, by libjpeg */
  unsigned long count;
} Writing;

static void pixels_write(Writing *writing, const BurnImage *image, int quality) {
  struct jpeg_compress_struct *jpeg = &writing->jpeg;
  jpeg_create_compress(jpeg);
  jpeg_mem_dest(jpeg, &writing->bytes, &writing->count);
  jpeg->image_width = image->width;
  jpeg->image_height = image->height;
  jpeg->input_components = (int)image->channels;
  jpeg->in_color_space = image->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(jpeg);
  jpeg_set_quality(jpeg, quality, TRUE);
  jpeg_start_compress(jpeg, TRUE);
  while (jpeg->next_scanline < jpeg->image_height) {
    JSAMPROW row = image->pixels + (size_t)jpeg->next_scanline * image->width * image->channels;
    jpeg_write_scanlines(jpeg, &row, 1);
  }
  jpeg_finish_compress(jpeg);
}

BurnStatus burn_image_write_jpeg(const char *path, const BurnImage *image, int quality) {
  BurnStatus status = burn__image_check_write(path, image);
  if (status != BURN_OK) return status;
  if (quality < 1 || quality > 100)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "image: %s: quality %d, 1 to 100 expected", path, quality);
  Writing *writing = calloc(1, sizeof *writing);
  if (writing == NULL) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "image: %s: out of memory", path);
  writing->jpeg.err = errors_set(&writing->errors);
  if (setjmp(writing->errors.way_out) == 0)
    pixels_write(writing, image, quality);
  else
    status = burn_status_make(BURN_STATUS_INTERNAL, "image: %s: %s", path, writing->errors.text);
  if (status == BURN_OK)
    status = burn_status_annotate(burn_file_write(path, writing->bytes, writing->count), "image: %s", path);
  jpeg_destroy_compress(&writing->jpeg);
  free(writing->bytes);
  free(writing);
  return status;
}
