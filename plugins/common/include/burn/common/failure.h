/* failure.h - failures with a message in the manner of printf, for plugins. C99 and C++11, nothing to link. */
#ifndef BURN_COMMON_FAILURE_H
#define BURN_COMMON_FAILURE_H

#include <burn/plugin/host.h>

#include <stdarg.h>
#include <stdio.h>

/* Of a message with its end; what is longer is cut. */
#define BURN_COMMON_MESSAGE_BYTES 640

/* A failure "prefix: message", or "message" where prefix is NULL: the name of the plugin or of the op. `code` is one of
 * BURN_STATUS_*, `file` is static. Returns the status for the caller to return. */
static inline BurnStatus burn_common_fail_list(const BurnHost *host, uint32_t code, const char *file, int32_t line,
                                               const char *prefix, const char *format, va_list arguments) {
  char message[BURN_COMMON_MESSAGE_BYTES];
  int used = prefix ? snprintf(message, sizeof message, "%s: ", prefix) : 0;
  if (used < 0 || (size_t)used >= sizeof message) used = 0;
  (void)vsnprintf(message + used, sizeof message - (size_t)used, format, arguments);
  return (host->fail)(code, file, line, message); /* cmocka has a macro fail */
}

/* The same with the arguments of the format. Use the macro below. */
#if defined(__MINGW32__) /* C's own formats */
__attribute__((format(gnu_printf, 6, 7), cold, noinline, unused))
#elif defined(__GNUC__)
__attribute__((format(printf, 6, 7), cold, noinline, unused))
#endif
static BurnStatus
burn_common_fail(const BurnHost *host, uint32_t code, const char *file, int32_t line, const char *prefix,
                 const char *format, ...) {
  va_list arguments;
  BurnStatus status;
  va_start(arguments, format);
  status = burn_common_fail_list(host, code, file, line, prefix, format, arguments);
  va_end(arguments);
  return status;
}

/* return BURN_COMMON_FAIL(host, NOT_FOUND, "cuda", "there is no device %u, only 0 to %u", index, last); */
#define BURN_COMMON_FAIL(host, CODE, ...) \
  burn_common_fail(host, BURN_STATUS_##CODE, __FILE__, (int32_t)__LINE__, __VA_ARGS__)

#endif
