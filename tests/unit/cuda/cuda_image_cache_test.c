/* cuda_image_cache_test.c - compiled kernels on disk (plugins/cuda/cuda_image_cache.c): what is not whole is not there,
 * what is no file keeps nobody waiting, and what others could have written is not believed. */
#include "cuda_image_cache.h"
#include "forked.h"

#include <burn/op_call.h>
#include <sys/stat.h>

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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_only_a_whole_image_is_loaded),
      cmocka_unit_test(test_a_pipe_keeps_nobody_waiting),
      cmocka_unit_test(test_what_others_could_write_is_not_loaded),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
