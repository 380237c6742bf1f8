/* backtrace_posix.c - backtrace.h by the unwind tables of the compiler, and by libdw where it is installed.
 *
 * Lines are read from the debug information by libdw (elfutils), loaded when the first place is asked for: libburn
 * needs it neither to be built nor to run. No child process is started and nothing is fetched. */
#define _GNU_SOURCE /* dladdr1, dl_iterate_phdr */
#include "backtrace.h"
#include "core_internal.h"
#include "platform.h"
#include "privileged.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>
#if !defined(__APPLE__)
#include <link.h>
#endif

/* -- whose code ------------------------------------------------------------------------------- */

typedef enum Owner { OWNER_UNKNOWN, OWNER_BURN, OWNER_PROGRAM, OWNER_BOTH } Owner; /* both: a static build */
typedef struct Module {
  uintptr_t first, last;
  Owner owner;
} Module;

/* What has been met; only added to, so that readers need no lock. One that was unloaded is asked about no more. */
static struct {
  pthread_mutex_t mutex;
  atomic_size_t count;
  Module modules[64];
} known = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static const char own_address;

static bool starts_with(const char *text, const char *start) { return strncmp(text, start, strlen(start)) == 0; }

static Owner owner_of(const char *path, bool has_own_code) {
  const char *name = burn__path_file_name(path);
  if (path[0] == '\0') return has_own_code ? OWNER_BOTH : OWNER_PROGRAM; /* the program itself */
  const bool ours =
      has_own_code || starts_with(name, "libburn") || starts_with(name, "burn_") || starts_with(name, "libc.so");
  return ours ? OWNER_BURN : OWNER_PROGRAM;
}

#if defined(__APPLE__)
/* The page of the address alone: Mach-O images have their segments elsewhere than in one table that is walked. */
static Module module_at(uintptr_t address) {
  enum { PAGE = 4096 };
  const uintptr_t first = address - address % PAGE;
  Dl_info info, own;
  Module module = {first, first + PAGE - 1, OWNER_UNKNOWN};
  if (dladdr((const void *)address, &info) == 0 || dladdr(&own_address, &own) == 0) return module;
  module.owner = owner_of(info.dli_fname ? info.dli_fname : "", info.dli_fbase == own.dli_fbase);
  return module;
}
#else
static bool holds(const struct dl_phdr_info *info, uintptr_t address, Module *range) {
  bool inside = false;
  *range = (Module){UINTPTR_MAX, 0, OWNER_UNKNOWN};
  for (size_t i = 0; i < info->dlpi_phnum; i++) {
    if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
    const uintptr_t first = (uintptr_t)info->dlpi_addr + (uintptr_t)info->dlpi_phdr[i].p_vaddr;
    const uintptr_t last = first + (uintptr_t)info->dlpi_phdr[i].p_memsz - 1;
    inside = inside || (address >= first && address <= last);
    if (first < range->first) range->first = first;
    if (last > range->last) range->last = last;
  }
  return inside;
}

typedef struct Search {
  uintptr_t address;
  Module found;
} Search;

static int look_into(struct dl_phdr_info *info, size_t bytes, void *context) {
  Search *search = context;
  Module module, own;
  (void)bytes;
  if (!holds(info, search->address, &module)) return 0;
  module.owner = owner_of(info->dlpi_name ? info->dlpi_name : "", holds(info, (uintptr_t)&own_address, &own));
  search->found = module;
  return 1;
}

static Module module_at(uintptr_t address) {
  Search search = {address, {0, 0, OWNER_UNKNOWN}};
  (void)dl_iterate_phdr(look_into, &search);
  return search.found;
}
#endif

static BURN__COLD Owner learn(uintptr_t address) {
  const Module found = module_at(address);
  if (found.owner == OWNER_UNKNOWN) return OWNER_UNKNOWN;
  pthread_mutex_lock(&known.mutex);
  const size_t count = atomic_load_explicit(&known.count, memory_order_relaxed);
  if (count < sizeof known.modules / sizeof known.modules[0]) {
    known.modules[count] = found;
    atomic_store_explicit(&known.count, count + 1, memory_order_release);
  }
  pthread_mutex_unlock(&known.mutex);
  return found.owner;
}

static Owner owner_at(uintptr_t address) {
  const size_t count = atomic_load_explicit(&known.count, memory_order_acquire);
  for (size_t i = 0; i < count; i++) {
    const Module *module = &known.modules[i];
    if (address >= module->first && address <= module->last) return module->owner;
  }
  return learn(address);
}

/* -- frames ----------------------------------------------------------------------------------- */

typedef struct Walk {
  const void **frames;
  size_t count, most;
} Walk;

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *argument) {
  Walk *walk = argument;
  int at_instruction = 0; /* not after the call */
  const uintptr_t next = (uintptr_t)_Unwind_GetIPInfo(context, &at_instruction);
  const uintptr_t address = next - (at_instruction ? 0 : 1);
  if (next == 0) return _URC_END_OF_STACK; /* any but NO_REASON ends it, and this is what all processors have */
  if (owner_at(address) == OWNER_PROGRAM) walk->frames[walk->count++] = (const void *)address;
  return walk->count == walk->most ? _URC_END_OF_STACK : _URC_NO_REASON;
}

