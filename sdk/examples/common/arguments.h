/* arguments.h - the command line of the examples and of the burn command: a
 * table of options that reads as the help text. */
#ifndef BURN_SDK_ARGUMENTS_H
#define BURN_SDK_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

enum { ARGUMENT_FLAG, ARGUMENT_TEXT, ARGUMENT_SIZE, ARGUMENT_NUMBER };

/* One option. `target` is a bool, const char *, size_t or double, which holds
 * the default before and the value after. */
typedef struct Argument {
  const char *name; /* "epochs" for --epochs N and --epochs=N */
  int kind;         /* ARGUMENT_* */
  void *target;
  const char *value_name; /* "N"; NULL for a flag */
  const char *help;
} Argument;

/* Rows that most examples have; `options` is a struct with a member of that
 * name. */
#define ARGUMENT_ARTIFACT(options)                          \
  {                                                         \
    "artifact", ARGUMENT_TEXT, &(options)->artifact, "DIR", \
        "what a run leaves"                                 \
  }
#define ARGUMENT_BACKEND(options)                            \
  {                                                          \
    "backend", ARGUMENT_TEXT, &(options)->backend, "STACK",  \
        "such as ndarray; default: BURN_BACKEND or the best" \
  }
#define ARGUMENT_JSON(options) \
  { "json", ARGUMENT_FLAG, &(options)->json, NULL, "every line a JSON object" }

/* What to do after parsing. */
enum { ARGUMENTS_OK = 0, ARGUMENTS_HELP = 1, ARGUMENTS_ERROR = 2 };

/* Reads argv[1 ..]: options by their whole names, --name value or --name=value,
 * and after -- only positions. --help prints `usage` and the table to stdout.
 * Up to `position_capacity` arguments without dashes go to `positions`. A wrong
 * argument prints one line to stderr that says what is wrong and how to get
 * help. */
int arguments_parse(int argc, char **argv, const char *usage,
                    const Argument *arguments, size_t argument_count,
                    const char **positions, size_t position_capacity);

#endif
