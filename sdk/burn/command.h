/* command.h - what the files of the burn command share: one function per subcommand, one file each. */
#ifndef BURN_SDK_COMMAND_H
#define BURN_SDK_COMMAND_H

#include "../examples/common/arguments.h"

#include <burn/burn.h>
#include <cjson/cJSON.h>

/* Exit statuses of every subcommand. */
enum { COMMAND_OK = 0, COMMAND_FAILED = 1, COMMAND_USAGE = 2 };

/* A subcommand; argv[0] is "burn NAME", the rest its own arguments. Returns COMMAND_*. */
typedef int (*Command)(int argc, char **argv);
int command_backends(int argc, char **argv);
int command_doctor(int argc, char **argv);
int command_explain(int argc, char **argv);
int command_import(int argc, char **argv);
int command_inspect(int argc, char **argv);
int command_new(int argc, char **argv);
int command_onnx(int argc, char **argv);
int command_ops(int argc, char **argv);
int command_report(int argc, char **argv);
int command_run(int argc, char **argv);
int command_conform(int argc, char **argv);
int command_bench(int argc, char **argv);
int command_tokenize(int argc, char **argv);
int command_version(int argc, char **argv);
int command_weights(int argc, char **argv);

/* arguments_parse with the exit status that follows: COMMAND_OK to go on; else `*exit_status` is set and false
 * returned. */
bool command_parse(int argc, char **argv, const char *usage, const Argument *arguments, size_t argument_count,
                   const char **positions, size_t position_capacity, int *exit_status);

/* What is known of a plugin, as burn backends and burn doctor print it. */
cJSON *command_plugin_json(const BurnPluginInfo *info);

/* When a plugin was put in quarantine, "2026-01-31 16:20:05 UTC"; "" if it was not. */
enum { SINCE_BYTES = 32 };
const char *command_quarantine_text(const BurnPluginInfo *info, char text[SINCE_BYTES]);

/* What a program needs of a stack. */
typedef struct Need {
  bool train;
  BurnDType dtypes[BURN_DTYPE_LIMIT]; /* to compute in */
  size_t dtype_count;
} Need;

/* What a program with that need would get of a stack text (NULL: none). */
typedef struct Opened {
  char name[1024];        /* of the device; "" if it did not open */
  char inner[1024];       /* of that below autodiff; as `name` if it has none */
  char problem[1024];     /* what is in the way; "" if nothing is */
  char passed_over[1024]; /* burn_device_passed_over */
  char device[256];       /* what computes: "NVIDIA H200, sm_90, CUDA 13.0, driver 580.159" */
  char refusal[16];       /* "crashed", "hung" or "exited" as in refusals.def, "" if it came back */
} Opened;
Opened command_try_open(const char *stack, const Need *need);

/* Says on stderr why a subcommand ("onnx") failed; what messages quote of files may be any bytes. COMMAND_FAILED. */
int command_fail(const char *name, BurnStatus status);

/* Prints a JSON tree and ends it; NULL or a full memory is COMMAND_FAILED with a message on stderr. */
int command_print_json(cJSON *tree);

#endif