size_t burn__program_frames(const void **frames, size_t most) {
  Walk walk = {frames, 0, most};
  if (most > 0 && owner_at((uintptr_t)&own_address) != OWNER_BOTH) (void)_Unwind_Backtrace(visit, &walk);
  return walk.count;
}

/* -- lines ------------------------------------------------------------------------------------ */

/* Of elfutils/libdwfl.h. */
typedef void (*AnyFunction)(void);
typedef struct DwflCallbacks {
  AnyFunction find_elf, find_debuginfo, section_address;
  char **debuginfo_path;
} DwflCallbacks;
#define DWFL_FUNCTIONS(X)                              \
  X(void *, begin, (const DwflCallbacks *))            \
  X(void, report_begin, (void *))                      \
  X(int, report_end, (void *, AnyFunction, void *))    \
  X(int, linux_proc_report, (void *, pid_t))           \
  X(void *, addrmodule, (void *, uint64_t))            \
  X(const char *, module_addrname, (void *, uint64_t)) \
  X(void *, module_getsrc, (void *, uint64_t))         \
  X(const char *, lineinfo, (void *, uint64_t *, int *, int *, uint64_t *, uint64_t *))

static struct {
  pthread_mutex_t mutex; /* libdw is for one thread at a time */
  bool tried;
  void *session;
#define MEMBER(result, name, parameters) result(*name) parameters;
  DWFL_FUNCTIONS(MEMBER)
#undef MEMBER
} dwfl = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static bool find_function(void *library, const char *name, void *out) {
  void *symbol = dlsym(library, name);
  memcpy(out, &symbol, sizeof symbol); /* ISO C has no cast from object to function pointer */
  return symbol != NULL;
}

/* Debug information is looked for in the file and under its build id on this machine; nobody is asked for it. */
static void dwfl_open(void) {
  static DwflCallbacks callbacks;
  dwfl.tried = true;
  void *library = burn__process_is_privileged() ? NULL : dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return;
  bool complete = find_function(library, "dwfl_linux_proc_find_elf", &callbacks.find_elf) &&
                  find_function(library, "dwfl_build_id_find_debuginfo", &callbacks.find_debuginfo);
#define FIND(result, name, parameters) complete = complete && find_function(library, "dwfl_" #name, &dwfl.name);
  DWFL_FUNCTIONS(FIND)
#undef FIND
  if (complete) dwfl.session = dwfl.begin(&callbacks);
}

/* The module of libdw; libraries loaded since the last look are found by a new one. */
static void *dwfl_module(uint64_t address) {
  void *module = dwfl.addrmodule(dwfl.session, address);
  if (module) return module;
  dwfl.report_begin(dwfl.session);
  (void)dwfl.linux_proc_report(dwfl.session, getpid());
  (void)dwfl.report_end(dwfl.session, NULL, NULL);
  return dwfl.addrmodule(dwfl.session, address);
}

static void find_line(uint64_t address, BurnPlace *place) {
  pthread_mutex_lock(&dwfl.mutex);
  if (!dwfl.tried) dwfl_open();
  void *module = dwfl.session ? dwfl_module(address) : NULL;
  const char *function = module ? dwfl.module_addrname(module, address) : NULL;
  void *source = module ? dwfl.module_getsrc(module, address) : NULL;
  const char *file = source ? dwfl.lineinfo(source, NULL, &place->line, NULL, NULL, NULL) : NULL;
  if (function) (void)snprintf(place->function, sizeof place->function, "%s", function);
  if (file) (void)snprintf(place->file, sizeof place->file, "%s", burn__path_file_name(file));
  if (!file) place->line = 0;
  if (!file) place->missing = dwfl.session ? "build the program with -g" : "install libdw (elfutils), or ask addr2line";
  pthread_mutex_unlock(&dwfl.mutex);
}

/* Where a file's addresses start: only glibc has it for programs that are linked to a fixed place, too. */
static bool find_object(const void *address, Dl_info *info, uint64_t *start) {
#if defined(__GLIBC__)
  struct link_map *map = NULL;
  if (dladdr1(address, info, (void **)&map, RTLD_DL_LINKMAP) == 0) return false;
  *start = map ? (uint64_t)map->l_addr : 0;
#else
  if (dladdr(address, info) == 0) return false;
  *start = (uint64_t)(uintptr_t)info->dli_fbase;
#endif
  return true;
}

void burn__place_find(const void *address, BurnPlace *place) {
  Dl_info info = {0};
  uint64_t start = 0;
  *place = (BurnPlace){.offset = (uint64_t)(uintptr_t)address};
  if (find_object(address, &info, &start)) {
    place->offset -= start;
    (void)snprintf(place->module, sizeof place->module, "%s", info.dli_fname ? info.dli_fname : "");
    (void)snprintf(place->function, sizeof place->function, "%s", info.dli_sname ? info.dli_sname : "");
  }
  find_line((uint64_t)(uintptr_t)address, place);
}
