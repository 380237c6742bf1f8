/* autotune.c - timing, the table of choices, and their file.
 *
 * The table only grows, so looking a choice up takes no lock: an entry is complete before its address is stored. The
 * file is text, a line per choice: machine, work, numbers, the winner, its nanoseconds; lines of other machines are
 * kept, lines that are no such line are passed over. It is read when the first choice is asked for, and a line is added
 * per measurement, so several processes may share it. What another release measured lies in another file.
 *
 * A machine that is busy while it is timed gives wrong winners, which would stay for good. So measurements during which
 * this process had to give a processor away do not count, and a choice is settled only when two that follow each other
 * in the file agree: a second process times it once more. */
#include <burn/common/autotune.h>
#include <burn/common/environment.h>
#include <burn/common/hash.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)
#include <cpuid.h>
#endif
#if defined(_WIN32)
#include <direct.h>
#define make_folder(path) _mkdir(path)
#else
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>
#define make_folder(path) mkdir(path, 0700)
#endif

enum { MIN_ROUNDS = 3, MAX_ROUNDS = 8, SHORT_NS = 10000000 };
enum { SHORT_RUN_NS = 1000000 }; /* below which what another way left in the caches is a good part of a run */
enum { DISTURBED_NS = 1000000 }; /* from which on it is looked at whether a measurement was disturbed */
enum { MAX_MEASUREMENTS = 4 };   /* after so many of which no two agreed, it does not matter, and is the fallback */
enum { TABLE_SIZE = 4096, LINE_BYTES = 640, FILE_LINES = 100000, MACHINE_BYTES = 160 };

typedef struct Entry {
  int64_t numbers[BURN_COMMON_TUNE_NUMBERS];
  char work[40], winner[40]; /* winner "": the fallback */
  uint32_t measurements;
  bool settled;         /* for this process */
  struct Entry *before; /* what it replaced, which somebody may still be reading */
} Entry;

struct BurnCommonTuner {
  const BurnHost *host;
  uint32_t mode, count;
  pthread_mutex_t mutex; /* of what follows */
  bool loaded;
  char *path;
  char machine[MACHINE_BYTES];
  _Atomic(Entry *) table[TABLE_SIZE];
};

static uint64_t hash_of(const char *work, const int64_t *numbers) {
  uint64_t hash = burn_common_hash_text(UINT64_C(0x9e3779b97f4a7c15), work);
  for (int i = 0; i < BURN_COMMON_TUNE_NUMBERS; i++)
    hash = (hash ^ (uint64_t)numbers[i]) * UINT64_C(0xff51afd7ed558ccd) ^ hash >> 31;
  return hash;
}

/* The entry, or the place where it would stand; NULL if the table is full. */
static _Atomic(Entry *) *place_of(BurnCommonTuner *tuner, const char *work, const int64_t *numbers) {
  const uint64_t hash = hash_of(work, numbers);
  for (uint32_t i = 0; i < TABLE_SIZE; i++) {
    _Atomic(Entry *) *place = &tuner->table[(hash + i) % TABLE_SIZE];
    const Entry *entry = atomic_load_explicit(place, memory_order_acquire);
    if (!entry) return place;
    if (strcmp(entry->work, work) == 0 && memcmp(entry->numbers, numbers, sizeof entry->numbers) == 0) return place;
  }
  return NULL;
}

/* With the mutex held. Half of the table stays empty, so that looking up ends soon. */
static void remember(BurnCommonTuner *tuner, const Entry *new_entry) {
  _Atomic(Entry *) *place = place_of(tuner, new_entry->work, new_entry->numbers);
  Entry *before = place ? atomic_load(place) : NULL;
  if (!place || (!before && tuner->count >= TABLE_SIZE / 2)) return;
  Entry *entry = (Entry *)tuner->host->allocate(sizeof *entry);
  if (!entry) return;
  *entry = *new_entry;
  entry->before = before;
  tuner->count += !before;
  atomic_store_explicit(place, entry, memory_order_release);
}

/* With the mutex held. One more measurement of what the file says already, or not. */
static void learn(BurnCommonTuner *tuner, Entry *entry) {
  _Atomic(Entry *) *place = place_of(tuner, entry->work, entry->numbers);
  const Entry *known = place ? atomic_load(place) : NULL;
  if (known && known->settled) return;
  entry->measurements = known ? known->measurements + 1 : 1;
  entry->settled = known && strcmp(known->winner, entry->winner) == 0;
  if (!entry->settled && entry->measurements >= MAX_MEASUREMENTS) {
    entry->settled = true;
    entry->winner[0] = '\0';
  }
  remember(tuner, entry);
}

