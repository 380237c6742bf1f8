/* digit_pictures.h - a folder of pictures, where none is given. */
#ifndef IMAGE_FOLDER_DIGIT_PICTURES_H
#define IMAGE_FOLDER_DIGIT_PICTURES_H

#include <burn/error.h>

#include <stddef.h>

/* Writes `count` generated digits as PNG files of 28 x 28 pixels, a folder
 * for each digit: folder/7/12.png. The same seed gives the same pictures. */
BurnStatus digit_pictures_write(const char *folder, size_t count, size_t seed);

#endif
