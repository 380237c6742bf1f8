/* onnx_generate_models_test.c - whole models written as C, compiled with all warnings as errors, run, and compared with
 * the outputs stored beside them. Each is written twice, and must be the same to the byte.
 *
 *   onnx_generate_models_test MODELS SET FOLDER COMMAND TOLERANCE NAME[:SIZES] ..
 *
 * MODELS holds NAME/model.onnx and NAME/SET0, ..; FOLDER is made for what is written. COMMAND compiles: %1 is the folder of
 * the sources, %2 the program. */
#include <burn/burn.h>
#include <burn/file.h>
#include <burn/numpy.h>
#include <burn/onnx_generate.h>

#include "onnx_stored.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SKIPPED = 77, MOST = 16, PATH = 1024 };

/* `command` with the two paths in it, as quoted words. */
static void fill(const char *command, const char *folder, const char *program, char *text, size_t room) {
  size_t at = 0;
  for (const char *c = command; *c && at + 1 < room;) {
    const char *by = strncmp(c, "%1", 2) == 0 ? folder : strncmp(c, "%2", 2) == 0 ? program : NULL;
    const int wrote = by ? snprintf(text + at, room - at, "%s", by) : snprintf(text + at, room - at, "%c", *c);
    at += wrote > 0 ? (size_t)wrote : 0;
    c += by ? 2 : 1;
  }
}

static bool same_file(const char *lhs, const char *rhs, const char *name) {
  char paths[2][PATH + 64];
  uint8_t *bytes[2] = {NULL, NULL};
  size_t counts[2] = {0, 0};
  snprintf(paths[0], sizeof paths[0], "%.1000s/%.40s", lhs, name);
  snprintf(paths[1], sizeof paths[1], "%.1000s/%.40s", rhs, name);
  struct stat found;
  if (stat(paths[0], &found) != 0 && stat(paths[1], &found) != 0) return true; /* a model without weights */
  bool same = true;
  for (int i = 0; i < 2; i++)
    same = same && burn_file_read(paths[i], (size_t)1 << 30, &bytes[i], &counts[i]) == BURN_OK;
  same = same && counts[0] == counts[1] && memcmp(bytes[0], bytes[1], counts[0]) == 0;
  if (!same) printf("FAILED %s is not the same when written again\n", paths[0]);
  free(bytes[0]);
  free(bytes[1]);
  return same;
}

/* Writes the model into both folders. */
static bool write_twice(BurnDevice *device, const char *model, const char *sizes, char folders[2][PATH]) {
  static const char *const names[] = {"net.h", "net.c", "net.bpk", "main.c", "CMakeLists.txt"};
  const BurnGenerateOptions options = {.name = "net", .sizes = sizes, .overwrite = true};
  for (int i = 0; i < 2; i++) {
    (void)mkdir(folders[i], 0777);
    const BurnStatus status = burn_onnx_generate(model, folders[i], device, &options, NULL);
    if (status == BURN_OK) continue;
    printf("FAILED %s: %s\n", model, burn_status_message(status));
    return false;
  }
  bool same = true;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    same = same_file(folders[0], folders[1], names[i]) && same;
  return same;
}

/* Runs the program on the stored inputs; its outputs are in `out` then. */
static bool run_program(BurnDevice *device, const char *folder, const char *program, const char *set, const char *out) {
  char command[8 * PATH];
  size_t at = (size_t)snprintf(command, sizeof command, "'%s' '%s/net.bpk'", program, folder);
  for (size_t i = 0; i < MOST; i++) {
    char path[PATH + 64];
    BurnTensor *x = onnx_stored(device, set, "input", i);
    if (!x) break;
    snprintf(path, sizeof path, "%s/in_%zu.npy", folder, i);
    if (burn_npy_write(path, x) != BURN_OK) return false;
    at += (size_t)snprintf(command + at, sizeof command - at, " '%s'", path);
  }
  snprintf(command + at, sizeof command - at, " '%s'", out);
  return system(command) == 0;
}

static bool compare(BurnDevice *device, const char *name, const char *set, const char *out, double tolerance) {
  BurnStatus status = BURN_OK;
  BurnNpz *npz = burn_npz_open(out, &status);
  bool same = npz && burn_npz_count(npz) > 0;
  if (!npz) printf("FAILED %s: %s\n", name, burn_status_message(status));
  for (size_t i = 0; npz && i < burn_npz_count(npz); i++) {
    BurnTensor *expected = onnx_stored(device, set, "output", i);
    BurnTensor *got = burn_npz_read(npz, burn_npz_name(npz, i), device);
    if (!expected) {
      burn_drop(got);
      same = false;
    } else {
      same = onnx_stored_equal(name, i, got, expected, tolerance) && same;
    }
  }
  burn_npz_close(npz);
  return same;
}

static bool run_model(BurnDevice *device, char **arguments, const char *given) {
  char name[PATH], folders[2][PATH], model[2 * PATH], set[2 * PATH], program[2 * PATH], out[2 * PATH],
      command[8 * PATH];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(given, ":"), given);
  const char *sizes = strchr(given, ':');
  snprintf(model, sizeof model, "%s/%s/model.onnx", arguments[1], name);
  for (int i = 0; i < 2; i++) snprintf(folders[i], PATH, "%.500s/%.200s-%d", arguments[3], name, i);
  snprintf(program, sizeof program, "%s/run", folders[0]);
  snprintf(out, sizeof out, "%s/out.npz", folders[0]);
  remove(out);
  if (!write_twice(device, model, sizes ? sizes + 1 : NULL, folders)) return false;
  fill(arguments[4], folders[0], program, command, sizeof command);
  if (system(command) != 0) {
    printf("FAILED %s: %s\n", name, command);
    return false;
  }
  for (int i = 0; i < MOST; i++) {
    struct stat found;
    snprintf(set, sizeof set, "%s/%s/%s%d", arguments[1], name, arguments[2], i);
    if (i > 0 && stat(set, &found) != 0) return true;
    if (!run_program(device, folders[0], program, set, out) ||
        !compare(device, name, set, out, strtod(arguments[5], NULL)))
      break;
    remove(out);
  }
  printf("FAILED %s: its program gives something else\n", name);
  return false;
}

int main(int argc, char **argv) {
  struct stat found;
  int failed = 0;
  if (argc < 7) {
    printf("usage: onnx_generate_models_test MODELS SET FOLDER COMMAND TOLERANCE NAME[:SIZES] ..\n");
    return 1;
  }
  if (stat(argv[1], &found) != 0) {
    printf("skipped: no models in %s\n", argv[1]);
    return SKIPPED;
  }
  BurnDevice *device = burn_device_open("ndarray");
  (void)mkdir(argv[3], 0777);
  for (int i = 6; i < argc; i++) failed += !run_model(device, argv, argv[i]);
  printf("%d models, %d failed\n", argc - 6, failed);
  burn_device_close(device);
  return failed > 0;
}
