/* emulated_text.c - makes the few changes to a text that macros cannot: it finds the kernels, and gives dynamic shared
 * memory ("extern __shared__ T name[];") a place. Comments, strings and the lines of the preprocessor are left alone. */
#include "emulated_text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KERNELS = 64, NAME_BYTES = 64 };

typedef struct Kernel {
  char name[NAME_BYTES], bounds[NAME_BYTES];
} Kernel;

typedef struct Text {
  char *data;
  size_t used, room;
  int is_lost; /* no memory */
  const char *source, *at;
  Kernel kernels[MAX_KERNELS];
  int count;
} Text;

static void put(Text *text, const char *from, size_t bytes) {
  if (text->used + bytes + 1 > text->room) {
    const size_t room = 2 * (text->used + bytes) + 4096;
    char *data = realloc(text->data, room);
    if (!data) {
      text->is_lost = 1;
      return;
    }
    text->data = data;
    text->room = room;
  }
  memcpy(text->data + text->used, from, bytes);
  text->used += bytes;
  text->data[text->used] = '\0';
}

static void put_line(Text *text, const char *format, ...) {
  char line[6 * NAME_BYTES];
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (length > 0 && (size_t)length < sizeof line) put(text, line, (size_t)length);
}

/* -- what is copied as it is ------------------------------------------------------------------ */

static size_t skip_until(const char *at, const char *end) {
  const char *found = strstr(at, end);
  return found ? (size_t)(found - at) + strlen(end) : strlen(at);
}

static size_t skip_string(const char *at) {
  size_t i = 1;
  while (at[i] && at[i] != at[0]) i += at[i] == '\\' && at[i + 1] ? 2 : 1;
  return at[i] ? i + 1 : i;
}

/* A line of the preprocessor with those that continue it. */
static size_t skip_directive(const char *at) {
  size_t i = 0;
  while (at[i] && (at[i] != '\n' || (i > 0 && at[i - 1] == '\\'))) i++;
  return i;
}

static int is_first_of_line(const char *source, const char *at) {
  while (at > source && (at[-1] == ' ' || at[-1] == '\t')) at--;
  return at == source || at[-1] == '\n';
}

static int is_part_of_name(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* Bytes of a comment, a string or a directive at `at`; 0: none is here. */
static size_t skip(const Text *text, const char *at) {
  if (at[0] == '/' && at[1] == '/') return skip_until(at, "\n");
  if (at[0] == '/' && at[1] == '*') return 2 + skip_until(at + 2, "*/");
  if (at[0] == '"' || (at[0] == '\'' && (at == text->source || !is_part_of_name(at[-1])))) return skip_string(at);
  if (at[0] == '#' && is_first_of_line(text->source, at)) return skip_directive(at);
  return 0;
}

/* -- kernels ---------------------------------------------------------------------------------- */

static const char *skip_space(const char *at) {
  while (isspace((unsigned char)*at)) at++;
  return at;
}

/* After the parenthesis that closes the one at `at`; the first argument inside goes to `first`. */
static const char *skip_arguments(const char *at, char *first) {
  size_t depth = 0, used = 0;
  int is_first = 1;
  for (; *at; at++) {
    if (*at == ')' && --depth == 0) break;
    if (*at == ',' && depth == 1) is_first = 0;
    if (depth > 0 && is_first && used + 1 < NAME_BYTES) first[used++] = *at;
    if (*at == '(') depth++;
  }
  first[used] = '\0';
  return *at ? at + 1 : at;
}

/* `at` is after "__global__": the kernel's name is the last word before its parameters. */
static void read_kernel(const char *at, Kernel *kernel) {
  const char *word = at;
  size_t length = 0;
  (void)snprintf(kernel->bounds, sizeof kernel->bounds, "1024");
  for (;;) {
    at = skip_space(at);
    if (is_part_of_name(*at)) {
      word = at;
      while (is_part_of_name(*at)) at++;
      length = (size_t)(at - word);
    } else if (*at == '(' && length == 17 && strncmp(word, "__launch_bounds__", length) == 0) {
      at = skip_arguments(at, kernel->bounds);
    } else if (*at == '(' || *at == '\0') {
      break;
    } else {
      at++;
    }
  }
  (void)snprintf(kernel->name, sizeof kernel->name, "%.*s", (int)length, word);
}

static int line_of(const Text *text) {
  int line = 1;
  for (const char *at = text->source; at < text->at; at++) line += *at == '\n';
  return line;
}

/* A kernel counts only if the compiler gets here, so the preprocessor is told where its text stands. */
static void note_kernel(Text *text) {
  Kernel *kernel = &text->kernels[text->count++];
  read_kernel(text->at + strlen("__global__"), kernel);
  put_line(text, "\n#define BURN_EMULATED_HAS_%s (%s)\n#line %d\n", kernel->name, kernel->bounds, line_of(text));
}

/* "extern __shared__ float name[];" becomes a pointer to the place of the block's. */
static size_t place_shared(Text *text) {
  const char *at = skip_space(text->at + strlen("extern"));
  const char *end = strchr(at, ';'), *bracket = strchr(at, '[');
  if (strncmp(at, "__shared__", 10) != 0 || !end || !bracket || bracket > end) return 0;
  at = skip_space(at + 10);
  for (const char *word = "__align__"; strncmp(at, word, strlen(word)) == 0 || strncmp(at, "alignas", 7) == 0;) {
    char inside[NAME_BYTES];
    at = skip_space(skip_arguments(strchr(at, '('), inside));
  }
  while (bracket > at && isspace((unsigned char)bracket[-1])) bracket--;
  const char *name = bracket;
  while (name > at && is_part_of_name(name[-1])) name--;
  put_line(text, "%.*s *const %.*s = (%.*s *)burn_emulated_dynamic;", (int)(name - at), at, (int)(bracket - name), name,
           (int)(name - at), at);
  return (size_t)(end + 1 - text->at);
}

static int is_word(const Text *text, const char *word) {
  const size_t length = strlen(word);
  return strncmp(text->at, word, length) == 0 && !is_part_of_name(text->at[length]) &&
         (text->at == text->source || !is_part_of_name(text->at[-1]));
}

/* -- all of it -------------------------------------------------------------------------------- */

static void copy_next(Text *text) {
  size_t bytes = skip(text, text->at);
  if (bytes == 0 && is_word(text, "extern")) {
    const size_t placed = place_shared(text);
    text->at += placed;
    if (placed > 0) return;
  }
  if (bytes == 0 && is_word(text, "__global__") && text->count < MAX_KERNELS) note_kernel(text);
  if (bytes == 0) bytes = 1;
  put(text, text->at, bytes);
  text->at += bytes;
}

char *emulated_text(const char *source) {
  Text text = {.source = source, .at = source};
  put_line(&text, "namespace {\n#line 1 \"burn.cu\"\n");
  while (*text.at) copy_next(&text);
  put_line(&text, "\n}\n");
  for (int i = 0; i < text.count; i++) {
    const char *name = text.kernels[i].name;
    put_line(
        &text,
        "#ifdef BURN_EMULATED_HAS_%s\nEMULATED_KERNEL(%s, BURN_EMULATED_HAS_%s)\n#undef BURN_EMULATED_HAS_%s\n#endif\n",
        name, name, name, name);
  }
  if (!text.is_lost) return text.data;
  free(text.data);
  return NULL;
}
