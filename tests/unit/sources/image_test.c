/* image_test.c - pictures: what Pillow wrote is read to the same pixels, resized to those of its BILINEAR, written so
 * that it is read again; damaged files are refused; folders become items that depend on seed, epoch and index only. */
#include <burn/datasets.h>
#include <burn/train.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "data_golden.h"
#include "status_testing.h"

/* The most that two pictures differ by, of pixels of 0 .. 255. */
static int furthest(const uint8_t *a, const uint8_t *b, size_t count) {
  int most = 0;
  for (size_t i = 0; i < count; i++) {
    const int apart = abs((int)a[i] - (int)b[i]);
    most = apart > most ? apart : most;
  }
  return most;
}

static void decode_check(const uint8_t *bytes, size_t count, uint32_t channels, uint32_t width, uint32_t height,
                         const uint8_t *pixels, size_t pixel_count, int tolerance) {
  BurnImage image;
  check_status(burn_image_decode(bytes, count, channels, &image));
  assert_true(image.width == width && image.height == height);
  assert_int_equal((size_t)width * height * image.channels, pixel_count);
  assert_in_range(furthest(image.pixels, pixels, pixel_count), 0, tolerance);
  burn_image_release(&image);
}

#define DECODE(name, channels, width, height, pixels, tolerance) \
  decode_check(name, sizeof name, channels, width, height, pixels, sizeof pixels, tolerance)

static void png_is_read_as_pillow_reads_it(void **state) {
  (void)state;
  DECODE(png_rgb, 0, 7, 5, png_rgb_pixels, 0);
  DECODE(png_rgb, 3, 7, 5, png_rgb_pixels, 0);
  DECODE(png_rgb, 1, 7, 5, png_grey_pixels, 0);
  DECODE(png_grey, 0, 7, 5, png_grey_pixels, 0);
  DECODE(png_palette, 0, 7, 5, png_palette_pixels, 0);
  DECODE(png_16, 1, 4, 3, png_16_pixels, 1);
}

/* Half of a pixel on black. */
static void transparency_is_laid_on_black(void **state) {
  (void)state;
  BurnImage image;
  check_status(burn_image_decode(png_alpha, sizeof png_alpha, 3, &image));
  for (size_t i = 0; i < sizeof png_rgb_pixels; i++) assert_true(image.pixels[i] <= png_rgb_pixels[i]);
  assert_true(image.pixels[3 * 6] > 0 && image.pixels[3 * 6] < png_rgb_pixels[3 * 6]);
  burn_image_release(&image);
}

/* Debian's libjpeg-turbo and that in Pillow's wheel agree but for roundings of chroma. */
static void jpeg_is_read_as_pillow_reads_it(void **state) {
  (void)state;
  DECODE(jpeg_rgb, 0, 24, 16, jpeg_pixels, 2);
  DECODE(jpeg_progressive, 3, 24, 16, jpeg_pixels, 2);
  DECODE(jpeg_rgb, 1, 24, 16, jpeg_grey_pixels, 2);
}

/* As the manual pages ppm(5) and pgm(5) of Netpbm define them. */
static void pnm_is_read_as_netpbm_defines_it(void **state) {
  (void)state;
  static const uint8_t colours[] = "P6\n# made by hand\n2 1\n255\n\x01\x02\x03\xff\x80\x00";
  static const uint8_t grey[] = "P5 3 1 #wide\n5\n\x00\x01\x05";
  static const uint8_t colour_pixels[] = {1, 2, 3, 255, 128, 0}, grey_pixels[] = {0, 51, 255};
  static const uint8_t threefold[] = {0, 0, 0, 51, 51, 51, 255, 255, 255};
  /* (0.299 r + 0.587 g + 0.114 b), rounded */
  static const uint8_t colours_as_grey[] = {2, 151};
  decode_check(colours, sizeof colours - 1, 0, 2, 1, colour_pixels, sizeof colour_pixels, 0);
  decode_check(colours, sizeof colours - 1, 1, 2, 1, colours_as_grey, sizeof colours_as_grey, 0);
  decode_check(grey, sizeof grey - 1, 0, 3, 1, grey_pixels, sizeof grey_pixels, 0);
  decode_check(grey, sizeof grey - 1, 3, 3, 1, threefold, sizeof threefold, 0);
}

