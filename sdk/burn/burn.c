/* burn.c - the burn command: the table of its subcommands. */
#include "command.h"

#include <burn/guess.h>
#include <burn/streams.h>
#include <burn/text.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name;
  Command run;
  const char *summary;
} commands[] = {
    {"backends", command_backends, "plugins found, where, version, score, devices; and why others were refused"},
    {"doctor", command_doctor, "explain this machine: what was searched, found, refused and would be chosen, and why"},
    {"explain", command_explain, "what the decorator fusion makes of examples: ops in, kernels out, and why"},
    {"inspect", command_inspect, "what a record file holds (.mpk, .json, .bpk, ..): tensors, statistics, metadata"},
    {"ops", command_ops, "per op, how each level of a stack runs it; the reference page of all ops"},
    {"report", command_report, "a run as one HTML file: curves, summary, config, from its artifact folder"},
#if defined(BURN_COMMAND_RUN)
    {"run", command_run, "a trained model on pictures or arrays, from its artifact folder and its library"},
#endif
    {"new", command_new, "write out a new application, backend, decorator or kernel pack"},
#if defined(BURN_COMMAND_CONFORM)
    {"conform", command_conform, "is a plugin right? Its ops, laws, gradients, error paths against the reference"},
#endif
#if defined(BURN_COMMAND_BENCH)
    {"bench", command_bench, "how fast are backends here? Ops and models on several stacks in turns"},
#endif
    {"weights", command_weights, "weights in files of any format: list, convert, compare"},
#if defined(BURN_COMMAND_ONNX)
    {"import", command_import, "an ONNX model as C: layers with names, a forward pass, weights"},
    {"onnx", command_onnx, "what an ONNX model holds; its outputs for arrays in files"},
#endif
#if defined(BURN_COMMAND_TOKENIZE)
    {"tokenize", command_tokenize, "texts as the tokens of a pretrained model's tokenizer, and back"},
#endif
    {"version", command_version, "version of the library and of the plugin ABI"},
};
enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static void print_commands(FILE *file) {
  fprintf(file, "usage: burn COMMAND [arguments]\n\n");
  for (size_t i = 0; i < COMMAND_COUNT; i++) fprintf(file, "  %-9s %s\n", commands[i].name, commands[i].summary);
  fprintf(file,
          "\n'burn COMMAND --help' tells more.\n"
          "A program picks its backend by --backend or BURN_BACKEND: ndarray, autodiff<ndarray>, "
          "trace+autodiff+ndarray.\n");
}

bool command_parse(int argc, char **argv, const char *usage, const Argument *arguments, size_t argument_count,
                   const char **positions, size_t position_capacity, int *exit_status) {
  const int parsed = arguments_parse(argc, argv, usage, arguments, argument_count, positions, position_capacity);
  *exit_status = parsed == ARGUMENTS_ERROR ? COMMAND_USAGE : COMMAND_OK;
  return parsed == ARGUMENTS_OK;
}

int command_fail(const char *name, BurnStatus status) {
  char message[2048];
  (void)snprintf(message, sizeof message, "%s", burn_status_message(status));
  fprintf(stderr, "burn %s: %s\n", name, burn_text_clean(message));
  return COMMAND_FAILED;
}

int command_print_json(cJSON *tree) {
  char *text = tree ? cJSON_Print(tree) : NULL;
  cJSON_Delete(tree);
  if (!text) {
    fprintf(stderr, "burn: out of memory\n");
    return COMMAND_FAILED;
  }
  puts(burn_text_clean(text)); /* paths and what others say may be any bytes */
  free(text);
  return COMMAND_OK;
}

int command_version(int argc, char **argv) {
  int status;
  bool json = false;
  const Argument arguments[] = {{"json", ARGUMENT_FLAG, &json, NULL, "one JSON document"}};
  if (!command_parse(argc, argv, "usage: burn version [options]", arguments, 1, NULL, 0, &status)) return status;
  if (json) {
    char abi[32];
    snprintf(abi, sizeof abi, "%u.%u", BURN_ABI_MAJOR, BURN_ABI_MINOR);
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "version", burn_version());
    cJSON_AddStringToObject(root, "abi", abi);
    return command_print_json(root);
  }
  printf("burn %s, plugin ABI %u.%u\n", burn_version(), BURN_ABI_MAJOR, BURN_ABI_MINOR);
  return COMMAND_OK;
}

static int run_command(int argc, char **argv) {
  char *asked[] = {argv[0], argc > 2 ? argv[2] : NULL, (char *)"--help", NULL};
  if (argc == 3 && strcmp(argv[1], "help") == 0) argv = asked; /* burn help COMMAND */
  const char *name = argc > 1 ? argv[1] : "";
  if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
    print_commands(stdout);
    return COMMAND_OK;
  }
  if (strcmp(name, "--version") == 0) name = "version";
  for (size_t i = 0; i < COMMAND_COUNT; i++) {
    if (strcmp(name, commands[i].name) != 0) continue;
    char title[32]; /* what messages about arguments start with */
    snprintf(title, sizeof title, "burn %s", commands[i].name);
    argv[1] = title;
    return commands[i].run(argc - 1, argv + 1);
  }
  BurnGuess guess = burn_guess(name);
  for (size_t i = 0; i < COMMAND_COUNT; i++) burn_guess_add(&guess, commands[i].name);
  if (name[0]) fprintf(stderr, "burn: there is no command '%s'.%s\n", name, burn_guess_text(&guess));
  print_commands(stderr);
  return COMMAND_USAGE;
}

/* Trees of JSON are built without a look at every node: where one had no memory, a command would tell a part as all. */
static void *json_memory(size_t bytes) {
  void *memory = malloc(bytes);
  if (memory) return memory;
  fputs("burn: no memory\n", stderr);
  _Exit(COMMAND_FAILED);
}

int main(int argc, char **argv) {
  cJSON_InitHooks(&(cJSON_Hooks){json_memory, free});
  burn_streams_pin();
  return burn_streams_finish(run_command(argc, argv));
}
