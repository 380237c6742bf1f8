/* plugin_load_posix.c - what discovery needs from the system: folders, dlopen, our own place. */
#define _GNU_SOURCE /* dladdr1 */
#include "core_internal.h"
#include "trust_posix.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__linux__)
#include <link.h>
#endif

static const char prefix[] = "burn_", suffix[] = ".so";

#if defined(__linux__)
/* Machines that plugins are likely to be built for. */
static const struct {
  unsigned number;
  const char *name;
} machines[] = {{EM_X86_64, "x86-64"},  {EM_AARCH64, "AArch64"}, {EM_386, "32-bit x86"},
                {EM_ARM, "32-bit ARM"}, {EM_RISCV, "RISC-V"},    {EM_PPC64, "PowerPC"},
                {EM_S390, "IBM Z"},     {EM_MIPS, "MIPS"},       {258 /* EM_LOONGARCH */, "LoongArch"}};

/* What this library is built for; EM_NONE: we do not know, and leave it to the loader. */
#if defined(__x86_64__)
enum { OUR_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { OUR_MACHINE = EM_AARCH64 };
#elif defined(__i386__)
enum { OUR_MACHINE = EM_386 };
#elif defined(__arm__)
enum { OUR_MACHINE = EM_ARM };
#elif defined(__riscv)
enum { OUR_MACHINE = EM_RISCV };
#else
enum { OUR_MACHINE = EM_NONE };
#endif

static const char *machine_name(unsigned number) {
  for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
    if (machines[i].number == number) return machines[i].name;
  }
  return "another machine";
}

/* A file that was cut (a full disk, a copy that was stopped) is mapped all the same, and ends the process where its
 * missing pages are touched. */
static bool is_whole(int file, const ElfW(Ehdr) * header, uint64_t file_bytes) {
  ElfW(Phdr) segment;
  for (unsigned i = 0; i < header->e_phnum; i++) {
    const off_t at = (off_t)(header->e_phoff + i * sizeof segment);
    if (pread(file, &segment, sizeof segment, at) != (ssize_t)sizeof segment) return false;
    if (segment.p_type != PT_LOAD) continue;
    if (segment.p_filesz > file_bytes || segment.p_offset > file_bytes - segment.p_filesz) return false;
  }
  return true;
}

/* What the loader would not say, or only by a crash; it has its own words for what is not an ELF file. */
static BurnStatus check_image(int file) {
  ElfW(Ehdr) header;
  struct stat info;
  if (fstat(file, &info) != 0 || pread(file, &header, sizeof header, 0) != (ssize_t)sizeof header) return BURN_OK;
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return BURN_OK;
  if (OUR_MACHINE != EM_NONE && header.e_machine != OUR_MACHINE) {
    return BURN_FAIL(INCOMPATIBLE, "cannot be loaded: it is built for %s, this machine is %s",
                     machine_name(header.e_machine), machine_name(OUR_MACHINE));
  }
  if (header.e_phentsize != sizeof(ElfW(Phdr)) || is_whole(file, &header, (uint64_t)info.st_size)) return BURN_OK;
  return BURN_FAIL(INCOMPATIBLE, "cannot be loaded: the end of the file is missing; copy it again");
}
#else
static BurnStatus check_image(int file) {
  (void)file;
  return BURN_OK;
}
#endif

/* By its real name, so that messages, debuggers and $ORIGIN know its place (by /proc/self/fd/N they would not). Nobody
 * but root and the user can change what is behind that name: all folders above have been looked at. That it was not
 * changed meanwhile is seen by the descriptor. NOW: a missing symbol shows here. LOCAL: plugins never see each other's
 * symbols. */
static BurnStatus load_library(const char *real, int file, void **library) {
  struct stat checked, named;
  const BurnStatus status = check_image(file);
  if (status != BURN_OK) return status;
  *library = dlopen(real, RTLD_NOW | RTLD_LOCAL);
  if (!*library) {
    const char *reason = dlerror();
    return BURN_FAIL(INCOMPATIBLE, "cannot be loaded: %s", reason ? reason : "unknown reason");
  }
  if (fstat(file, &checked) == 0 && stat(real, &named) == 0 && checked.st_dev == named.st_dev &&
      checked.st_ino == named.st_ino) {
    return BURN_OK;
  }
  return BURN_FAIL(INCOMPATIBLE, "cannot be loaded: '%s' was replaced while it was loaded", real);
}