static void assert_pnm_refused(const char *file, const char *message) {
  BurnImage image;
  const BurnStatus status = burn_image_decode((const uint8_t *)file, strlen(file), 0, &image);
  assert_string_equal(burn_status_message(status), message);
  assert_null(image.pixels);
}

static void damaged_pnm_is_refused(void **state) {
  (void)state;
  static const uint8_t whole[] = "P6 2 1 255 abcdef";
  BurnImage image;
  for (size_t count = 3; count < sizeof whole - 1; count++) {
    assert_true(burn_image_decode(whole, count, 3, &image) != BURN_OK);
  }
  assert_pnm_refused("P6 x 1 255 abcdef", "image: PGM or PPM, byte 3: width, height and largest value expected");
  assert_pnm_refused("P5 99999999999 1 255 a", "image: PGM or PPM, byte 10: width, height and largest value expected");
  assert_pnm_refused("P5 1 1 65535 ab",
                     "image: PGM or PPM, byte 12: samples of 16 bits are not read; make it 8 bits: convert -depth 8");
  assert_pnm_refused("P5 1 1 255x", "image: PGM or PPM, byte 11: white space before pixels expected");
  assert_pnm_refused("P6 2 1 255 abcde", "image: PGM or PPM, byte 11: the file ends within the pixels");
}

static void resize_check(const BurnImageBox *box, uint32_t width, uint32_t height, const uint8_t *pixels,
                         int tolerance) {
  BurnImage image, out;
  check_status(burn_image_decode(png_rgb, sizeof png_rgb, 3, &image));
  check_status(burn_image_resize(&image, box, width, height, &out));
  assert_in_range(furthest(out.pixels, pixels, 3 * (size_t)width * height), 0, tolerance);
  burn_image_release(&out);
  burn_image_release(&image);
}

static void resizing_is_that_of_pillow(void **state) {
  (void)state;
  resize_check(NULL, 3, 2, resized_smaller, 0);
  resize_check(NULL, 10, 9, resized_larger, 0);
  resize_check(NULL, 12, 3, resized_mixed, 1); /* Pillow 13 takes the other axis first here */
  resize_check(&(BurnImageBox){1, 1, 5, 4}, 3, 3, resized_part, 0);
  resize_check(NULL, 7, 5, png_rgb_pixels, 0);
}

static void what_is_written_is_read(void **state) {
  (void)state;
  BurnImage image, again;
  for (uint32_t channels = 1; channels <= 3; channels += 2) {
    check_status(burn_image_decode(jpeg_rgb, sizeof jpeg_rgb, channels, &image));
    check_status(burn_image_write_png("image_test.png", &image));
    check_status(burn_image_read("image_test.png", 0, &again));
    assert_int_equal(again.channels, channels);
    assert_memory_equal(again.pixels, image.pixels, 24 * 16 * channels);
    burn_image_release(&again);
    check_status(burn_image_write_jpeg("image_test.jpg", &image, 95));
    check_status(burn_image_read("image_test.jpg", 0, &again));
    assert_int_equal(again.channels, channels);
    assert_in_range(furthest(again.pixels, image.pixels, 24 * 16 * channels), 0, 12);
    burn_image_release(&again);
    burn_image_release(&image);
  }
  check_status(burn_image_init(&image, 2, 2, 1));
  assert_string_equal(burn_status_message(burn_image_write_jpeg("image_test.jpg", &image, 0)),
                      "image: image_test.jpg: quality 0, 1 to 100 expected");
  burn_image_release(&image);
  remove("image_test.png");
  remove("image_test.jpg");
}

static void no_path_and_no_picture_are_told(void **state) {
  (void)state;
  BurnImage image = {NULL, 0, 0, 0};
  assert_string_equal(burn_status_message(burn_image_read(NULL, 3, &image)), "image: no path");
  assert_string_equal(burn_status_message(burn_image_write_png(NULL, &image)), "image: no path");
  assert_string_equal(burn_status_message(burn_image_write_png("a.png", NULL)), "image: a.png: no image");
  assert_string_equal(burn_status_message(burn_image_write_jpeg("a.jpg", &image, 90)), "image: a.jpg: no image");
  burn_image_release(NULL);
}

