/* cuda_driver.c - finds and opens the driver and NVRTC, once per process. Neither is ever closed: CUDA does not survive
 * it. */
#include "cuda_driver.h"

#include <burn/common/environment.h>

#include <dlfcn.h>
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Copies the address of each function; returns the name of the first that is missing, or NULL. */
typedef struct Symbol {
  const char *name;
  void **at;
} Symbol;

static const char *find_symbols(void *library, const Symbol *symbols, size_t count) {
  for (size_t i = 0; i < count; i++) {
    *symbols[i].at = dlsym(library, symbols[i].name);
    if (!*symbols[i].at) return symbols[i].name;
  }
  return NULL;
}

/* -- the driver ------------------------------------------------------------------------------- */

static CudaDriver driver;
static char driver_problem[200]; /* "" where the driver works */

/* ISO C has no cast between pointers to objects and to functions; POSIX has them of one size. */
#define SYMBOL(name, parameters) {#name, (void **)(void *)&SYMBOL_TABLE.name},

static void say_error(char *why, size_t bytes, const char *what, int error) {
  const char *text = NULL;
  if (!driver.cuGetErrorString || driver.cuGetErrorString(error, &text) != CUDA_OK || !text) text = "no text";
  (void)snprintf(why, bytes, "%s: error %d, %s", what, error, text);
}

static void open_driver(void) {
#define SYMBOL_TABLE driver
  const Symbol symbols[] = {CUDA_DRIVER_FUNCTIONS(SYMBOL)};
#undef SYMBOL_TABLE
  const char *named = burn_common_trusted_variable("BURN_CUDA_DRIVER"); /* another file, as tests without a GPU have */
  void *library = dlopen(named && named[0] ? named : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) library = dlopen("/usr/lib/wsl/lib/libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    (void)snprintf(driver_problem, sizeof driver_problem, "there is no NVIDIA driver here (libcuda.so.1)");
    return;
  }
  const char *missing = find_symbols(library, symbols, sizeof symbols / sizeof symbols[0]);
  if (missing) {
    (void)snprintf(driver_problem, sizeof driver_problem, "the NVIDIA driver is too old: it has no %s", missing);
    return;
  }
  const int error = driver.cuInit(0);
  if (error != CUDA_OK) say_error(driver_problem, sizeof driver_problem, "the NVIDIA driver does not start", error);
}

const CudaDriver *burn__cuda_driver(char *why, size_t why_bytes) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, open_driver);
  if (why_bytes > 0) (void)snprintf(why, why_bytes, "%s", driver_problem);
  return driver_problem[0] ? NULL : &driver;
}

const char *burn__cuda_error_text(int error) {
  const char *text = NULL;
  if (!driver.cuGetErrorString || driver.cuGetErrorString(error, &text) != CUDA_OK || !text) return "unknown error";
  return text;
}

/* -- where libraries lie ---------------------------------------------------------------------- */

enum { PATH_BYTES = 1024 };

/* The last file that a pattern finds, as versions sort; false if there is none. */
static int find_file(const char *pattern, char path[PATH_BYTES]) {
  glob_t found;
  int is_there = 0;
  if (glob(pattern, 0, NULL, &found) == 0) {
    for (size_t i = found.gl_pathc; i-- > 0 && !is_there;) {
      is_there = strlen(found.gl_pathv[i]) < PATH_BYTES && access(found.gl_pathv[i], R_OK) == 0;
      if (is_there) memcpy(path, found.gl_pathv[i], strlen(found.gl_pathv[i]) + 1);
    }
    globfree(&found);
  }
  return is_there;
}

/* A library: its file, and the folder of its wheel for CUDA 12. */
typedef struct Library {
  const char *file, *wheel, *names[2]; /* the names for the loader */
} Library;
static const Library nvrtc_library = {"libnvrtc.so.1[23]", "cuda_nvrtc", {"libnvrtc.so.13", "libnvrtc.so.12"}};
static const Library blas_library = {"libcublasLt.so.1[23]", "cublas", {"libcublasLt.so.13", "libcublasLt.so.12"}};

static const Library dnn_library = {"libcudnn.so.9", "cudnn", {"libcudnn.so.9", "libcudnn.so.9"}};

static int find_at(const char *folder, const char *below, const char *file, char path[PATH_BYTES]) {
  char pattern[PATH_BYTES];
  const int length = snprintf(pattern, sizeof pattern, "%s/%s/%s", folder, below, file);
  return length > 0 && (size_t)length < sizeof pattern && find_file(pattern, path);
}

/* In the wheels below the root of a Python: those of CUDA 13 share a folder. */
static int find_wheel(const char *root, const Library *library, char path[PATH_BYTES]) {
  char below[200];
  if (!root || !root[0]) return 0;
  if (find_at(root, "lib/python3*/site-packages/nvidia/cu13/lib", library->file, path)) return 1;
  (void)snprintf(below, sizeof below, "lib/python3*/site-packages/nvidia/%s/lib", library->wheel);
  return find_at(root, below, library->file, path);
}

