/* pictures.h - digits as a file and as text. */
#ifndef WGAN_PICTURES_H
#define WGAN_PICTURES_H

#include <burn/burn.h>

/* Rows of a grid of digits, and digits of a row. */
enum { GRID = 10 };

/* GRID * GRID images of PIXELS as one image in the format PGM. */
BurnStatus save_grid(const char *path, const float *images);

/* The first four beside each other. */
void print_digits(const float *images);

#endif