/* Cut or damaged anywhere a file is refused, or still a picture of that size. */
static void damage_check(const unsigned char *bytes, size_t count, uint32_t width) {
  unsigned char *copy = malloc(count);
  for (size_t i = 0; i < count; i++) {
    BurnImage image;
    /* All pixels of a PNG have come before its last chunk, of 12 bytes. */
    const bool whole = count == sizeof png_rgb && i >= count - 12;
    assert_true((burn_image_decode(bytes, i, 3, &image) == BURN_OK) == whole);
    burn_image_release(&image);
    memcpy(copy, bytes, count);
    copy[i] ^= 0x10;
    const BurnStatus status = burn_image_decode(copy, count, 3, &image);
    assert_true((status == BURN_OK) == (image.pixels != NULL));
    if (status == BURN_OK && count == sizeof png_rgb) assert_int_equal(image.width, width);
    burn_image_release(&image);
  }
  free(copy);
}

static void damaged_files_are_refused(void **state) {
  (void)state;
  damage_check(png_rgb, sizeof png_rgb, 7);
  damage_check(jpeg_rgb, sizeof jpeg_rgb, 24);
  damage_check(jpeg_progressive, sizeof jpeg_progressive, 24);
  BurnImage image;
  BurnStatus status = burn_image_decode(jpeg_cmyk, sizeof jpeg_cmyk, 3, &image);
  assert_non_null(strstr(burn_status_message(status), "CMYK"));
  status = burn_image_decode((const uint8_t *)"GIF89a..", 8, 3, &image);
  assert_string_equal(burn_status_message(status), "image: neither a PNG, a JPEG nor a PGM or PPM, of 8 bytes");
  assert_true(burn_image_init(&image, 1 << 16, 1 << 16, 3) != BURN_OK);
}

/* -- folders ---------------------------------------------------------------------------------- */

static const char root[] = "image_test_folder";

static void file_write(const char *name, const void *bytes, size_t count) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", root, name);
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, count, file), count);
  assert_int_equal(fclose(file), 0);
}

static int folder_make(void **state) {
  (void)state;
  static const char *const folders[] = {"", "/dog", "/cat", "/cat/more", "/.hidden", "/ant"};
  (void)system("rm -rf image_test_folder");
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
    char path[256];
    snprintf(path, sizeof path, "%s%s", root, folders[i]);
    if (mkdir(path, 0777) != 0) return -1;
  }
  file_write("dog/b.PNG", png_rgb, sizeof png_rgb);
  file_write("dog/a.jpeg", jpeg_rgb, sizeof jpeg_rgb);
  file_write("cat/z.png", png_grey, sizeof png_grey);
  file_write("cat/more/1.jpg", jpeg_progressive, sizeof jpeg_progressive);
  file_write("cat/notes.txt", "no picture", 10);
  file_write(".hidden/1.png", png_rgb, sizeof png_rgb);
  file_write("1.png", png_rgb, sizeof png_rgb);
  return 0;
}

static int folder_remove(void **state) {
  (void)state;
  return system("rm -rf image_test_folder") == 0 ? 0 : -1;
}

static void classes_and_files_are_in_order(void **state) {
  (void)state;
  static const char *const extensions[] = {".png", ".jpg", ".jpeg", NULL};
  static const char *const paths[] = {"image_test_folder/cat/more/1.jpg", "image_test_folder/cat/z.png",
                                      "image_test_folder/dog/a.jpeg", "image_test_folder/dog/b.PNG"};
  static const int64_t labels[] = {1, 1, 2, 2};
  BurnClassFiles files;
  check_status(burn_class_files_read(root, extensions, &files));
  assert_true(files.class_count == 3 && files.count == 4);
  assert_string_equal(files.classes[0], "ant");
  assert_string_equal(files.classes[2], "dog");
  for (size_t i = 0; i < 4; i++) {
    assert_string_equal(files.paths[i], paths[i]);
    assert_int_equal(files.labels[i], labels[i]);
  }
  burn_class_files_release(&files);
  assert_string_equal(burn_status_message(burn_class_files_read("image_test_none", extensions, &files)),
                      "class_files: no folder image_test_none");
  assert_non_null(strstr(burn_status_message(burn_class_files_read("image_test_folder/dog", extensions, &files)),
                         "has no subfolders, which would be the classes"));
  static const char *const others[] = {".gif", ".bmp", ".tif", NULL};
  assert_non_null(strstr(burn_status_message(burn_class_files_read(root, others, &files)),
                         "classes, but no file that ends with .gif, .bmp or .tif"));
}