static int find_in_toolkit(const char *root, const Library *library, char path[PATH_BYTES]) {
  static const char *const folders[] = {"lib64", "lib", "targets/*-linux/lib"};
  for (size_t i = 0; root && root[0] && i < sizeof folders / sizeof folders[0]; i++)
    if (find_at(root, folders[i], library->file, path)) return 1;
  return 0;
}

/* The folders of BURN_CUDA_LIBS, with colons between them. */
static int find_in_list(const char *list, const Library *library, char path[PATH_BYTES]) {
  while (list && *list) {
    const size_t length = strcspn(list, ":");
    char folder[PATH_BYTES];
    (void)snprintf(folder, sizeof folder, "%.*s", (int)length, list);
    if (length > 0 && find_at(folder, ".", library->file, path)) return 1;
    list += length + (list[length] == ':');
  }
  return 0;
}

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static int find_library(const Library *library, char path[PATH_BYTES]) {
  static const char *const toolkits[] = {"/usr/local/cuda", "/usr/local/cuda-13*", "/usr/local/cuda-12*"};
  if (find_in_list(burn_common_trusted_variable("BURN_CUDA_LIBS"), library, path)) return 1;
  if (find_wheel(burn_common_trusted_variable("VIRTUAL_ENV"), library, path) ||
      find_wheel(burn_common_trusted_variable("CONDA_PREFIX"), library, path))
    return 1;
  if (find_in_toolkit(burn_common_trusted_variable("CUDA_HOME"), library, path)) return 1;
  for (size_t i = 0; i < COUNT_OF(toolkits); i++)
    if (find_in_toolkit(toolkits[i], library, path)) return 1;
  return find_at("/usr/lib", "*-linux-gnu", library->file, path) || find_at("/usr", "lib64", library->file, path);
}

static void *open_library(const Library *library, char path[PATH_BYTES]) {
  void *opened = find_library(library, path) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  for (size_t i = 0; i < 2 && !opened; i++) opened = dlopen(library->names[i], RTLD_NOW | RTLD_LOCAL);
  return opened;
}

int burn__cuda_nvrtc_exists(void) {
  char path[PATH_BYTES];
  return find_library(&nvrtc_library, path);
}

/* The digits after ".so." of the file that a link leads to: "13.0.88"; false if it is not a link to a longer name. */
static int version_of_link(const char *path, char *version, size_t bytes) {
  char file[PATH_BYTES];
  const ssize_t length = readlink(path, file, sizeof file - 1);
  if (length <= 0) return 0;
  file[length] = '\0';
  const char *digits = strstr(file, ".so.");
  if (!digits || !strchr(digits + 4, '.')) return 0;
  (void)snprintf(version, bytes, "%s", digits + 4);
  return 1;
}

/* A wheel says it in the name of the folder beside nvidia/: "nvidia_cudnn_cu13-9.19.1.2.dist-info". */
static int version_of_wheel(const char *path, const char *wheel, char *version, size_t bytes) {
  char pattern[PATH_BYTES + 64], found[PATH_BYTES];
  const char *inside = strstr(path, "/nvidia/");
  if (!inside) return 0;
  (void)snprintf(pattern, sizeof pattern, "%.*s/nvidia_%s*-[0-9]*.dist-info", (int)(inside - path), path, wheel);
  if (!find_file(pattern, found)) return 0;
  const char *end = strstr(found, ".dist-info"), *begin = end;
  while (begin[-1] != '-') begin--;
  (void)snprintf(version, bytes, "%.*s", (int)(end - begin), begin);
  return 1;
}

int burn__cuda_look_for(CudaPart part, CudaFound *out) {
  static const Library *const libraries[] = {&nvrtc_library, &blas_library, &dnn_library};
  char path[PATH_BYTES];
  memset(out, 0, sizeof *out);
  if (!find_library(libraries[part], path)) return 0;
  if (!version_of_link(path, out->version, sizeof out->version) &&
      !version_of_wheel(path, libraries[part]->wheel, out->version, sizeof out->version))
    (void)snprintf(out->version, sizeof out->version, "%s", strstr(path, ".so.") + 4);
  const char *end = strrchr(path, '/');
  if (end - path > 2 && end[-1] == '.' && end[-2] == '/') end -= 2; /* "folder/./file", of BURN_CUDA_LIBS */
  (void)snprintf(out->folder, sizeof out->folder, "%.*s", (int)(end - path), path);
  return 1;
}

/* -- NVRTC and cuBLASLt ----------------------------------------------------------------------- */

