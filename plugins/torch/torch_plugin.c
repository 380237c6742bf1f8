/* torch_plugin.c - the backend over libtorch as a plugin: descriptor, probe, open. Start here.
 *
 * Loading libtorch takes half a second and 150 MB, and discovery loads every plugin to see which is the best: so this
 * file, which is all of burn_torch.so, only looks whether libtorch is there, and the work is in libburn_torch_aten.so
 * beside it (torch_device.cpp), which is loaded when a device is opened. */
#define _GNU_SOURCE /* dladdr, dl_iterate_phdr */
#include "torch_bridge.h"

#include <burn/common/descriptor.h>
#include <burn/common/settings.h>

#include <dlfcn.h>
#include <limits.h>
#if defined(__linux__)
#include <link.h>
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The file of libtorch that the bridge was linked with. */
#if !defined(BURN_TORCH_LIBRARY) || !defined(BURN_TORCH_VERSION)
#error "the build says which libtorch this is for"
#endif

static const char *file_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* Writes the path of the bridge: beside this library. */
static void bridge_path(char *path, size_t bytes) {
  Dl_info info;
  const char *own = dladdr(TORCH_BRIDGE_FILE, &info) != 0 && info.dli_fname ? info.dli_fname : "";
  (void)snprintf(path, bytes, "%.*s" TORCH_BRIDGE_FILE, (int)(file_name(own) - own), own);
}

/* Is there a file of this name in one of the folders of LD_LIBRARY_PATH? */
static int in_library_path(const char *file) {
  const char *folders = getenv("LD_LIBRARY_PATH");
  while (folders && *folders) {
    const size_t length = strcspn(folders, ":");
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%.*s/%s", (int)length, folders, file);
    if (length > 0 && access(path, R_OK) == 0) return 1;
    folders += length + (folders[length] == ':');
  }
  return 0;
}

#if defined(__linux__)
static int is_other_libtorch(struct dl_phdr_info *object, size_t bytes, void *path) {
  char real[PATH_MAX];
  (void)bytes;
  if (strncmp(file_name(object->dlpi_name), "libtorch_cpu.so", 15) != 0) return 0;
  if (!realpath(object->dlpi_name, real) || strcmp(file_name(real), file_name(BURN_TORCH_LIBRARY)) == 0) return 0;
  (void)snprintf(path, PATH_MAX, "%s", object->dlpi_name);
  return 1;
}

/* Does this process hold a libtorch of another file name, links followed? PyTorch's wheel brings its own, and with two
 * of them the process would end while the second one is loaded. */
static int finds_other_libtorch(char path[PATH_MAX]) { return dl_iterate_phdr(is_other_libtorch, path); }
#else
static int finds_other_libtorch(char path[PATH_MAX]) { return path[0] = '\0'; }
#endif

/* Why it cannot work here, or an empty text. Only looks for files: the loader has the last word, when a device is
 * opened. */
static void what_is_missing(char *why, size_t bytes) {
  static const char library[] = BURN_TORCH_LIBRARY;
  char bridge[PATH_MAX], other[PATH_MAX];
  bridge_path(bridge, sizeof bridge);
  why[0] = '\0';
  if (finds_other_libtorch(other)) {
    (void)snprintf(why, bytes, "this process already has another libtorch, %.120s; this plugin was built for %s", other,
                   BURN_TORCH_VERSION);
  } else if (access(bridge, R_OK) != 0) {
    (void)snprintf(why, bytes, "%.180s is missing: it belongs beside burn_torch.so", bridge);
  } else if (access(library, R_OK) != 0 && !in_library_path(file_name(library))) {
    (void)snprintf(why, bytes, "libtorch %s is missing: neither %.120s nor in LD_LIBRARY_PATH", BURN_TORCH_VERSION,
                   library);
  }
}

/* The bridge's open function, loaded once. */
static TorchBridgeOpen bridge_open;
static char bridge_problem[512];

