/* late_program.c - a program that loads libburn when it runs, as Python does; run by plugin_loader_test.
 *
 *   late_program LIBRARY chdir FOLDER   changes the working directory between loading and opening a device
 *   late_program LIBRARY repeat         computes, closes the device and the library, and again
 *   late_program LIBRARY settings       opens the default device, as the environment and the settings say
 *   late_program LIBRARY open STACK     opens that, or does not
 *   late_program LIBRARY folder         asks libburn_datasets, which LIBRARY is then, for a folder; 1 if there is one
 *
 * Exits with 0 if 3x3 ones times 3x3 ones sum to 27 each time, or after that. */
#define _XOPEN_SOURCE 700
#include <burn/burn.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FUNCTIONS(X)                                          \
  X(device_open, BurnDevice *, (const char *))                \
  X(device_close, void, (BurnDevice *))                       \
  X(ones, BurnTensor *, (BurnDevice *, BurnShape, BurnDType)) \
  X(matmul, BurnTensor *, (BurnTensor *, BurnTensor *))       \
  X(sum, BurnTensor *, (BurnTensor *))                        \
  X(read_scalar, BurnStatus, (BurnTensor *, double *))        \
  X(status_message, const char *, (BurnStatus))

static struct {
#define MEMBER(name, result, arguments) result(*name) arguments;
  FUNCTIONS(MEMBER)
#undef MEMBER
} burn;

static void *load(const char *path) {
  void *library = dlopen(path, RTLD_NOW);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    return NULL;
  }
#define FIND(name, result, arguments)                      \
  {                                                        \
    void *symbol = dlsym(library, "burn_" #name);          \
    if (!symbol) return NULL;                              \
    memcpy((void *)&burn.name, &symbol, sizeof burn.name); \
  }
  FUNCTIONS(FIND)
#undef FIND
  return library;
}

static bool compute(const char *stack) {
  BurnDevice *device = burn.device_open(stack);
  double value = 0;
  const BurnShape small = {2, {3, 3}}, large = {2, {300, 300}}; /* the large one starts the threads of the pool */
  const BurnStatus threads = burn.read_scalar(
      burn.sum(burn.matmul(burn.ones(device, large, BURN_DTYPE_F32), burn.ones(device, large, BURN_DTYPE_F32))),
      &value);
  const BurnStatus status = burn.read_scalar(
      burn.sum(burn.matmul(burn.ones(device, small, BURN_DTYPE_F32), burn.ones(device, small, BURN_DTYPE_F32))),
      &value);
  if (status != BURN_OK) fprintf(stderr, "%s\n", burn.status_message(status));
  burn.device_close(device);
  return threads == BURN_OK && status == BURN_OK && value > 26.5 && value < 27.5;
}

static int open_only(const char *library, const char *stack) {
  if (!load(library)) return 1;
  burn.device_close(burn.device_open(stack));
  return 0;
}

/* Whether the environment gives a folder for data sets; 2 where there is no such function. */
static int has_folder(const char *path) {
  void *library = dlopen(path, RTLD_NOW), *symbol = library ? dlsym(library, "burn_datasets_folder") : NULL;
  BurnStatus (*folder_of)(const char *, char *, size_t) = NULL;
  char folder[256];
  if (!symbol) return 2;
  memcpy((void *)&folder_of, &symbol, sizeof folder_of);
  return folder_of("mnist", folder, sizeof folder) == BURN_OK;
}

int main(int argc, char **argv) {
  if (argc == 4 && strcmp(argv[2], "open") == 0) return open_only(argv[1], argv[3]);
  if (argc == 3 && strcmp(argv[2], "folder") == 0) return has_folder(argv[1]);
  const bool repeat = argc == 3 && strcmp(argv[2], "repeat") == 0, settings = argc == 3 && !repeat;
  if (argc != 3 && argc != 4) return 2;
  for (int i = 0; i < (repeat ? 3 : 1); i++) {
    void *library = load(argv[1]);
    if (!library || (argc == 4 && chdir(argv[3]) != 0) || !compute(settings ? NULL : "ndarray")) return 1;
    dlclose(library);
    const struct timespec moment = {.tv_nsec = 20000000};
    nanosleep(&moment, NULL); /* the threads of the pool go to sleep, in code that must still be there */
  }
  return 0;
}