/* -- the file --------------------------------------------------------------------------------- */

/* The file of choices for reading ("r") or for adding lines ("a"); NULL if it is not there or no regular file: a pipe
 * in its place would keep the reader waiting, with the mutex held. */
static FILE *open_file(const char *path, const char *how) {
#if defined(_WIN32)
  return fopen(path, how);
#else
  const int flags = *how == 'r' ? O_RDONLY : O_WRONLY | O_APPEND | O_CREAT;
  const int number = open(path, flags | O_NONBLOCK | O_CLOEXEC, 0666);
  struct stat found;
  FILE *file = number >= 0 && fstat(number, &found) == 0 && S_ISREG(found.st_mode) ? fdopen(number, how) : NULL;
  if (!file && number >= 0) (void)close(number);
  return file;
#endif
}

/* Takes the next word, up to a tab or the end of the line; false if there is none or it does not fit. */
static bool take_word(const char **at, char *word, size_t bytes) {
  const size_t length = strcspn(*at, "\t\n");
  if (length == 0 || length >= bytes) return false;
  memcpy(word, *at, length);
  word[length] = '\0';
  *at += length + ((*at)[length] == '\t');
  return true;
}

/* "machine TAB work TAB 1,2,.. TAB winner TAB ns" */
static bool parse_line(const char *line, char *machine, Entry *entry) {
  char numbers[BURN_COMMON_TUNE_NUMBERS * 22];
  memset(entry, 0, sizeof *entry);
  if (!take_word(&line, machine, MACHINE_BYTES) || !take_word(&line, entry->work, sizeof entry->work) ||
      !take_word(&line, numbers, sizeof numbers) || !take_word(&line, entry->winner, sizeof entry->winner))
    return false;
  char *at = numbers;
  for (int i = 0; i < BURN_COMMON_TUNE_NUMBERS; i++) {
    char *end = NULL;
    entry->numbers[i] = strtoll(at, &end, 10);
    if (end == at || *end != (i + 1 < BURN_COMMON_TUNE_NUMBERS ? ',' : '\0')) return false;
    at = end + 1;
  }
  return true;
}

/* With the mutex held. */
static void load(BurnCommonTuner *tuner) {
  if (tuner->loaded) return;
  tuner->loaded = true;
  FILE *file = tuner->path ? open_file(tuner->path, "r") : NULL;
  if (!file) return;
  char line[LINE_BYTES], machine[MACHINE_BYTES];
  Entry entry;
  for (int i = 0; i < FILE_LINES && fgets(line, sizeof line, file); i++)
    if (parse_line(line, machine, &entry) && strcmp(machine, tuner->machine) == 0) learn(tuner, &entry);
  fclose(file);
}

/* The folder of a file, if it is not there yet; only the last two levels are ours to make. */
static void make_folders(const char *path) {
  char folder[1024];
  const char *end = strrchr(path, '/');
  if (!end || (size_t)(end - path) >= sizeof folder) return;
  memcpy(folder, path, (size_t)(end - path));
  folder[end - path] = '\0';
  if (make_folder(folder) == 0) return;
  char *parent = strrchr(folder, '/');
  if (!parent || parent == folder) return;
  *parent = '\0';
  (void)make_folder(folder);
  *parent = '/';
  (void)make_folder(folder);
}

/* One write, so that lines of several processes do not mix. A file that cannot be written is done without. */
static void append(const BurnCommonTuner *tuner, const Entry *entry, uint64_t nanoseconds) {
  if (!tuner->path) return;
  char line[LINE_BYTES];
  int used = snprintf(line, sizeof line, "%s\t%s\t", tuner->machine, entry->work);
  for (int i = 0; i < BURN_COMMON_TUNE_NUMBERS; i++)
    used += snprintf(line + used, sizeof line - (size_t)used, i ? ",%" PRId64 : "%" PRId64, entry->numbers[i]);
  used += snprintf(line + used, sizeof line - (size_t)used, "\t%s\t%" PRIu64 "\n", entry->winner, nanoseconds);
  make_folders(tuner->path);
  FILE *file = open_file(tuner->path, "a");
  if (!file) return;
  (void)fwrite(line, 1, (size_t)used, file);
  (void)fclose(file);
}