static void pictures_are_items(void **state) {
  (void)state;
  BurnStatus status = BURN_OK;
  const BurnImageConfig config = {.height = 5, .width = 7, .mean = {0.5f, 0.25f, 0}, .deviation = {0.5f, 0, 2}};
  BurnDataset *dataset = burn_dataset_image_folder(root, &config, &status);
  check_status(status);
  assert_int_equal(burn_dataset_count(dataset), 4);
  float item[3][5 * 7];
  int64_t label = 0;
  check_status(burn_dataset_get(dataset, 3, (void *const[]){item, &label}));
  assert_int_equal(label, 2);
  for (size_t i = 0; i < 35; i++) { /* (pixel / 255 - mean) / deviation, of b.PNG as it is */
    assert_true(item[0][i] == ((float)png_rgb_pixels[3 * i] / 255.0f - 0.5f) / 0.5f);
    assert_true(item[1][i] == ((float)png_rgb_pixels[3 * i + 1] / 255.0f - 0.25f));
    assert_true(item[2][i] == (float)png_rgb_pixels[3 * i + 2] / 255.0f / 2.0f);
  }
  burn_dataset_drop(dataset);
}

/* What burn_image_read reads, a folder may have: grey and colours of Netpbm too. */
static void pnm_files_are_items(void **state) {
  (void)state;
  BurnStatus status = BURN_OK;
  const BurnImageConfig config = {.height = 1, .width = 3, .bytes = true};
  file_write("ant/grey.PGM", "P5 3 1 255\n\x00\x33\xff", 14);
  file_write("ant/red.ppm", "P6 3 1 255\n\xff\x00\x00\xff\x00\x00\xff\x00\x00", 20);
  BurnDataset *dataset = burn_dataset_image_folder(root, &config, &status);
  check_status(status);
  uint8_t item[3][3];
  int64_t label = -1;
  assert_int_equal(burn_dataset_count(dataset), 6);
  check_status(burn_dataset_get(dataset, 0, (void *const[]){item, &label}));
  assert_int_equal(label, 0);
  assert_memory_equal(item[2], ((const uint8_t[]){0, 51, 255}), 3);
  check_status(burn_dataset_get(dataset, 1, (void *const[]){item, &label}));
  assert_memory_equal(item[0], ((const uint8_t[]){255, 255, 255}), 3);
  assert_memory_equal(item[1], ((const uint8_t[]){0, 0, 0}), 3);
  burn_dataset_drop(dataset);
}

/* The middle 2 x 2 of 7 x 5 resized to a shorter side of 5, which is the picture itself: columns 2 and 3 (of 7 - 2,
 * half is 2), rows 1 and 2. */
static void the_middle_is_cut_out(void **state) {
  (void)state;
  BurnImage image;
  uint8_t item[3][4];
  const BurnImageConfig config = {
      .height = 2, .width = 2, .crop = BURN_IMAGE_CROP_CENTER, .shorter_side = 5, .bytes = true};
  check_status(burn_image_decode(png_rgb, sizeof png_rgb, 3, &image));
  check_status(burn_image_item(&image, &config, 1, 0, item));
  for (size_t i = 0; i < 4; i++) {
    const size_t at = (1 + i / 2) * 7 + 2 + i % 2;
    for (size_t channel = 0; channel < 3; channel++)
      assert_int_equal(item[channel][i], png_rgb_pixels[3 * at + channel]);
  }
  burn_image_release(&image);
}

static void random_items_depend_on_seed_epoch_and_index_only(void **state) {
  (void)state;
  BurnImage image;
  check_status(burn_image_decode(jpeg_rgb, sizeof jpeg_rgb, 3, &image));
  for (int crop = BURN_IMAGE_CROP_RANDOM; crop <= BURN_IMAGE_CROP_RANDOM_RESIZED; crop++) {
    uint8_t one[3 * 64], two[3 * 64];
    size_t differ = 0;
    const BurnImageConfig config = {
        .height = 8, .width = 8, .crop = (BurnImageCrop)crop, .flip = 0.5, .bytes = true, .seed = 7};
    BurnImageConfig other = config;
    other.seed = 8;
    for (size_t index = 0; index < 20; index++) {
      check_status(burn_image_item(&image, &config, 1, index, one));
      check_status(burn_image_item(&image, &config, 1, index, two));
      assert_memory_equal(one, two, sizeof one);
      check_status(burn_image_item(&image, &config, 2, index, two));
      differ += memcmp(one, two, sizeof one) != 0;
      check_status(burn_image_item(&image, &other, 1, index, two));
      differ += memcmp(one, two, sizeof one) != 0;
    }
    assert_in_range(differ, 30, 40);
  }
  burn_image_release(&image);
}

