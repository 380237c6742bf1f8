/* file_test.c - files are read only where there is a regular one, written without leaving anything, and folders belong
 * to one. */
#include "forked.h"

#include <burn/file.h>

#include <dirent.h>

#define LEFT ".burn-0123456789abcdef.tmp" /* as a killed writer leaves it */

static char folder[64];

static int make(void **state) {
  (void)state;
  make_folder(folder);
  return 0;
}

static const char *in_folder(const char *name) {
  static char paths[4][512];
  static unsigned next;
  char *path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}

/* Removes everything in the folder and tells how much it was, `.` and `..` apart. */
static int remove_all(void **state) {
  (void)state;
  DIR *stream = opendir(folder);
  for (struct dirent *entry; stream && (entry = readdir(stream));) {
    unlink(in_folder(entry->d_name));
    rmdir(in_folder(entry->d_name));
  }
  if (stream) closedir(stream);
  return rmdir(folder);
}

static bool exists(const char *name) { return access(in_folder(name), F_OK) == 0; }

static void assert_status(BurnStatus status, uint32_t code, const char *part) {
  assert_int_equal(burn_status_code(status), code);
  if (!strstr(burn_status_message(status), part)) fail_msg("'%s' lacks '%s'", burn_status_message(status), part);
}

static void written_file_reads_back(void **state) {
  (void)state;
  uint8_t *bytes = NULL;
  size_t count = 0;
  assert_int_equal(burn_file_write(in_folder("x"), "hello", 5), BURN_OK);
  assert_int_equal(burn_file_read(in_folder("x"), 5, &bytes, &count), BURN_OK);
  assert_int_equal(count, 5);
  assert_string_equal((char *)bytes, "hello");
  free(bytes);
  assert_status(burn_file_read(in_folder("x"), 4, &bytes, &count), BURN_STATUS_OUT_OF_RANGE, "at most 4");
  assert_status(burn_file_read(in_folder("absent"), 4, &bytes, &count), BURN_STATUS_NOT_FOUND, "cannot open");
  FILE *file = NULL;
  uint64_t size = 0;
  assert_int_equal(burn_file_open(in_folder("x"), &file, &size), BURN_OK);
  assert_int_equal(size, 5);
  assert_int_equal(fgetc(file), 'h');
  fclose(file);
}

static void left_files_are_swept_by_the_next_write(void **state) {
  (void)state;
  static const char *const others[] = {".burn-0123456789abcdef.tmp2", ".burn-0123456789abcde.tmp",
                                       ".burn-0123456789abcdeg.tmp", "burn.tmp"};
  write_file(folder, LEFT, "half");
  for (size_t i = 0; i < 4; i++) write_file(folder, others[i], "mine");
  assert_int_equal(mkdir(in_folder(".burn-00000000000000ff.tmp"), 0777), 0);
  assert_int_equal(burn_file_write(in_folder("x"), "hello", 5), BURN_OK);
  assert_false(exists(LEFT));
  for (size_t i = 0; i < 4; i++) assert_true(exists(others[i]));
  assert_true(exists(".burn-00000000000000ff.tmp"));
  write_file(folder, LEFT, "half");
  assert_int_equal(burn_file_sweep(folder), BURN_OK);
  assert_false(exists(LEFT));
  assert_int_equal(burn_file_sweep(in_folder("absent")), BURN_OK);
}

static void locked_folder_is_refused(void **state) {
  (void)state;
  char owner[64];
  BurnStatus status = BURN_OK;
  BurnFolderLock *lock = burn_folder_lock(folder, &status);
  assert_non_null(lock);
  snprintf(owner, sizeof owner, "in use by process %ld on ", (long)getpid());
  assert_null(burn_folder_lock(folder, &status));
  assert_status(status, BURN_STATUS_FAILED_PRECONDITION, owner);
  burn_folder_unlock(lock);
  assert_false(exists(".lock"));
  assert_null(burn_folder_lock(folder, &status)); /* the first failure of a chain stays */
  assert_status(status, BURN_STATUS_FAILED_PRECONDITION, owner);
  status = BURN_OK;
  lock = burn_folder_lock(folder, &status);
  assert_non_null(lock);
  burn_folder_unlock(lock);
  burn_folder_unlock(NULL);
  assert_null(burn_folder_lock(in_folder("absent"), &status));
  assert_status(status, BURN_STATUS_IO, "cannot make .lock");
}

#if !defined(_WIN32)
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <time.h>

