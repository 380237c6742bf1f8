/* emulated_nvrtc.c - libnvrtc.so for machines without a GPU: texts of kernels become shared libraries for this CPU, by
 * the C++ compiler that the tests were built with. The image is such a library with a head (emulated_module.h), which
 * the driver of tests/plugins/fake_cuda.c runs. BURN_EMULATED_CXX names another compiler. */
#include "cuda_driver.h"
#include "emulated_module.h"
#include "emulated_settings.h"
#include "emulated_text.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { COMPILE_FAILED = 6, NO_MEMORY = 1, INVALID_INPUT = 3 }; /* of nvrtcResult */

typedef struct Program {
  char *source, *log, *image;
  size_t image_bytes;
} Program;

/* Each function with the parameters that CUDA_NVRTC_FUNCTIONS gives it. */
#define EMULATED(name, parameters) \
  int name parameters;             \
  int name parameters

static const char *compiler(void) {
  const char *named = getenv("BURN_EMULATED_CXX");
  return named && named[0] ? named : EMULATED_CXX;
}

/* The second number is of no NVRTC, and another for another prelude or compiler: images are never taken for others'. */
EMULATED(nvrtcVersion, (int *major, int *minor)) {
  *major = 13;
  *minor = EMULATED_PRELUDE_HASH;
  for (const char *at = compiler(); *at; at++)
    *minor = (int)((31u * (unsigned)*minor + (unsigned char)*at) & 0x7fffffffu);
  return CUDA_OK;
}

EMULATED(nvrtcCreateProgram, (void **program, const char *source, const char *name, int headers,
                              const char *const *header_texts, const char *const *header_names)) {
  (void)name, (void)header_texts, (void)header_names;
  if (headers != 0) return INVALID_INPUT;
  Program *made = calloc(1, sizeof *made);
  if (made) made->source = strdup(source);
  if (!made || !made->source) {
    free(made);
    return NO_MEMORY;
  }
  *program = made;
  return CUDA_OK;
}

EMULATED(nvrtcDestroyProgram, (void **program)) {
  Program *made = *program;
  free(made->source);
  free(made->log);
  free(made->image);
  free(made);
  *program = NULL;
  return CUDA_OK;
}

/* -- the compiler ----------------------------------------------------------------------------- */

/* The whole file, with a zero after it and `before` free bytes before it; NULL if it cannot be read. */
static char *read_file(const char *path, size_t before, size_t *bytes) {
  struct stat about;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return NULL;
  char *data = fstat(file, &about) == 0 ? malloc(before + (size_t)about.st_size + 1) : NULL;
  if (data && read(file, data + before, (size_t)about.st_size) != about.st_size) {
    free(data);
    data = NULL;
  }
  (void)close(file);
  if (!data) return NULL;
  *bytes = (size_t)about.st_size;
  data[before + *bytes] = '\0';
  return data;
}

static int write_file(const char *path, const char *text) {
  FILE *file = fopen(path, "we");
  if (!file) return 0;
  const int is_written = fputs(text, file) >= 0;
  return fclose(file) == 0 && is_written;
}