static void load_bridge(void) {
  char path[PATH_MAX];
  if (finds_other_libtorch(path)) {
    (void)snprintf(bridge_problem, sizeof bridge_problem,
                   "this process already has another libtorch, %.300s; build the plugin for that one "
                   "(-DTorch_DIR=, it is for %s)",
                   path, BURN_TORCH_VERSION);
    return;
  }
  bridge_path(path, sizeof path);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL); /* never closed: libtorch does not survive it */
  void *symbol = library ? dlsym(library, TORCH_BRIDGE_SYMBOL) : NULL;
  const char *reason = symbol ? NULL : dlerror();
  if (symbol) memcpy(&bridge_open, &symbol, sizeof symbol); /* ISO C has no cast from object to function pointer */
  if (!symbol)
    (void)snprintf(bridge_problem, sizeof bridge_problem, "libtorch %s cannot be loaded: %s", BURN_TORCH_VERSION,
                   reason ? reason : "unknown reason");
}

static const BurnOptionInfo option_rows[] = {TORCH_OPTIONS(BURN_OPTION_ROW)};
static const BurnOptionsInterface options_interface = BURN_OPTIONS_INTERFACE(OPTION_COUNT, option_rows);

static BurnStatus read_settings(const BurnHost *host, const BurnOptions *options, TorchSettings *settings) {
  const char *values[OPTION_COUNT];
  const BurnCommonSettings given = {host, "torch", &options_interface, values};
  uint32_t random = 0; /* host */
  burn_options_ask(host, options, &options_interface, values);
  settings->device = values[OPTION_DEVICE] ? values[OPTION_DEVICE] : "cpu";
  settings->threads = host->thread_count();
  settings->deterministic = true;
  BurnStatus status = burn_common_number(&given, OPTION_THREADS, &settings->threads);
  if (status == BURN_OK) status = burn_common_truth(&given, OPTION_TF32, &settings->tf32);
  if (status == BURN_OK) status = burn_common_truth(&given, OPTION_DETERMINISTIC, &settings->deterministic);
  if (status == BURN_OK) status = burn_common_truth(&given, OPTION_BENCHMARK, &settings->cudnn_benchmark);
  if (status == BURN_OK) status = burn_common_truth(&given, OPTION_PRIMITIVES, &settings->primitives);
  if (status == BURN_OK) status = burn_common_word(&given, OPTION_RANDOM, &random);
  settings->aten_random = random == 1;
  return status;
}

static BurnStatus BURN_API_CALL torch_open(const BurnHost *host, uint32_t index, const BurnOptions *options,
                                           uint32_t owner, BurnBackend *out) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  const BurnStatus checked = burn_plugin_check_open(host, out, "torch");
  if (checked != BURN_OK) return checked;
  TorchSettings settings = {.device = NULL};
  const BurnStatus status = read_settings(host, options, &settings);
  if (status != BURN_OK) return status;
  pthread_once(&once, load_bridge);
  return bridge_open ? bridge_open(host, &settings, index, owner, out)
                     : BURN_COMMON_FAIL(host, FAILED_PRECONDITION, "torch", "%s", bridge_problem);
}

/* Below ndarray's score: it is there to be named. Whether there is a GPU is only known once libtorch is loaded. */
static void BURN_API_CALL torch_probe(const BurnHost *host, BurnProbe *out) {
  (void)host;
  what_is_missing(out->reason, sizeof out->reason);
  out->score = out->reason[0] ? 0 : 50;
  if (out->score == 0) return;
  (void)snprintf(out->reason, sizeof out->reason,
                 "libtorch %s; torch:cpu, and torch:cuda:N and torch:mps where it has them", BURN_TORCH_VERSION);
  burn_probe_add(out, 0, out->reason, 0);
}

static const BurnBackendInterface backend = {(uint32_t)sizeof(BurnBackendInterface), 1, torch_probe, torch_open};

BURN_COMMON_PLUGIN(BACKEND, "torch", "0.1.0", "MIT OR Apache-2.0",
                   "libtorch " BURN_TORCH_VERSION " as a backend: CPU, and CUDA or MPS where it has them",
                   {"burn.backend", &backend}, {BURN_OPTIONS_INTERFACE_NAME, &options_interface})
