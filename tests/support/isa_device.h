/* isa_device.h - devices of the CPU backend for one instruction set, which the processor may lack. */
#ifndef BURN_TEST_ISA_DEVICE_H
#define BURN_TEST_ISA_DEVICE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>

#include <stdio.h>

/* The device of a stack text. NULL, with a line "skipped: ..", where the processor lacks the instruction set; fails the
 * test for any other reason. */
static inline BurnDevice *isa_device_open(const char *text) {
  BurnDevice *device = burn_device_open(text);
  const BurnStatus status = burn_device_status(device);
  if (status == BURN_OK) return device;
  if (burn_status_code(status) != BURN_STATUS_FAILED_PRECONDITION) fail_msg("%s", burn_status_message(status));
  printf("skipped: this CPU has no %s: %s\n", text, burn_status_message(status));
  burn_device_close(device);
  return NULL;
}

#endif