/* Runs it with its words in `log`; its exit status, or -1. */
static int run(const char *const *arguments, const char *log) {
  posix_spawn_file_actions_t actions;
  pid_t child = 0;
  int status = 0;
  if (posix_spawn_file_actions_init(&actions) != 0) return -1;
  int error = posix_spawn_file_actions_addopen(&actions, 2, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (error == 0)
    error = posix_spawnp(&child, arguments[0], &actions, NULL, (char *const *)(uintptr_t)arguments, environ);
  (void)posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return -1;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* An architecture "sm_90" as the number 900 of __CUDA_ARCH__; definitions are passed on. */
static int read_options(int count, const char *const *options, const char **definitions, int most) {
  int architecture = 900, used = 0;
  (void)most;
  for (int i = 0; i < count; i++) {
    const char *number = strstr(options[i], "=sm_");
    if (number) architecture = 10 * atoi(number + 4);
    if (strncmp(options[i], "-D", 2) == 0 && used < most) definitions[used++] = options[i];
  }
  return architecture;
}

enum { MAX_DEFINITIONS = 16, PATH_BYTES = 256 };

typedef struct Files {
  char folder[PATH_BYTES], source[PATH_BYTES], image[PATH_BYTES], log[PATH_BYTES];
} Files;

static int make_files(Files *files) {
  const char *folder = getenv("TMPDIR");
  (void)snprintf(files->folder, sizeof files->folder, "%.200s/burn-emulated-XXXXXX",
                 folder && folder[0] ? folder : "/tmp");
  if (!mkdtemp(files->folder)) return 0;
  (void)snprintf(files->source, sizeof files->source, "%.240s/burn.cpp", files->folder);
  (void)snprintf(files->image, sizeof files->image, "%.240s/burn.so", files->folder);
  (void)snprintf(files->log, sizeof files->log, "%.240s/log", files->folder);
  return 1;
}

static void remove_files(const Files *files) {
  (void)unlink(files->source);
  (void)unlink(files->image);
  (void)unlink(files->log);
  (void)rmdir(files->folder);
}

static int compile(const Files *files, int count, const char *const *options) {
  static const char *const flags[] = {EMULATED_FLAGS, "-include", EMULATED_PRELUDE};
  const char *arguments[sizeof flags / sizeof flags[0] + MAX_DEFINITIONS + 9] = {0};
  char architecture[64];
  size_t used = 0;
  arguments[used++] = compiler();
  const char *definitions[MAX_DEFINITIONS] = {0};
  (void)snprintf(architecture, sizeof architecture, "-DBURN_EMULATED_ARCHITECTURE=%d",
                 read_options(count, options, definitions, MAX_DEFINITIONS));
  arguments[used++] = architecture;
  for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) arguments[used++] = flags[i];
  for (size_t i = 0; i < MAX_DEFINITIONS && definitions[i]; i++) arguments[used++] = definitions[i];
  arguments[used++] = "-o";
  arguments[used++] = files->image;
  arguments[used++] = files->source;
  arguments[used++] = "-lm";
  arguments[used] = "-lgcc";
  return run(arguments, files->log);
}

static int take_image(Program *program, const Files *files) {
  program->image = read_file(files->image, sizeof(EmulatedImage), &program->image_bytes);
  if (!program->image) return COMPILE_FAILED;
  EmulatedImage head = {{0}, program->image_bytes};
  memcpy(head.magic, EMULATED_MAGIC, sizeof head.magic);
  memcpy(program->image, &head, sizeof head);
  program->image_bytes += sizeof head;
  return CUDA_OK;
}

EMULATED(nvrtcCompileProgram, (void *program, int count, const char *const *options)) {
  Program *made = program;
  Files files;
  size_t log_bytes = 0;
  char *text = emulated_text(made->source);
  if (!text || !make_files(&files)) {
    free(text);
    return NO_MEMORY;
  }
  int error = COMPILE_FAILED;
  if (write_file(files.source, text) && compile(&files, count, options) == 0) error = take_image(made, &files);
  made->log = read_file(files.log, 0, &log_bytes);
  remove_files(&files);
  free(text);
  return error;
}

/* -- what came of it -------------------------------------------------------------------------- */

EMULATED(nvrtcGetCUBINSize, (void *program, size_t *bytes)) {
  *bytes = ((Program *)program)->image_bytes;
  return CUDA_OK;
}

EMULATED(nvrtcGetCUBIN, (void *program, char *image)) {
  const Program *made = program;
  if (made->image) memcpy(image, made->image, made->image_bytes);
  return made->image ? CUDA_OK : INVALID_INPUT;
}

static const char *log_of(const Program *program) {
  return program->log ? program->log : "the C++ compiler of the emulation does not start";
}

EMULATED(nvrtcGetProgramLogSize, (void *program, size_t *bytes)) {
  *bytes = strlen(log_of(program)) + 1;
  return CUDA_OK;
}

EMULATED(nvrtcGetProgramLog, (void *program, char *log)) {
  const char *text = log_of(program);
  memcpy(log, text, strlen(text) + 1);
  return CUDA_OK;
}
