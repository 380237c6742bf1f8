/* emulated.h - whether the tests run on a processor that is emulated (tests/cross): slower by far, and the kernel knows
 * the programs as scripts. What a test compiles itself is not a script: BURN_TEST_EMULATOR, "" where there is none,
 * starts it. */
#ifndef BURN_TEST_EMULATED_H
#define BURN_TEST_EMULATED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#if defined(BURN_TEST_EMULATOR)
#define SKIP_EMULATED(reason)                                      \
  do {                                                             \
    printf("skipped under emulation: %s: %s\n", __func__, reason); \
    skip();                                                        \
  } while (0)
#else
#define BURN_TEST_EMULATOR ""
#define SKIP_EMULATED(reason) ((void)0)
#endif

#endif