/* -- timing ----------------------------------------------------------------------------------- */

/* The fastest of some runs of each way, in turns that begin with another way each; the first round warms up. Short work
 * is easily disturbed and soon repeated; a short run comes after one of the same way, as it does in use. What a rule
 * would take is left for one only that is clearly faster, and was faster in every round. */
static uint32_t measure(const BurnCommonTuner *tuner, const BurnCommonTuneChoice *choice, uint64_t *nanoseconds) {
  const uint32_t rounds = tuner->mode == BURN_COMMON_TUNE_FULL ? 10 : MIN_ROUNDS, rule = choice->fallback;
  const uint64_t start = tuner->host->now_ns();
  uint64_t best[BURN_COMMON_TUNE_CANDIDATES], times[BURN_COMMON_TUNE_CANDIDATES] = {0};
  bool lost[BURN_COMMON_TUNE_CANDIDATES] = {false}; /* to the rule, in some round */
  for (uint32_t i = 0; i < choice->count; i++) best[i] = UINT64_MAX;
  for (uint32_t round = 0; round < rounds || (round < MAX_ROUNDS && tuner->host->now_ns() - start < SHORT_NS);
       round++) {
    for (uint32_t turn = 0; turn < choice->count; turn++) {
      const uint32_t i = (round + turn) % choice->count;
      if (round > 0 && times[i] < SHORT_RUN_NS) choice->run(choice->context, i);
      const uint64_t begin = tuner->host->now_ns();
      choice->run(choice->context, i);
      times[i] = tuner->host->now_ns() - begin;
    }
    for (uint32_t i = 0; i < choice->count && round > 0; i++) {
      if (times[i] < best[i]) best[i] = times[i];
      lost[i] = lost[i] || times[i] >= times[rule];
    }
  }
  const uint64_t clearly = best[rule] / 8 * 7;
  uint32_t winner = rule;
  for (uint32_t i = 0; i < choice->count; i++)
    if (!lost[i] && best[i] < best[winner] && best[i] < clearly) winner = i;
  *nanoseconds = best[winner];
  return winner;
}

/* How often other processes have taken the processor away from this one; 0 where that is not known. */
static long switches(void) {
#if defined(_WIN32)
  return 0;
#else
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nivcsw : 0;
#endif
}

/* As measure. False if other processes wanted the processors meanwhile: times are those of another machine then, with
 * fewer of them, so the rule's way is taken and nothing is remembered for others. */
static bool measure_alone(const BurnCommonTuner *tuner, const BurnCommonTuneChoice *choice, uint32_t *winner,
                          uint64_t *nanoseconds) {
  const uint64_t start = tuner->host->now_ns();
  const long before = switches();
  *winner = measure(tuner, choice, nanoseconds);
  if (switches() == before || tuner->host->now_ns() - start < DISTURBED_NS) return true;
  *winner = choice->fallback;
  return false;
}

static uint32_t number_of(const BurnCommonTuneChoice *choice, const Entry *entry) {
  for (uint32_t i = 0; i < choice->count; i++)
    if (strcmp(choice->names[i], entry->winner) == 0) return i;
  return choice->fallback;
}

/* The mutex is held while timing: two choices timed at once would disturb each other. */
static uint32_t decide(BurnCommonTuner *tuner, const BurnCommonTuneChoice *choice) {
  load(tuner);
  _Atomic(Entry *) *place = place_of(tuner, choice->work, choice->numbers);
  const Entry *known = place ? atomic_load(place) : NULL;
  if (known && known->settled) return number_of(choice, known);
  if (!place || (!known && tuner->count >= TABLE_SIZE / 2)) return choice->fallback;
  Entry entry;
  uint64_t nanoseconds = 0;
  uint32_t winner = choice->fallback;
  const bool alone = measure_alone(tuner, choice, &winner, &nanoseconds);
  memset(&entry, 0, sizeof entry);
  memcpy(entry.numbers, choice->numbers, sizeof entry.numbers);
  (void)snprintf(entry.work, sizeof entry.work, "%s", choice->work);
  (void)snprintf(entry.winner, sizeof entry.winner, "%s", choice->names[winner]);
  entry.settled = true;
  remember(tuner, &entry);
  if (alone) append(tuner, &entry, nanoseconds);
  if (tuner->host->log_enabled(BURN_LOG_INFO)) {
    char text[160];
    (void)snprintf(text, sizeof text, "%s: %s of %u ways, %" PRIu64 " ns%s", entry.work, entry.winner, choice->count,
                   nanoseconds, alone ? "" : "; other processes disturbed the measurement");
    tuner->host->log(BURN_LOG_INFO, "autotune", text);
  }
  return winner;
}

