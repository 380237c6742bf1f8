/* houses.h - a table to learn from: flats of a town that does not exist. */
#ifndef CSV_HOUSES_H
#define CSV_HOUSES_H

#include <burn/error.h>

/* Names of the columns: so many features, the first one, and what they tell. */
enum { HOUSE_FEATURES = 6 };
#define HOUSE_FIRST "area"
#define HOUSE_TARGET "price"

/* Writes `count` flats as comma-separated values with a header: area in square
 * metres, rooms, age in years, distance from the centre in kilometres, floor,
 * garden (0 or 1), and a price in thousands, with noise of up to 5 %. The same
 * seed gives the same file. */
BurnStatus houses_write(const char *path, size_t count, size_t seed);

#endif
