/* pictures.c - see pictures.h. */
#include "pictures.h"

#include "wgan_model.h"

#include <burn/file.h>

#include <stdio.h>

BurnStatus save_grid(const char *path, const float *images) {
  enum { WIDTH = GRID * SIDE };
  static uint8_t file[32 + WIDTH * WIDTH];
  const int head = snprintf((char *)file, 32, "P5\n%d %d\n255\n", WIDTH, WIDTH);
  for (size_t y = 0; y < WIDTH; y++) {
    for (size_t x = 0; x < WIDTH; x++) {
      const size_t image = y / SIDE * GRID + x / SIDE;
      const size_t pixel = y % SIDE * SIDE + x % SIDE;
      file[(size_t)head + y * WIDTH + x] =
          (uint8_t)(255 * images[image * PIXELS + pixel] + 0.5f);
    }
  }
  return burn_file_write(path, file, (size_t)head + WIDTH * WIDTH);
}

/* Characters are twice as high as wide. */
void print_digits(const float *images) {
  static const char shades[] = " .:-=+*#%@";
  for (size_t y = 2; y < SIDE - 2; y += 2) {
    for (size_t x = 0; x < (size_t)4 * SIDE; x++) {
      const size_t pixel = x / SIDE * PIXELS + y * SIDE + x % SIDE;
      putchar(shades[(int)(images[pixel] * 9.999f)]);
    }
    putchar('\n');
  }
}