/* A variable of that name would be called, too. */
static bool is_function(void *symbol) {
#if defined(__GLIBC__)
  Dl_info info;
  const ElfW(Sym) *entry = NULL;
  if (dladdr1(symbol, &info, (void **)(uintptr_t)&entry, RTLD_DL_SYMENT) == 0 || !entry) return true;
  return (entry->st_info & 0xf) != STT_OBJECT;
#else
  (void)symbol;
  return true;
#endif
}

/* A library is never closed, not even one without an entry: its constructors have run, and may have started threads
 * that are still in its code. Of a plugin there are statuses and primitives that may outlive their device, too. */
BurnStatus burn__plugin_open_file(const char *path, BurnPluginQuery *out, BurnRefusal *refusal) {
  char *real = NULL;
  int file = -1;
  void *library = NULL;
  BurnStatus status = burn__file_open_checked(path, &real, &file, refusal);
  if (status != BURN_OK) return status;
  *refusal = BURN_REFUSED_NOT_LOADABLE;
  status = load_library(real, file, &library);
  (void)close(file);
  free(real);
  if (status != BURN_OK) return status;
  *refusal = BURN_REFUSED_NO_ENTRY;
  void *symbol = dlsym(library, BURN_PLUGIN_SYMBOL);
  if (!symbol) {
    return BURN_FAIL(INCOMPATIBLE,
                     "has no symbol " BURN_PLUGIN_SYMBOL
                     ": not a Burn plugin, or one of another major version (this is %u)",
                     BURN_ABI_MAJOR);
  }
  if (!is_function(symbol)) {
    return BURN_FAIL(INCOMPATIBLE, "its " BURN_PLUGIN_SYMBOL " is not a function: define it with BURN_PLUGIN_ENTRY");
  }
  memcpy(out, &symbol, sizeof *out); /* ISO C has no cast from object to function pointer */
  return BURN_OK;
}

static char *own_file; /* NULL if it could not be found */

/* When this library is loaded: its path may be relative, to a working directory that the program changes later. */
__attribute__((constructor)) static void find_own_file(void) {
  Dl_info info;
  /* The address of a static object of this library, so no function pointer has to be cast. */
  if (dladdr(prefix, &info) == 0 || !info.dli_fname) return;
  own_file = realpath(info.dli_fname, NULL);
}

char *burn__own_file(void) { return burn__text_copy(own_file); }

char *burn__own_folder(void) {
  char *folder = burn__text_copy(own_file), *slash = folder ? strrchr(folder, '/') : NULL;
  if (slash) *slash = '\0';
  return folder;
}

char *burn__absolute_path(const char *path) {
  if (path[0] == '/') return burn__text_copy(path);
  char *here = getcwd(NULL, 0);
  char *whole = here ? burn__text_format("%s/%s", here, path) : NULL;
  free(here);
  return whole;
}

static int compare_names(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static bool is_plugin_name(const char *name) {
  const size_t length = strlen(name);
  return length > sizeof prefix - 1 + sizeof suffix - 1 && strncmp(name, prefix, sizeof prefix - 1) == 0 &&
         strcmp(name + length - (sizeof suffix - 1), suffix) == 0;
}

static BurnStatus no_folder(const char *folder, int error, bool *exists) {
  const bool is_file = error == ENOTDIR && burn__file_presence(folder) == BURN__PRESENT;
  *exists = is_file || (error != ENOENT && error != ENOTDIR);
  if (is_file) return BURN_FAIL(IO, "it is a file; name its folder");
  return *exists ? BURN_FAIL(IO, "folder '%s': %s", folder, strerror(error)) : BURN_OK;
}

BurnStatus burn__plugin_list_folder(const char *folder, char ***names, size_t *count, bool *exists) {
  *names = NULL;
  *count = 0;
  DIR *stream = opendir(folder);
  if (!stream) return no_folder(folder, errno, exists);
  *exists = true;
  size_t capacity = 0;
  for (struct dirent *entry; (entry = readdir(stream));) {
    if (!is_plugin_name(entry->d_name)) continue;
    if (*count == capacity) {
      char **more = realloc(*names, (capacity ? capacity * 2 : 8) * sizeof *more);
      if (!more) break;
      *names = more;
      capacity = capacity ? capacity * 2 : 8;
    }
    char *name = burn__text_copy(entry->d_name);
    if (!name) break;
    (*names)[(*count)++] = name;
  }
  closedir(stream);
  if (*count > 1) qsort(*names, *count, sizeof **names, compare_names);
  return BURN_OK;
}