/* Of 1000 items about half are turned; turned ones mirror the others. */
static void as_many_are_turned_as_wanted(void **state) {
  (void)state;
  BurnImage image;
  size_t turned = 0;
  const BurnImageConfig config = {.height = 5, .width = 7, .flip = 0.5, .bytes = true};
  check_status(burn_image_decode(png_rgb, sizeof png_rgb, 3, &image));
  for (size_t index = 0; index < 1000; index++) {
    uint8_t item[3][35];
    check_status(burn_image_item(&image, &config, 1, index, item));
    const bool is_turned = item[0][0] != png_rgb_pixels[0];
    assert_int_equal(item[0][0], png_rgb_pixels[is_turned ? 3 * 6 : 0]);
    turned += is_turned;
  }
  assert_in_range(turned, 430, 570); /* 4.4 standard deviations of 15.8 */
  burn_image_release(&image);
}

static void bad_files_are_told_or_left_out(void **state) {
  (void)state;
  size_t skipped = 0;
  BurnStatus status = BURN_OK;
  BurnImageConfig config = {.height = 5, .width = 7};
  file_write("ant/bad.png", "not a picture", 13);
  assert_null(burn_dataset_image_folder(root, &config, &status));
  assert_string_equal(burn_status_message(status),
                      "images: image_test_folder/ant/bad.png: neither a PNG, a JPEG nor a PGM or PPM");
  config.read = (BurnReadConfig){true, &skipped};
  status = BURN_OK;
  BurnDataset *dataset = burn_dataset_image_folder(root, &config, &status);
  check_status(status);
  assert_true(skipped == 1 && burn_dataset_count(dataset) == 4);
  burn_dataset_drop(dataset);
  file_write("ant/bad.png", png_rgb, sizeof png_rgb - 20);
  dataset = burn_dataset_image_folder(root, &config, &status);
  check_status(status);
  float item[3 * 35];
  int64_t label;
  status = burn_dataset_get(dataset, 0, (void *const[]){item, &label});
  assert_non_null(strstr(burn_status_message(status), "images: image_test_folder/ant/bad.png: image: damaged PNG: "));
  burn_dataset_drop(dataset);
}

static void bad_configs_are_refused(void **state) {
  (void)state;
  const BurnImageConfig configs[] = {{.height = 0, .width = 1},
                                     {.height = 1, .width = 1, .channels = 2},
                                     {.height = 9, .width = 1, .shorter_side = 8},
                                     {.height = 1, .width = 1, .flip = 1.5}};
  for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
    BurnStatus status = BURN_OK;
    assert_null(burn_dataset_image_folder(root, &configs[i], &status));
    assert_int_equal(burn_status_code(status), BURN_STATUS_INVALID_ARGUMENT);
  }
}

static void expect_null(BurnStatus status, const char *said) {
  assert_int_equal(burn_status_code(status), BURN_STATUS_INVALID_ARGUMENT);
  assert_string_equal(burn_status_message(status), said);
}

