/* lines.h - a text file, plain or gzipped, line by line, for the readers of this folder. Every byte is taken as
 * hostile: memory is that of the longest line, which has a limit. */
#ifndef BURN_TRAIN_LINES_H
#define BURN_TRAIN_LINES_H

#include "dataset_private.h"
#include "source_file.h"

/* An open file. The first two are filled in before burn__lines_open; the rest starts as zeros. */
typedef struct BurnLines {
  const char *reader; /* whose messages they are: "csv" */
  const char *path;
  BurnSourceFile *source; /* plain or gzipped */
  char *buffer;
  size_t next, there; /* bytes of the buffer that are not used up */
  char *line;         /* ends with a zero byte, and has no line feed at its end */
  size_t length, room;
  size_t number; /* of the line, from 1 */
} BurnLines;

/* Opens the file; what is open also after a failure is closed by burn__lines_close. */
BURN_USE_RESULT BurnStatus burn__lines_open(BurnLines *lines);
/* The next line; *any is false when there is none. The last one need not end with a line feed. */
BURN_USE_RESULT BurnStatus burn__lines_next(BurnLines *lines, bool *any);
/* A line feed and the next line after what the line has already; *any is false when there is none. */
BURN_USE_RESULT BurnStatus burn__lines_append(BurnLines *lines, bool *any);
/* Closes what is open. */
void burn__lines_close(BurnLines *lines);

/* True for a line of spaces, tabs and carriage returns. */
bool burn__line_is_blank(const BurnLines *lines);

/* What is done about a line that is refused: with `skips` it is counted as left out, else it is CORRUPT_DATA; told with
 * reader, file and number. */
BURN_USE_RESULT BurnStatus burn__line_refuse(const BurnLines *lines, size_t number, const char *reason, bool skips,
                                             BurnSkips *skipped);

#endif
