/* arguments.c - see arguments.h. getopt_long does the reading. */
#define _GNU_SOURCE
#include "arguments.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ARGUMENTS = 32 };

static void print_default(const Argument *argument) {
  switch (argument->kind) {
    case ARGUMENT_TEXT:
      if (*(const char **)argument->target) printf(" (%s)", *(const char **)argument->target);
      break;
    case ARGUMENT_SIZE: printf(" (%zu)", *(size_t *)argument->target); break;
    case ARGUMENT_NUMBER: printf(" (%g)", *(double *)argument->target); break;
    default: break;
  }
}

static void print_help(const char *usage, const Argument *arguments, size_t count) {
  printf("%s\n\noptions (defaults in parentheses):\n", usage);
  for (size_t i = 0; i < count; i++) {
    char left[64];
    const char *value = arguments[i].value_name;
    snprintf(left, sizeof left, "--%s%s%s", arguments[i].name, value ? " " : "", value ? value : "");
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
    if (errno || *end || !isdigit((unsigned char)text[0])) return false; /* strtoull would take a minus sign */
    *(size_t *)argument->target = (size_t)value;
    return true;
  }
  const double value = strtod(text, &end);
  if (errno || end == text || *end || !isfinite(value)) return false;
  *(double *)argument->target = value;
  return true;
}

int arguments_parse(int argc, char **argv, const char *usage, const Argument *arguments, size_t argument_count,
                    const char **positions, size_t position_capacity) {
  struct option options[MOST_ARGUMENTS + 2] = {{0}};
  if (argument_count > MOST_ARGUMENTS) return ARGUMENTS_ERROR;
  for (size_t i = 0; i < argument_count; i++) {
    options[i].name = arguments[i].name;
    options[i].has_arg = arguments[i].kind == ARGUMENT_FLAG ? no_argument : required_argument;
  }
  options[argument_count].name = "help";
  int index = 0;
  optind = 1;
  for (int found; (found = getopt_long(argc, argv, "h", options, &index)) != -1;) {
    if (found == 'h' || (found == 0 && (size_t)index == argument_count)) {
      print_help(usage, arguments, argument_count);
      return ARGUMENTS_HELP;
    }
    if (found == '?') {
      fprintf(stderr, "%s: see --help\n", argv[0]);
      return ARGUMENTS_ERROR;
    }
    if (store(&arguments[index], optarg)) continue;
    fprintf(stderr, "%s: --%s needs %s, not '%s'\n", argv[0], arguments[index].name,
            arguments[index].kind == ARGUMENT_SIZE ? "a whole number" : "a number", optarg);
    return ARGUMENTS_ERROR;
  }
  for (size_t i = 0; optind < argc; i++, optind++) {
    if (i < position_capacity) {
      positions[i] = argv[optind];
      continue;
    }
    fprintf(stderr, "%s: unexpected '%s'; see --help\n", argv[0], argv[optind]);
    return ARGUMENTS_ERROR;
  }
  return ARGUMENTS_OK;
}
