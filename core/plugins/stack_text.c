/* stack_text.c - "autodiff<fusion<cuda:0>>" and "autodiff+fusion+cuda:0" to parts.
 *
 * A part is name[:number][:key=value[,key=value]..]. A backend over several kinds of devices takes one as a word of its
 * own: torch:cuda:0 is torch:device=cuda:0. Case does not matter in names, keys and words. */
#include "core_internal.h"

#include <burn/guess.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_name_char(char c) { return isalnum((unsigned char)c) || c == '_'; }

static char *copy_lower(const char *text, size_t length) {
  char *copy = burn__text_format("%.*s", (int)length, text);
  for (char *c = copy; c && *c; c++) *c = (char)tolower((unsigned char)*c);
  return copy;
}

/* Takes key and value, which may be NULL for want of memory. */
static BurnStatus append_option(BurnStackPart *part, char *key, char *value, const char *whole) {
  BurnOption *options =
      key && value ? realloc(part->options.options, (part->options.count + 1) * sizeof *options) : NULL;
  if (!options) {
    free(key);
    free(value);
    return BURN_FAIL(OUT_OF_MEMORY, "no memory for the backend text '%s'", whole);
  }
  part->options.options = options;
  BurnOption *option = &options[part->options.count++];
  option->key = key;
  option->value = value;
  atomic_init(&option->asked, false);
  return BURN_OK;
}

/* Is the text a word: letters, digits and _, beginning with a letter? */
static bool is_word(const char *text, size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (!is_name_char(text[i])) return false;
  }
  return length > 0 && isalpha((unsigned char)text[0]);
}

/* key=value, or a word, which is the value of `device`. */
static BurnStatus add_option(BurnStackPart *part, const char *text, size_t length, const char *whole) {
  const char *equals = memchr(text, '=', length);
  const bool is_device = !equals && is_word(text, length);
  if (!is_device && (!equals || equals == text)) {
    return BURN_FAIL(INVALID_ARGUMENT, "backend '%s': '%.*s' is neither a device, nor its number, nor key=value", whole,
                     (int)length, text);
  }
  const char *name = is_device ? "device" : text;
  const size_t name_length = is_device ? strlen(name) : (size_t)(equals - text);
  for (size_t i = 0; i < part->options.count; i++) {
    const char *key = part->options.options[i].key;
    if (strlen(key) != name_length || strncasecmp(key, name, name_length) != 0) continue;
    return BURN_FAIL(INVALID_ARGUMENT, "backend '%s': option '%s' is given twice", whole, key);
  }
  char *value =
      is_device ? copy_lower(text, length) : burn__text_format("%.*s", (int)(length - name_length - 1), equals + 1);
  return append_option(part, copy_lower(name, name_length), value, whole);
}

/* One field between colons: digits are the device number, anything else a list of options. */
static BurnStatus parse_field(BurnStackPart *part, const char *text, size_t length, const char *whole) {
  size_t digits = 0;
  while (digits < length && isdigit((unsigned char)text[digits])) digits++;
  if (length > 0 && digits == length && length <= 6) {
    part->index = (uint32_t)strtoul(text, NULL, 10);
    part->has_index = true;
    return BURN_OK;
  }
  while (length > 0) {
    const char *comma = memchr(text, ',', length);
    const size_t piece = comma ? (size_t)(comma - text) : length;
    const BurnStatus status = add_option(part, text, piece, whole);
    if (status != BURN_OK) return status;
    text += piece + (comma ? 1 : 0);
    length -= piece + (comma ? 1 : 0);
  }
  return BURN_OK;
}

/* The colon that ends a field, or NULL. The one of "file=C:/x" or "file=C:\\x" belongs to the path. */
static const char *field_end(const char *field, size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (field[i] != ':') continue;
    const bool is_drive = i >= 2 && field[i - 2] == '=' && isalpha((unsigned char)field[i - 1]) && i + 1 < length &&
                          (field[i + 1] == '/' || field[i + 1] == '\\');
    if (!is_drive) return field + i;
  }
  return NULL;
}

static BurnStatus parse_part(BurnStackPart *part, const char *text, size_t length, const char *whole) {
  size_t name = 0;
  while (name < length && is_name_char(text[name])) name++;
  if (name == 0) return BURN_FAIL(INVALID_ARGUMENT, "backend '%s': a name is missing", whole);
  part->name = copy_lower(text, name);
  if (!part->name) return BURN_FAIL(OUT_OF_MEMORY, "no memory for the backend text '%s'", whole);
  size_t at = name;
  while (at < length) {
    if (text[at] != ':') {
      return BURN_FAIL(INVALID_ARGUMENT, "backend '%s': unexpected '%c' after '%.*s'", whole, text[at], (int)at, text);
    }
    const char *field = text + at + 1;
    const char *colon = field_end(field, length - at - 1);
    const size_t bytes = colon ? (size_t)(colon - field) : length - at - 1;
    const BurnStatus status = parse_field(part, field, bytes, whole);
    if (status != BURN_OK) return status;
    at += 1 + bytes;
  }
  return BURN_OK;
}

