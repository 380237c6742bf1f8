/* commands.h - what main does, the same in every example: options, a command,
 * an exit status. */
#ifndef BURN_SDK_COMMANDS_H
#define BURN_SDK_COMMANDS_H

#include "arguments.h"
#include "program.h"

/* A word that says what to do: "train". It gets the program's options. */
typedef struct ProgramCommand {
  const char *name;
  BurnStatus (*run)(const void *options);
} ProgramCommand;

/* What main does in every example: reads the options, asks what is wrong with
 * them, runs a command and tells how it ended. */
typedef struct Program {
  const char *name, *usage;
  const Argument *arguments; /* that point into `options` */
  size_t argument_count;
  const ProgramCommand *commands; /* the first one if none is named */
  size_t command_count;
  /* NULL, or what is wrong with options for a command */
  const char *(*problem_of)(const void *options, const char *command);
  /* For a program of one command: where its words go, NULL where there are
   * fewer of them; a program of several takes none. */
  const char **words;
  size_t word_capacity;
} Program;

/* The exit status: 0, 1 if the command failed, 2 for wrong usage. */
int program_main(const Program *program, int argc, char **argv,
                 const void *options);

/* PROGRAM_LIST(arguments): an array and how many it has, as two members of a
 * Program want it. */
#define PROGRAM_LIST(list) (list), sizeof(list) / sizeof *(list)

#endif
