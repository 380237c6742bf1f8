/* status.c - every failure of the framework is made here.
 *
 * A status is a code and the serial number of a message. The messages live in a ring of fixed size, so nobody owns
 * them, making one never allocates, and an old status degrades to the text of its code. */
#include "guard.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE_COUNT = 1024, MESSAGE_BYTES = 768 };

typedef struct Message {
  BurnStatus status; /* whose text it is */
  char text[MESSAGE_BYTES];
} Message;

static Message messages[MESSAGE_COUNT];
static uint64_t last_serial;
pthread_mutex_t burn__message_mutex = PTHREAD_MUTEX_INITIALIZER;
static BurnErrorHook hook;
static void *hook_context;

static const char *code_text(uint32_t code) {
  switch (code) {
    case 0:
      return "ok";
#define BURN_STATUS(number, NAME, text) \
  case number:                          \
    return text;
#include <burn/plugin/status.def>
#undef BURN_STATUS
    default:
      return "unknown failure";
  }
}

/* A number that is not a code, such as an error number of a driver, must not reach the bits of the serial. */
static uint32_t code_of(uint32_t code) { return code > 0 && code <= 0xffu ? code : BURN_STATUS_INTERNAL; }

BurnStatus burn__status_again(uint32_t code, const char *text) {
  pthread_mutex_lock(&burn__message_mutex);
  const uint64_t serial = ++last_serial;
  const BurnStatus status = (serial << 8) | code_of(code);
  Message *message = &messages[serial % MESSAGE_COUNT];
  message->status = status;
  snprintf(message->text, sizeof message->text, "%s", text);
  pthread_mutex_unlock(&burn__message_mutex);
  return status;
}

/* The one place where a failure comes into being: set a breakpoint here. */
static BurnStatus make(uint32_t code, const char *file, int line, const char *format, va_list arguments) {
  char text[MESSAGE_BYTES];
  vsnprintf(text, sizeof text, format, arguments);
  burn__backtrace_append(text, sizeof text);
  const BurnStatus status = burn__status_again(code, text);
  pthread_mutex_lock(&burn__message_mutex);
  const BurnErrorHook current_hook = hook;
  void *const context = hook_context;
  pthread_mutex_unlock(&burn__message_mutex);
  if (current_hook) current_hook(context, status, file, line, text);
  return status;
}

BurnStatus burn__status_make(uint32_t code, const char *file, int line, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const BurnStatus status = make(code, file, line, format, arguments);
  va_end(arguments);
  return status;
}

BurnStatus burn_status_make_at(uint32_t code, const char *file, int line, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const BurnStatus status = make(code, file, line, format, arguments);
  va_end(arguments);
  return status;
}

#undef burn_status_make
BurnStatus burn_status_make(uint32_t code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const BurnStatus status = make(code, "", 0, format, arguments);
  va_end(arguments);
  return status;
}

BurnStatus burn_status_annotate(BurnStatus status, const char *format, ...) {
  if (status == BURN_OK) return BURN_OK;
  char prefix[MESSAGE_BYTES], text[MESSAGE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(prefix, sizeof prefix, format, arguments);
  va_end(arguments);
  const int used = snprintf(text, sizeof text, "%.*s: ", MESSAGE_BYTES - 8, prefix);
  if (used > 0 && (size_t)used < sizeof text)
    snprintf(text + used, sizeof text - (size_t)used, "%s", burn_status_message(status));
  return burn__status_again(burn_status_code(status), text);
}

const char *burn_status_text(BurnStatus status) { return code_text(burn_status_code(status)); }

static Message *message_of(BurnStatus status) { return &messages[(status >> 8) % MESSAGE_COUNT]; }

/* Code and serial have to be those of the message: a driver's error number that a plugin returned as it was has some
 * serial, too. */
bool burn__status_has_message(BurnStatus status) {
  pthread_mutex_lock(&burn__message_mutex);
  const bool kept = status != BURN_OK && message_of(status)->status == status;
  pthread_mutex_unlock(&burn__message_mutex);
  return kept;
}

const char *burn_status_message(BurnStatus status) {
  if (status > 0xffu && (status & 0xffu) == 0)
    return "a plugin returned a status with a serial number but without a code: it was not made by the host's fail";
  return burn__status_has_message(status) ? message_of(status)->text : burn_status_text(status);
}

void burn_error_hook(BurnErrorHook new_hook, void *context) {
  pthread_mutex_lock(&burn__message_mutex);
  hook = new_hook;
  hook_context = context;
  pthread_mutex_unlock(&burn__message_mutex);
}

const char *burn__shape_text(BurnShapeText *buffer, uint32_t rank, const int64_t *shape) {
  size_t used = 0;
  buffer->text[used++] = '[';
  for (uint32_t i = 0; i < rank && i < BURN_MAX_RANK; i++) {
    const int written =
        snprintf(buffer->text + used, sizeof buffer->text - used - 2, i ? ",%lld" : "%lld", (long long)shape[i]);
    if (written > 0) used += (size_t)written;
  }
  buffer->text[used++] = ']';
  buffer->text[used] = '\0';
  return buffer->text;
}

BurnShapeText burn_shape_text(BurnShape shape) {
  BurnShapeText buffer;
  (void)burn__shape_text(&buffer, shape.rank, shape.dims);
  return buffer;
}

char *burn__text_copy(const char *text) {
  if (!text) return NULL;
  const size_t bytes = strlen(text) + 1;
  char *copy = malloc(bytes);
  if (copy) memcpy(copy, text, bytes);
  return copy;
}

char *burn__text_format(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  if (length < 0) return NULL;
  char *text = malloc((size_t)length + 1);
  if (!text) return NULL;
  va_start(arguments, format);
  vsnprintf(text, (size_t)length + 1, format, arguments);
  va_end(arguments);
  return text;
}