static BurnStatus append_part(BurnStackText *out, const char *text, size_t length, const char *whole) {
  while (length > 0 && isspace((unsigned char)*text)) text++, length--;
  while (length > 0 && isspace((unsigned char)text[length - 1])) length--;
  BurnStackPart *parts = realloc(out->parts, (out->count + 1) * sizeof *parts);
  if (!parts) return BURN_FAIL(OUT_OF_MEMORY, "no memory for the backend text '%s'", whole);
  out->parts = parts;
  parts[out->count] = (BurnStackPart){0};
  return parse_part(&parts[out->count++], text, length, whole);
}

static BurnStatus parse(const char *text, BurnStackText *out) {
  const char *at = text;
  size_t open = 0;
  for (;;) {
    const size_t length = strcspn(at, "+<>");
    const BurnStatus status = append_part(out, at, length, text);
    if (status != BURN_OK) return status;
    at += length;
    if (*at != '+' && *at != '<') break;
    if (*at == '<') open++;
    at++;
  }
  for (; *at == '>' || isspace((unsigned char)*at); at++) {
    if (*at == '>' && open-- == 0) return BURN_FAIL(INVALID_ARGUMENT, "backend '%s': one '>' too many", text);
  }
  if (*at != '\0') return BURN_FAIL(INVALID_ARGUMENT, "backend '%s': nothing can follow '>'", text);
  if (open > 0) return BURN_FAIL(INVALID_ARGUMENT, "backend '%s': %zu '>' missing at the end", text, open);
  return BURN_OK;
}

BurnStatus burn__stack_parse(const char *text, BurnStackText *out) {
  *out = (BurnStackText){0};
  const BurnStatus status = strlen(text) > 4096
                                ? BURN_FAIL(INVALID_ARGUMENT, "the backend text is longer than 4096 bytes")
                                : parse(text, out);
  if (status != BURN_OK) burn__stack_release(out);
  return status;
}

BurnStatus burn__stack_push_front(BurnStackText *stack, const char *name) {
  BurnStackPart *parts = realloc(stack->parts, (stack->count + 1) * sizeof *parts);
  char *copy = burn__text_copy(name);
  if (parts) stack->parts = parts;
  if (!parts || !copy) {
    free(copy);
    return BURN_FAIL(OUT_OF_MEMORY, "no memory to put %s on the stack", name);
  }
  memmove(parts + 1, parts, stack->count * sizeof *parts);
  parts[0] = (BurnStackPart){.name = copy};
  stack->count++;
  return BURN_OK;
}

void burn__stack_release(BurnStackText *stack) {
  for (size_t i = 0; i < stack->count; i++) {
    BurnStackPart *part = &stack->parts[i];
    for (size_t j = 0; j < part->options.count; j++) {
      free(part->options.options[j].key);
      free(part->options.options[j].value);
    }
    free(part->options.options);
    free(part->name);
  }
  free(stack->parts);
  *stack = (BurnStackText){0};
}

const char *burn__option(const BurnOptions *options, const char *key) {
  /* The list of keys that were asked for makes the message about unknown ones helpful. */
  BurnOptions *noted = (BurnOptions *)(uintptr_t)options;
  const size_t used = strlen(noted->asked_keys);
  if (used + strlen(key) + 3 < sizeof noted->asked_keys) {
    snprintf(noted->asked_keys + used, sizeof noted->asked_keys - used, "%s%s", used ? ", " : "", key);
  }
  for (size_t i = 0; i < options->count; i++) {
    if (strcmp(options->options[i].key, key) != 0) continue;
    atomic_store(&options->options[i].asked, true);
    return options->options[i].value;
  }
  return NULL;
}

static BurnStatus unknown_option(const BurnOptions *options, const char *name, const char *key) {
  char known[sizeof options->asked_keys];
  BurnGuess guess = burn_guess(key);
  snprintf(known, sizeof known, "%s", options->asked_keys);
  for (char *word = known, *end; *word; word = end + strspn(end, ", ")) {
    end = word + strcspn(word, ", ");
    if (*end) *end++ = '\0';
    burn_guess_add(&guess, word);
  }
  return BURN_FAIL(INVALID_ARGUMENT, "'%s' has no option '%s'; it has: %s%s%s", name, key,
                   options->asked_keys[0] ? options->asked_keys : "none", guess.best ? "." : "",
                   burn_guess_text(&guess));
}

BurnStatus burn__options_check(const BurnOptions *options, const char *name) {
  for (size_t i = 0; i < options->count; i++) {
    if (atomic_load(&options->options[i].asked)) continue;
    return unknown_option(options, name, options->options[i].key);
  }
  return BURN_OK;
}
