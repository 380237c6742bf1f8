/* arguments.c - see arguments.h. */
#include "arguments.h"

#include <burn/guess.h>

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A default text on one line: a line break as \n. */
static void print_text(const char *text) {
  printf(" (");
  for (; *text; text++) printf(*text == '\n' ? "\\n" : "%c", *text);
  printf(")");
}

static void print_default(const Argument *argument) {
  switch (argument->kind) {
    case ARGUMENT_TEXT:
      if (*(const char **)argument->target) {
        print_text(*(const char **)argument->target);
      }
      break;
    case ARGUMENT_SIZE:
      printf(" (%zu)", *(size_t *)argument->target);
      break;
    case ARGUMENT_NUMBER:
      printf(" (%g)", *(double *)argument->target);
      break;
    default:
      break;
  }
}

static void print_help(const char *usage, const Argument *arguments,
                       size_t count) {
  printf("%s\n\noptions (defaults in parentheses):\n", usage);
  for (size_t i = 0; i < count; i++) {
    char left[64];
    const char *value = arguments[i].value_name;
    snprintf(left, sizeof left, "--%s%s%s", arguments[i].name, value ? " " : "",
             value ? value : "");
    printf("  %-22s %s", left, arguments[i].help);
    print_default(&arguments[i]);
    putchar('\n');
  }
  printf("  %-22s this text\n", "--help");
}

static bool store(const Argument *argument, const char *text) {
  char *end = NULL;
  errno = 0;
  if (argument->kind == ARGUMENT_FLAG) {
    *(bool *)argument->target = true;
    return true;
  }
  if (argument->kind == ARGUMENT_TEXT) {
    *(const char **)argument->target = text;
    return true;
  }
  if (argument->kind == ARGUMENT_SIZE) {
    const unsigned long long value = strtoull(text, &end, 10);
    /* strtoull would take a minus sign */
    if (errno || *end || !isdigit((unsigned char)text[0])) return false;
    *(size_t *)argument->target = (size_t)value;
    return true;
  }
  const double value = strtod(text, &end);
  if (errno || end == text || *end || !isfinite(value)) return false;
  *(double *)argument->target = value;
  return true;
}

/* -- one argument after the other ----------------------------------------- */

typedef struct Parse {
  int argc, next;
  char **argv;
  const Argument *arguments;
  size_t count;
} Parse;

/* The option of this name, whole: getopt_long would take --epoch for --epochs.
 * NULL after a word about it. */
static const Argument *find(const Parse *parse, const char *name,
                            size_t length) {
  char word[64];
  snprintf(word, sizeof word, "%.*s", (int)length, name);
  BurnGuess guess = burn_guess(word);
  for (size_t i = 0; i < parse->count; i++) {
    const char *candidate = parse->arguments[i].name;
    if (strlen(candidate) == length && strncmp(candidate, name, length) == 0) {
      return &parse->arguments[i];
    }
    burn_guess_add(&guess, candidate);
  }
  fprintf(stderr, "%s: there is no option '--%s'.", parse->argv[0], word);
  if (guess.best) fprintf(stderr, " Did you mean '--%s'?", guess.best);
  fprintf(stderr, " See --help\n");
  return NULL;
}

/* What an integer that was found is not. */
static const char *integer_needed(const char *found) {
  if (!found || !found[strspn(found, "-")]) return "an integer";
  if (found[strspn(found, "-0123456789")]) return "an integer";
  return found[0] == '-' ? "an integer of at least 0" : "a smaller integer";
}

static bool needs(const Parse *parse, const Argument *argument,
                  const char *found) {
  const char *wanted = argument->kind == ARGUMENT_SIZE ? integer_needed(found)
                       : argument->kind == ARGUMENT_NUMBER ? "a number"
                                                           : "a value";
  fprintf(stderr, "%s: --%s needs %s", parse->argv[0], argument->name, wanted);
  if (found) fprintf(stderr, ", not '%s'", found);
  fputc('\n', stderr);
  return false;
}

/* "--name", "--name=value" or "--name value"; false after a word about what is
 * wrong. */
static bool parse_option(Parse *parse, const char *text) {
  const size_t length = strcspn(text, "=");
  const Argument *argument = find(parse, text, length);
  const char *value = text[length] ? text + length + 1 : NULL;
  if (!argument) return false;
  if (argument->kind == ARGUMENT_FLAG && value) {
    fprintf(stderr, "%s: --%s takes no value\n", parse->argv[0],
            argument->name);
    return false;
  }
  if (argument->kind != ARGUMENT_FLAG && !value) {
    if (parse->next == parse->argc) return needs(parse, argument, NULL);
    value = parse->argv[parse->next++];
  }
  return store(argument, value) || needs(parse, argument, value);
}

static bool is_help(const char *text) {
  return strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0;
}

int arguments_parse(int argc, char **argv, const char *usage,
                    const Argument *arguments, size_t argument_count,
                    const char **positions, size_t position_capacity) {
  Parse parse = {argc, 1, argv, arguments, argument_count};
  size_t position = 0;
  bool options = true; /* none after "--" */
  while (parse.next < argc) {
    const char *text = argv[parse.next++];
    if (options && is_help(text)) {
      print_help(usage, arguments, argument_count);
      return ARGUMENTS_HELP;
    }
    if (options && strcmp(text, "--") == 0) {
      options = false;
    } else if (options && strncmp(text, "--", 2) == 0) {
      if (!parse_option(&parse, text + 2)) return ARGUMENTS_ERROR;
    } else if (options && text[0] == '-' && text[1]) {
      fprintf(stderr, "%s: there is no option '%s'. See --help\n", argv[0],
              text);
      return ARGUMENTS_ERROR;
    } else if (position < position_capacity) {
      positions[position++] = text;
    } else {
      fprintf(stderr, "%s: unexpected '%s'; see --help\n", argv[0], text);
      return ARGUMENTS_ERROR;
    }
  }
  return ARGUMENTS_OK;
}