uint32_t burn_common_tune(BurnCommonTuner *tuner, const BurnCommonTuneChoice *choice) {
  if (!tuner || tuner->mode == BURN_COMMON_TUNE_OFF || choice->count < 2) return choice->fallback;
  _Atomic(Entry *) *place = place_of(tuner, choice->work, choice->numbers);
  const Entry *entry = place ? atomic_load_explicit(place, memory_order_acquire) : NULL;
  if (entry && entry->settled) return number_of(choice, entry);
  pthread_mutex_lock(&tuner->mutex);
  const uint32_t winner = decide(tuner, choice);
  pthread_mutex_unlock(&tuner->mutex);
  return winner;
}

/* -- life ------------------------------------------------------------------------------------- */

BurnCommonTuner *burn_common_tuner_create(const BurnHost *host, uint32_t mode, const char *machine, const char *path) {
  BurnCommonTuner *tuner = (BurnCommonTuner *)host->allocate(sizeof *tuner);
  if (!tuner) return NULL;
  memset(tuner, 0, sizeof *tuner);
  tuner->host = host;
  tuner->mode = mode;
  (void)snprintf(tuner->machine, sizeof tuner->machine, "%s", machine);
  if (path && *path) {
    tuner->path = (char *)host->allocate(strlen(path) + 1u);
    if (!tuner->path) {
      host->free(tuner, sizeof *tuner);
      return NULL;
    }
    memcpy(tuner->path, path, strlen(path) + 1u);
  }
  pthread_mutex_init(&tuner->mutex, NULL);
  return tuner;
}

void burn_common_tuner_destroy(BurnCommonTuner *tuner) {
  if (!tuner) return;
  const BurnHost *host = tuner->host;
  for (uint32_t i = 0; i < TABLE_SIZE; i++) {
    for (Entry *entry = atomic_load(&tuner->table[i]), *before = NULL; entry; entry = before) {
      before = entry->before;
      host->free(entry, sizeof *entry);
    }
  }
  if (tuner->path) host->free(tuner->path, strlen(tuner->path) + 1u);
  pthread_mutex_destroy(&tuner->mutex);
  host->free(tuner, sizeof *tuner);
}

/* -- the environment -------------------------------------------------------------------------- */

void burn_common_tune_machine(char *machine, uint64_t bytes, const char *variant) {
  uint32_t name[13] = {0}; /* 48 bytes and an end */
#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)
  for (uint32_t i = 0; i < 3; i++) {
    uint32_t *part = name + 4 * i;
    if (!__get_cpuid(0x80000002u + i, part, part + 1, part + 2, part + 3)) break;
  }
#endif
  char text[sizeof name];
  memcpy(text, name, sizeof name);
  for (char *at = text; *at; at++)
    if (*at == '\t' || *at == '\n') *at = ' ';
  (void)snprintf(machine, bytes, "%s, %s", text[0] ? text : "unknown processor", variant);
}

bool burn_common_tune_parse(const char *text, uint32_t *mode) {
  static const char *const words[] = {"off", "quick", "full"};
  for (uint32_t i = 0; i < 3; i++) {
    if (strcmp(text, words[i]) != 0) continue;
    *mode = i;
    return true;
  }
  return false;
}

uint32_t burn_common_tune_mode(bool *known) {
  const char *text = getenv("BURN_AUTOTUNE");
  uint32_t mode = BURN_COMMON_TUNE_QUICK;
  *known = !text || !*text || burn_common_tune_parse(text, &mode);
  return mode;
}

void burn_common_tune_path(char *path, uint64_t bytes, const char *plugin, const char *version) {
#if defined(_WIN32)
  const char *cache = burn_common_trusted_variable("LOCALAPPDATA"), *below = "";
#else
  const char *cache = burn_common_trusted_variable("XDG_CACHE_HOME"), *below = "";
  if (!cache || *cache != '/') {
    cache = burn_common_trusted_variable("HOME");
    below = "/.cache";
  }
#endif
  const int length =
      cache && *cache ? snprintf(path, bytes, "%s%s/burn/autotune-%s-%s.txt", cache, below, plugin, version) : 0;
  if (length <= 0 || (uint64_t)length >= bytes) path[0] = '\0';
}