static void what_is_null_is_told(void **state) {
  (void)state;
  char path[16];
  const char *const no_path[] = {NULL};
  const BurnImageConfig config = {.height = 1, .width = 1};
  BurnStatus status = BURN_OK;
  assert_null(burn_dataset_images(no_path, NULL, 1, NULL, &status));
  assert_string_equal(burn_status_message(status), "images: the config is NULL");
  status = BURN_OK;
  assert_null(burn_dataset_image_folder(root, NULL, &status));
  assert_string_equal(burn_status_message(status), "images: the config is NULL");
  status = BURN_OK;
  assert_null(burn_dataset_images(NULL, NULL, 1, &config, &status));
  assert_string_equal(burn_status_message(status), "images: the paths are NULL");
  status = BURN_OK;
  assert_null(burn_dataset_images(no_path, NULL, 1, &config, &status));
  assert_string_equal(burn_status_message(status), "images: no path");
  burn_image_release(NULL);
  BurnImage image;
  assert_string_equal(burn_status_message(burn_image_decode(NULL, 9, 3, &image)),
                      "image: neither a PNG, a JPEG nor a PGM or PPM, of 0 bytes");
  expect_null(burn_image_init(NULL, 1, 1, 1), "image_init: image is NULL: a BurnImage expected");
  expect_null(burn_image_read("a.png", 1, NULL), "image_read: image is NULL: a BurnImage expected");
  expect_null(burn_image_decode(png_rgb, 9, 3, NULL), "image_decode: image is NULL: a BurnImage expected");
  expect_null(burn_image_resize(NULL, NULL, 1, 1, &image), "image_resize: image is NULL: a BurnImage expected");
  expect_null(burn_image_resize(&image, NULL, 1, 1, NULL), "image_resize: out is NULL: a BurnImage expected");
  expect_null(burn_image_item(NULL, &config, 0, 0, &image), "image_item: image is NULL: a BurnImage expected");
  expect_null(burn_image_item(&image, NULL, 0, 0, &image), "image_item: config is NULL: a BurnImageConfig expected");
  expect_null(burn_image_item(&image, &config, 0, 0, NULL), "image_item: out is NULL: room for the item expected");
  expect_null(burn_file_md5(root, NULL), "file_md5: text is NULL: room for 33 characters expected");
  expect_null(burn_datasets_folder("mnist", NULL, 9), "datasets_folder: path is NULL: room for the path expected");
  expect_null(burn_datasets_folder(NULL, path, sizeof path),
              "datasets_folder: name is NULL: that of a data set expected");
}

static void texts_of_folders_are_items(void **state) {
  (void)state;
  BurnStatus status = BURN_OK;
  file_write("cat/notes.txt", "\xef\xbb\xbfm\xc3\xa9ow", 8);
  file_write("dog/bark.txt",
             "w\xf6"
             "f",
             3);
  assert_null(burn_dataset_text_folder(root, &(BurnTextConfig){.bytes = 8}, &status));
  assert_string_equal(burn_status_message(status), "text_folder: image_test_folder/dog/bark.txt: no text in UTF-8");
  size_t skipped = 0;
  status = BURN_OK;
  BurnDataset *dataset =
      burn_dataset_text_folder(root, &(BurnTextConfig){.bytes = 8, .read = {true, &skipped}}, &status);
  check_status(status);
  char text[9] = "";
  int64_t length = 0, label = 0;
  assert_true(skipped == 1 && burn_dataset_count(dataset) == 1);
  check_status(burn_dataset_get(dataset, 0, (void *const[]){text, &length, &label}));
  assert_string_equal(text, "m\xc3\xa9ow");
  assert_true(length == 5 && label == 1);
  burn_dataset_drop(dataset);
}

int main(void) {
  if (!burn_datasets_has(BURN_DATASETS_PNG) || !burn_datasets_has(BURN_DATASETS_JPEG)) {
    printf("skipped: this build has no libpng or no libjpeg\n");
    return 0;
  }
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_make, folder_remove)
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(png_is_read_as_pillow_reads_it),
      cmocka_unit_test(transparency_is_laid_on_black),
      cmocka_unit_test(jpeg_is_read_as_pillow_reads_it),
      cmocka_unit_test(pnm_is_read_as_netpbm_defines_it),
      cmocka_unit_test(damaged_pnm_is_refused),
      cmocka_unit_test(resizing_is_that_of_pillow),
      cmocka_unit_test(what_is_written_is_read),
      cmocka_unit_test(damaged_files_are_refused),
      cmocka_unit_test(no_path_and_no_picture_are_told),
      IN_FOLDER(what_is_null_is_told),
      IN_FOLDER(classes_and_files_are_in_order),
      IN_FOLDER(pictures_are_items),
      IN_FOLDER(pnm_files_are_items),
      cmocka_unit_test(the_middle_is_cut_out),
      cmocka_unit_test(random_items_depend_on_seed_epoch_and_index_only),
      cmocka_unit_test(as_many_are_turned_as_wanted),
      IN_FOLDER(bad_files_are_told_or_left_out),
      IN_FOLDER(bad_configs_are_refused),
      IN_FOLDER(texts_of_folders_are_items),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
