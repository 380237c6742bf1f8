/* digit_pictures.c - see digit_pictures.h. */
#include "digit_pictures.h"

#include "../common/program.h"

#include <burn/datasets.h>
#include <burn/train.h>

#include <stdio.h>

enum { SIDE = 28 };

static BurnStatus write_digit(const char *folder, BurnDataset *digits,
                              size_t index) {
  uint8_t pixels[SIDE * SIDE], label = 0;
  char name[32];
  BurnStatus status =
      burn_dataset_get(digits, index, (void *const[]){pixels, &label});
  snprintf(name, sizeof name, "%u", (unsigned)label);
  const ProgramPath class_folder = program_path(folder, name);
  if (status == BURN_OK) status = burn_folder_make(class_folder.text);
  if (status != BURN_OK) return status;
  snprintf(name, sizeof name, "%zu.png", index);
  const BurnImage image = {pixels, SIDE, SIDE, 1};
  return burn_image_write_png(program_path(class_folder.text, name).text,
                              &image);
}

BurnStatus digit_pictures_write(const char *folder, size_t count, size_t seed) {
  const BurnDigitsConfig config = {count, seed};
  BurnStatus status = BURN_OK;
  BurnDataset *digits = burn_dataset_digits(&config, &status);
  for (size_t i = 0; i < count && status == BURN_OK; i++) {
    status = write_digit(folder, digits, i);
  }
  burn_dataset_drop(digits);
  return status;
}
