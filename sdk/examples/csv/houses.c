/* houses.c - see houses.h. */
#include "houses.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* 0 .. 1, of Knuth's generator of 64 bits (MMIX). */
static double next_share(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (double)(*state >> 11) / 9007199254740992.0;
}

/* What a flat costs without noise: the price of a square metre falls with the
 * distance, and with the age up to about 50 years; older ones have charm. */
static double price_of(double area, double rooms, double age, double distance,
                       double floor, double garden) {
  const double wear = 1 - 0.35 * exp(-pow((age - 50) / 25, 2));
  const double metre = (1.2 + 4.8 * exp(-distance / 6)) * wear;
  const double stairs = floor > 3 ? 0.95 : 1;
  return area * metre * stairs + 6 * rooms + 30 * garden;
}

static int write_house(FILE *file, uint64_t *state) {
  const double area = floor(25 + 155 * next_share(state));
  const double rooms = floor(1 + area / 35 + 1.5 * next_share(state));
  const double age = floor(120 * next_share(state));
  const double distance = floor(200 * next_share(state)) / 10;
  const double level = floor(7 * next_share(state));
  const double garden = level < 1 && next_share(state) < 0.6 ? 1 : 0;
  const double noise = 1 + 0.1 * (next_share(state) - 0.5);
  return fprintf(file, "%g,%g,%g,%g,%g,%g,%.1f\n", area, rooms, age, distance,
                 level, garden,
                 noise * price_of(area, rooms, age, distance, level, garden));
}

BurnStatus houses_write(const char *path, size_t count, size_t seed) {
  uint64_t state = seed;
  errno = 0;
  FILE *file = fopen(path, "wb");
  int written = -1;
  if (file) {
    written = fprintf(file, HOUSE_FIRST
                      ",rooms,age,distance,floor,garden," HOUSE_TARGET "\n");
  }
  for (size_t i = 0; i < count && written > 0; i++) {
    written = write_house(file, &state);
  }
  if (file && fclose(file) != 0) written = -1;
  if (written > 0) return BURN_OK;
  return burn_status_make(BURN_STATUS_IO, "%s: cannot write: %s", path,
                          strerror(errno));
}
