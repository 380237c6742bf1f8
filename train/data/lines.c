/* lines.c - a text file, plain or gzipped, line by line. */
#include "lines.h"

#include <stdlib.h>
#include <string.h>

enum { BUFFER_BYTES = 1 << 16, MAX_LINE_BYTES = 1 << 26, WHERE_BYTES = 512 };

BurnStatus burn__lines_open(BurnLines *lines) {
  lines->buffer = malloc(BUFFER_BYTES);
  lines->source = calloc(1, sizeof *lines->source);
  if (lines->buffer == NULL || lines->source == NULL)
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%s: out of memory", lines->reader);
  lines->source->reader = lines->reader;
  lines->source->path = lines->path;
  return burn__source_open(lines->source);
}

void burn__lines_close(BurnLines *lines) {
  if (lines->source != NULL) burn__source_close(lines->source);
  free(lines->source);
  free(lines->buffer);
  free(lines->line);
  lines->source = NULL;
  lines->buffer = lines->line = NULL;
}

static BurnStatus line_add(BurnLines *lines, const char *bytes, size_t count) {
  if (count > MAX_LINE_BYTES - lines->length)
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "%s: %s: line %zu has more than %d bytes", lines->reader,
                            lines->path, lines->number, MAX_LINE_BYTES);
  if (lines->length + count + 1 > lines->room) {
    const size_t room = 2 * (lines->length + count + 1);
    char *grown = realloc(lines->line, room);
    if (grown == NULL)
      return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%s: %s: no memory for line %zu", lines->reader, lines->path,
                              lines->number);
    lines->line = grown;
    lines->room = room;
  }
  memcpy(lines->line + lines->length, bytes, count);
  lines->length += count;
  lines->line[lines->length] = '\0';
  return BURN_OK;
}

/* Fills the buffer once it is used up; *any is false at the end of the data. */
static BurnStatus buffer_refill(BurnLines *lines, bool *any) {
  BurnStatus status = BURN_OK;
  if (lines->next == lines->there) {
    lines->next = 0;
    status = burn__source_read(lines->source, lines->buffer, BUFFER_BYTES, &lines->there);
    if (status == BURN_OK && lines->there == 0) status = burn__source_end(lines->source);
  }
  *any = lines->there > 0;
  return status;
}

/* Adds all up to the next line feed, which is used up. */
static BurnStatus rest_add(BurnLines *lines, bool *any) {
  bool more = true;
  BurnStatus status = BURN_OK;
  lines->number++;
  for (*any = false; status == BURN_OK && more;) {
    status = buffer_refill(lines, &more);
    if (status != BURN_OK || !more) break;
    const char *begin = lines->buffer + lines->next;
    const char *end = memchr(begin, '\n', lines->there - lines->next);
    const size_t count = end != NULL ? (size_t)(end - begin) : lines->there - lines->next;
    *any = true;
    status = line_add(lines, begin, count);
    lines->next += count + (end != NULL);
    more = end == NULL;
  }
  return status;
}

BurnStatus burn__lines_next(BurnLines *lines, bool *any) {
  lines->length = 0;
  return rest_add(lines, any);
}

BurnStatus burn__lines_append(BurnLines *lines, bool *any) {
  const BurnStatus status = line_add(lines, "\n", 1);
  return status == BURN_OK ? rest_add(lines, any) : status;
}

bool burn__line_is_blank(const BurnLines *lines) { return strspn(lines->line, " \t\r") == lines->length; }

BurnStatus burn__line_refuse(const BurnLines *lines, size_t number, const char *reason, bool skips,
                             BurnSkips *skipped) {
  if (!skips)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "%s: %s: line %zu: %s", lines->reader, lines->path, number,
                            reason);
  char where[WHERE_BYTES];
  snprintf(where, sizeof where, "%s: %.150s: line %zu: %s", lines->reader, lines->path, number, reason);
  burn__skip(skipped, where);
  return BURN_OK;
}
