/* null_check.h - what a public function says of an argument that is NULL where it needs one (burn/error.h tells which
 * arguments are looked at). */
#ifndef BURN_NULL_CHECK_H
#define BURN_NULL_CHECK_H

#include <burn/error.h>

/* BURN_OK if there is an argument, else "wav_read: sound is NULL: a BurnWav expected", with the name of the function
 * around it. */
#define BURN_REQUIRED(argument, expected) BURN_REQUIRED_BY(__func__ + sizeof "burn_" - 1, argument, expected)

/* The same for a function that several public ones share, with the name that its messages begin with. */
#define BURN_REQUIRED_BY(function, argument, expected) \
  ((argument) != NULL ? BURN_OK                        \
                      : burn__missing(function, #argument " is NULL: " expected " expected", __FILE__, __LINE__))

/* null_check.c, which is private to each library. */
BurnStatus burn__missing(const char *function, const char *what, const char *file, int line);
#if defined(__clang_analyzer__) && !defined(BURN_VERSION) /* it cannot see that the function never gives BURN_OK */
#define burn__missing(function, what, file, line) ((BurnStatus)BURN_STATUS_INVALID_ARGUMENT)
#endif

#endif