static CudaNvrtc nvrtc;
static char nvrtc_problem[400];

static void open_nvrtc(void) {
#define SYMBOL_TABLE nvrtc
  const Symbol symbols[] = {CUDA_NVRTC_FUNCTIONS(SYMBOL)};
#undef SYMBOL_TABLE
  char path[PATH_BYTES] = "";
  void *library = open_library(&nvrtc_library, path);
  if (!library) {
    (void)snprintf(
        nvrtc_problem, sizeof nvrtc_problem,
        "libnvrtc.so of CUDA 12 or 13 is not found; install the CUDA toolkit or the wheel nvidia-cuda-nvrtc, "
        "or name its folder in BURN_CUDA_LIBS");
    return;
  }
  const char *missing = find_symbols(library, symbols, COUNT_OF(symbols));
  if (missing) (void)snprintf(nvrtc_problem, sizeof nvrtc_problem, "%.200s has no %s", path, missing);
}

const CudaNvrtc *burn__cuda_nvrtc(char *why, size_t why_bytes) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, open_nvrtc);
  if (why_bytes > 0) (void)snprintf(why, why_bytes, "%s", nvrtc_problem);
  return nvrtc_problem[0] ? NULL : &nvrtc;
}

static CudaBlas blas;
static int has_blas;

static void open_blas(void) {
#define SYMBOL_TABLE blas
  const Symbol symbols[] = {CUDA_BLAS_FUNCTIONS(SYMBOL)};
#undef SYMBOL_TABLE
  char path[PATH_BYTES];
  void *library = open_library(&blas_library, path);
  has_blas = library && !find_symbols(library, symbols, COUNT_OF(symbols));
}

const CudaBlas *burn__cuda_blas(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, open_blas);
  return has_blas ? &blas : NULL;
}

/* -- cuDNN ------------------------------------------------------------------------------------ */

/* Its parts open each other by name: all are opened from the folder of the first before any of them asks, so that none
 * comes from another installation. So are the libraries that they use. */
static const char *const dnn_parts[] = {"graph", "ops", "cnn", "heuristic", "engines_*", "adv"};

static CudaDnnLibrary dnn;
static int has_dnn;

static void open_dnn_parts(const char *path) {
  const char *end = strrchr(path, '/');
  char pattern[PATH_BYTES + 40];
  for (size_t i = 0; end && i < COUNT_OF(dnn_parts); i++) {
    glob_t found;
    (void)snprintf(pattern, sizeof pattern, "%.*s/libcudnn_%s.so.9", (int)(end - path), path, dnn_parts[i]);
    if (glob(pattern, 0, NULL, &found) != 0) continue;
    for (size_t k = 0; k < found.gl_pathc; k++) (void)dlopen(found.gl_pathv[k], RTLD_LAZY | RTLD_GLOBAL);
    globfree(&found);
  }
}

/* One that is built for a newer CUDA than the driver's does not run. */
static int suits_driver(const CudaDnnLibrary *library) {
  int version = 0;
  return !driver.cuDriverGetVersion || driver.cuDriverGetVersion(&version) != CUDA_OK ||
         library->cudnnGetCudartVersion() / 1000 <= (size_t)version / 1000;
}

/* Another file, which suits the driver that is named with it, as tests without a GPU have; NULL: none. */
static const char *named_dnn(void) {
  const char *named = burn_common_trusted_variable("BURN_CUDA_DNN");
  return named && named[0] ? named : NULL;
}

#define RESULT_SYMBOL(result, name, parameters) {#name, (void **)(void *)&dnn.name},
static void open_dnn(void) {
  const Symbol symbols[] = {CUDA_DNN_FUNCTIONS(RESULT_SYMBOL)};
  char path[PATH_BYTES] = "";
  const char *named = named_dnn();
  (void)burn__cuda_nvrtc(path, 0);
  (void)burn__cuda_blas();
  void *library = named                              ? dlopen(named, RTLD_LAZY | RTLD_GLOBAL)
                  : find_library(&dnn_library, path) ? dlopen(path, RTLD_LAZY | RTLD_GLOBAL)
                                                     : NULL;
  if (library && !named) open_dnn_parts(path);
  if (!library && !named) library = dlopen(dnn_library.names[0], RTLD_LAZY | RTLD_GLOBAL);
  has_dnn = library && !find_symbols(library, symbols, COUNT_OF(symbols)) && suits_driver(&dnn);
}

const CudaDnnLibrary *burn__cuda_dnn_library_alone(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, open_dnn);
  return has_dnn ? &dnn : NULL;
}

const CudaDnnLibrary *burn__cuda_dnn_library(void) {
  const char *named = burn_common_trusted_variable("BURN_CUDA_DRIVER");
  return named && named[0] && !named_dnn() ? NULL : burn__cuda_dnn_library_alone();
}
