/* status_testing.h - the check that every test makes of statuses. A macro, so that a failure names the line. */
#ifndef BURN_TEST_STATUS_TESTING_H
#define BURN_TEST_STATUS_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/error.h>

/* Fails the test with the message of a status that is not BURN_OK. */
#define check_status(status) assert_string_equal(burn_status_message(status), "ok")

#endif
