/* commands.c - see commands.h. */
#include "commands.h"

#include <stdio.h>
#include <string.h>

/* NULL after a word about the commands that there are. */
static const ProgramCommand *command_of(const Program *program,
                                        const char *word) {
  for (size_t i = 0; i < program->command_count; i++) {
    if (!word || strcmp(program->commands[i].name, word) == 0) {
      return &program->commands[i];
    }
  }
  fprintf(stderr, "%s: the commands are", program->name);
  for (size_t i = 0; i < program->command_count; i++) {
    const char *before = i == 0                           ? " "
                         : i + 1 < program->command_count ? ", "
                                                          : " and ";
    fprintf(stderr, "%s%s", before, program->commands[i].name);
  }
  fputc('\n', stderr);
  return NULL;
}

int program_main(const Program *program, int argc, char **argv,
                 const void *options) {
  program_begin();
  const char *word = NULL;
  const bool one = program->command_count == 1;
  const int parsed = arguments_parse(
      argc, argv, program->usage, program->arguments, program->argument_count,
      one ? program->words : &word, one ? program->word_capacity : 1);
  if (parsed != ARGUMENTS_OK) return parsed == ARGUMENTS_HELP ? 0 : 2;
  const ProgramCommand *command = command_of(program, word);
  if (!command) return 2;
  const char *problem =
      program->problem_of ? program->problem_of(options, command->name) : NULL;
  if (problem) {
    fprintf(stderr, "%s: %s\n", program->name, problem);
    return 2;
  }
  return program_end(program->name, command->run(options));
}
