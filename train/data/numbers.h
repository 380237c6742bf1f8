/* numbers.h - numbers and texts of files as elements of a column; train/sources has them, too. */
#ifndef BURN_TRAIN_NUMBERS_H
#define BURN_TRAIN_NUMBERS_H

#include <burn/train/dataset.h>

/* The number as an element at *out; false if it is none of the dtype. Doubles tell integers apart below 2^53. */
bool burn__number_put(BurnDType dtype, double value, void *out);
/* The same for a number written with a point, whatever the locale: an i64 is exact. true and false are 1 and 0. */
bool burn__number_text_put(BurnDType dtype, const char *text, void *out);
/* A text as a column u8 [room], with zeros after it; one that is longer is cut, not within a character of UTF-8. */
void burn__text_put(const char *text, size_t length, size_t room, uint8_t *out);

#endif