static void fifo_device_and_folder_are_refused_at_once(void **state) {
  (void)state;
  uint8_t *bytes = NULL;
  size_t count = 0;
  FILE *file = NULL;
  assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
  const char *const paths[] = {in_folder("fifo"), "/dev/zero", folder};
  alarm(10); /* instead of waiting for ever */
  for (int i = 0; i < 3; i++) {
    assert_status(burn_file_read(paths[i], 100, &bytes, &count), BURN_STATUS_IO, "not a regular file");
    assert_status(burn_file_open(paths[i], &file, NULL), BURN_STATUS_IO, "not a regular file");
    assert_null(file);
  }
  alarm(0);
}

static void living_writers_file_is_not_swept(void **state) {
  (void)state;
  write_file(folder, LEFT, "half");
  const int writer = open(in_folder(LEFT), O_WRONLY);
  assert_int_equal(flock(writer, LOCK_EX), 0);
  assert_int_equal(burn_file_sweep(folder), BURN_OK);
  assert_true(exists(LEFT));
  close(writer);
  assert_int_equal(burn_file_sweep(folder), BURN_OK);
  assert_false(exists(LEFT));
}

static void links_are_not_followed_by_the_sweeper(void **state) {
  (void)state;
  write_file(folder, "precious", "mine");
  assert_int_equal(symlink("precious", in_folder(LEFT)), 0);
  assert_int_equal(burn_file_sweep(folder), BURN_OK);
  assert_true(exists("precious"));
  assert_true(exists(LEFT));
}

/* Writers that are killed and one that goes on: nothing stays, and no write fails because of a sweeper. */
static void writers_and_sweepers_do_not_disturb_each_other(void **state) {
  (void)state;
  pid_t children[4];
  for (int i = 0; i < 4; i++) {
    children[i] = fork();
    assert_true(children[i] >= 0);
    if (children[i] == 0) {
      char name[16];
      snprintf(name, sizeof name, "x%d", i);
      for (int n = 0; n < 300; n++) {
        if (burn_file_write(in_folder(name), "hello", 5) != BURN_OK) _exit(1);
      }
      _exit(0);
    }
  }
  const struct timespec moment = {.tv_nsec = 5000000};
  nanosleep(&moment, NULL);
  kill(children[0], SIGKILL);
  for (int i = 0; i < 4; i++) {
    int status = 0;
    assert_int_equal(waitpid(children[i], &status, 0), children[i]);
    if (i > 0) assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  assert_int_equal(burn_file_sweep(folder), BURN_OK);
  DIR *stream = opendir(folder);
  assert_non_null(stream);
  for (struct dirent *entry; (entry = readdir(stream));) assert_null(strstr(entry->d_name, ".tmp"));
  closedir(stream);
}

static void take_and_wait(int ready) {
  BurnStatus status = BURN_OK;
  BurnFolderLock *lock = burn_folder_lock(folder, &status);
  const ssize_t told = write(ready, lock ? "y" : "n", 1);
  while (told == 1) pause();
  burn_folder_unlock(lock);
  _exit(1);
}

static void lock_of_a_killed_process_is_free(void **state) {
  (void)state;
  int ends[2];
  char answer = '?', owner[64];
  BurnStatus status = BURN_OK;
  assert_int_equal(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) take_and_wait(ends[1]);
  assert_int_equal(read(ends[0], &answer, 1), 1);
  assert_int_equal(answer, 'y');
  snprintf(owner, sizeof owner, "process %ld on ", (long)child);
  assert_null(burn_folder_lock(folder, &status));
  assert_status(status, BURN_STATUS_FAILED_PRECONDITION, owner);
  kill(child, SIGKILL);
  assert_int_equal(waitpid(child, NULL, 0), child);
  status = BURN_OK;
  BurnFolderLock *lock = burn_folder_lock(folder, &status);
  assert_non_null(lock);
  burn_folder_unlock(lock);
  close(ends[0]);
  close(ends[1]);
}
#endif

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make, remove_all)
  const struct CMUnitTest tests[] = {
    TEST(written_file_reads_back),
    TEST(left_files_are_swept_by_the_next_write),
    TEST(locked_folder_is_refused),
#if !defined(_WIN32)
    TEST(fifo_device_and_folder_are_refused_at_once),
    TEST(living_writers_file_is_not_swept),
    TEST(links_are_not_followed_by_the_sweeper),
    TEST(writers_and_sweepers_do_not_disturb_each_other),
    TEST(lock_of_a_killed_process_is_free),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
