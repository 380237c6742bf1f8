/* cuda_image_cache_test.c - compiled kernels on disk (plugins/cuda/cuda_image_cache.c, plugins/gpu/gpu_cache_file.c):
 * what is not whole is not there, what is not a file keeps nobody waiting, what others could have written is not
 * believed, and what killed writers left goes. */
#include "cuda_image_cache.h"
#include "forked.h"

#include <burn/op_call.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const CudaImageName name = {{1, 2}, "cubin"};
static const char image[] = "an image of a kernel";
static char folder[64], path[160];

static int set_up(void **state) {
  (void)state;
  make_folder(folder);
  (void)snprintf(path, sizeof path, "%s/burn/cuda/%016x%016x.cubin", folder, 1, 2);
  return setenv("XDG_CACHE_HOME", folder, 1);
}

static int tear_down(void **state) {
  char command[100];
  (void)state;
  (void)snprintf(command, sizeof command, "rm -r '%s'", folder);
  return system(command);
}

static bool is_loaded(void) {
  char *found = NULL;
  uint64_t bytes = 0;
  if (!burn__cuda_image_load(burn_host(), &name, &found, &bytes)) return false;
  assert_int_equal(bytes, sizeof image);
  assert_memory_equal(found, image, sizeof image);
  burn_host()->free(found, bytes);
  return true;
}

/* The file with its first `count` bytes, of which byte `at` is another one. */
static void write_damaged(const char *whole, size_t count, size_t at) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  for (size_t i = 0; i < count; i++) assert_int_not_equal(fputc(whole[i] ^ (i == at ? 0x10 : 0), file), EOF);
  assert_int_equal(fclose(file), 0);
}

static void test_only_a_whole_image_is_loaded(void **state) {
  char whole[200];
  (void)state;
  assert_false(is_loaded());
  burn__cuda_image_save(&name, image, sizeof image);
  assert_true(is_loaded());
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  const size_t count = fread(whole, 1, sizeof whole - 1, file);
  assert_int_equal(fclose(file), 0);
  for (size_t i = 0; i < count; i++) {
    write_damaged(whole, count, i);
    assert_false(is_loaded());
    write_damaged(whole, i, count);
    assert_false(is_loaded());
  }
  write_damaged(whole, count + 1, count + 1); /* with a byte too many */
  assert_false(is_loaded());
  burn__cuda_image_save(&name, image, sizeof image);
  assert_true(is_loaded());
}

static void test_a_pipe_keeps_nobody_waiting(void **state) {
  (void)state;
  (void)remove(path);
  assert_int_equal(mkfifo(path, 0600), 0);
  alarm(20); /* a hang is a failure */
  assert_false(is_loaded());
  alarm(0);
  burn__cuda_image_save(&name, image, sizeof image); /* in its place */
  assert_true(is_loaded());
}

static void test_what_others_could_write_is_not_loaded(void **state) {
  (void)state;
  burn__cuda_image_save(&name, image, sizeof image);
  assert_int_equal(chmod(path, 0666), 0);
  assert_false(is_loaded());
  assert_int_equal(chmod(path, 0664), 0); /* as a umask of 002 makes them */
  assert_true(is_loaded());
  if (geteuid() != 0) return;
  assert_int_equal(chown(path, 65534, 65534), 0);
  assert_false(is_loaded());
  burn__cuda_image_save(&name, image, sizeof image);
  assert_true(is_loaded());
}

/* A file of that name in the folder of images, open. */
static int put(const char *file_name) {
  char at[160];
  (void)snprintf(at, sizeof at, "%s/burn/cuda/%s", folder, file_name);
  const int file = open(at, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  assert_true(file >= 0);
  return file;
}

static bool is_there(const char *file_name) {
  char at[160];
  struct stat found;
  (void)snprintf(at, sizeof at, "%s/burn/cuda/%s", folder, file_name);
  return lstat(at, &found) == 0;
}

/* The first one of a process, so this test comes before the others that save here. */
static void test_the_first_save_sweeps_what_killed_writers_left(void **state) {
  static const char left[] = ".burn-00000000000000aa.tmp", written[] = ".burn-00000000000000ab.tmp",
                    foreign[] = ".burn-00000000000000ac.tmp", link[] = ".burn-00000000000000ad.tmp";
  static const char *const others[] = {".burn-00000000000000a.tmp", ".burn-00000000000000AA.tmp",
                                       ".burn-00000000000000aa.tmp1", "a.cubin"};
  char at[160];
  (void)state;
  assert_int_equal(close(put(left)), 0);
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) assert_int_equal(close(put(others[i])), 0);
  const int writer = put(written), stranger = put(foreign);
  assert_int_equal(flock(writer, LOCK_EX), 0);
  if (geteuid() == 0) assert_int_equal(fchown(stranger, 65534, 65534), 0);
  assert_int_equal(close(stranger), 0);
  (void)snprintf(at, sizeof at, "%s/burn/cuda/%s", folder, link);
  assert_int_equal(symlink("a.cubin", at), 0);
  burn__cuda_image_save(&name, image, sizeof image);
  assert_true(is_loaded());
  assert_false(is_there(left));
  assert_true(is_there(written));
  assert_true(is_there(link));
  assert_int_equal(is_there(foreign), geteuid() == 0);
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) assert_true(is_there(others[i]));
  assert_int_equal(close(writer), 0);
  assert_int_equal(remove(path), 0);
}

static void save(void *context) {
  static char large[1 << 20];
  const bool for_ever = context != NULL;
  do burn__cuda_image_save(&(CudaImageName){{3, 4}, "cubin"}, large, sizeof large);
  while (for_ever);
}

/* How many files beside there are. */
static size_t count_left(void) {
  char pattern[160];
  glob_t found = {0};
  (void)snprintf(pattern, sizeof pattern, "%s/burn/cuda/.burn-*", folder);
  const int status = glob(pattern, 0, NULL, &found);
  assert_true(status == 0 || status == GLOB_NOMATCH);
  const size_t count = found.gl_pathc;
  globfree(&found);
  return count;
}

/* Two at a time write the same image until they are killed; each begins by a sweep beside the other's work. This process
 * saves nothing before, as then its children would not sweep. */
static void test_killed_writers_leave_nothing_for_long(void **state) {
  enum { ROUNDS = 20, WRITERS = 2 };
  size_t left = 0;
  (void)state;
  for (int round = 0; round < ROUNDS; round++) {
    pid_t writers[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
      writers[i] = fork();
      assert_true(writers[i] >= 0);
      if (writers[i] == 0) save(state);
    }
    const struct timespec moment = {.tv_nsec = 3000000 + 100000 * round};
    (void)nanosleep(&moment, NULL);
    for (int i = 0; i < WRITERS; i++) assert_int_equal(kill(writers[i], SIGKILL), 0);
    for (int i = 0; i < WRITERS; i++) assert_int_equal(waitpid(writers[i], NULL, 0), writers[i]);
    left += count_left();
  }
  print_message("%zu files were left by %d kills\n", left, ROUNDS * WRITERS);
  forked(save, NULL);
  assert_int_equal(count_left(), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_killed_writers_leave_nothing_for_long),
      cmocka_unit_test(test_the_first_save_sweeps_what_killed_writers_left),
      cmocka_unit_test(test_only_a_whole_image_is_loaded),
      cmocka_unit_test(test_a_pipe_keeps_nobody_waiting),
      cmocka_unit_test(test_what_others_could_write_is_not_loaded),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
