/* cpu_count_test.c - how many CPUs control groups leave a process, from trees of files as the kernel shows them. */
#include "forked.h"

#include <platform.h>

#include <sys/stat.h>

typedef struct File {
  const char *path, *text; /* below the root of the tree */
} File;

typedef struct Tree {
  const char *what;
  unsigned cpus;
  File files[6];
} Tree;

#define SELF "proc/self/cgroup"
#define TWO "sys/fs/cgroup/"
#define ONE "sys/fs/cgroup/cpu/"

static const Tree trees[] = {
    {"no control groups", 0, {{0}}},
    {"no limit", 0, {{SELF, "0::/user/shell\n"}, {TWO "user/shell/cpu.max", "max 100000\n"}}},
    {"two CPUs", 2, {{SELF, "0::/user/shell\n"}, {TWO "user/shell/cpu.max", "200000 100000\n"}}},
    {"one and a half", 2, {{SELF, "0::/box\n"}, {TWO "box/cpu.max", "150000 100000\n"}}},
    {"half of one", 1, {{SELF, "0::/box\n"}, {TWO "box/cpu.max", "50000 100000\n"}}},
    {"another period", 4, {{SELF, "0::/box\n"}, {TWO "box/cpu.max", "80000 20000\n"}}},
    {"the group above allows less",
     3,
     {{SELF, "0::/pod/box\n"}, {TWO "pod/box/cpu.max", "800000 100000\n"}, {TWO "pod/cpu.max", "300000 100000\n"}}},
    {"the name from outside of a container", 2, {{SELF, "0::/docker/0f3a\n"}, {TWO "cpu.max", "200000 100000\n"}}},
    {"version 1",
     2,
     {{SELF, "9:memory:/a\n4:cpu,cpuacct:/box\n1:name=systemd:/a\n0::/a\n"},
      {ONE "box/cpu.cfs_quota_us", "120000\n"},
      {ONE "box/cpu.cfs_period_us", "100000\n"},
      {TWO "a/cpu.max", "max 100000\n"}}},
    {"version 1 without a limit",
     0,
     {{SELF, "4:cpuacct,cpu:/box\n"}, {ONE "box/cpu.cfs_quota_us", "-1\n"}, {ONE "box/cpu.cfs_period_us", "100000\n"}}},
    {"another controller with cpu in its name",
     0,
     {{SELF, "4:cpuset,cpuacct:/\n"}, {ONE "cpu.cfs_quota_us", "100000\n"}, {ONE "cpu.cfs_period_us", "100000\n"}}},
    {"lines that say nothing",
     0,
     {{SELF, "\n0:\n0::\n0::box\ncpu\n::::\n"}, {TWO "cpu.max", "100000\n"}, {TWO "box/cpu.max", "100000 100000\n"}}},
    {"numbers that are none", 0, {{SELF, "0::/\n"}, {TWO "cpu.max", "nan -1\n"}}},
    {"more than there can be", 0, {{SELF, "0::/\n"}, {TWO "cpu.max", "1e300 1\n"}}},
};

/* The file and the folders that it lies in. */
static void lay_down(const char *root, const File *file) {
  char path[512];
  const int length = snprintf(path, sizeof path, "%s/%s", root, file->path);
  assert_true(length > 0 && length < (int)sizeof path);
  for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); at++) {
    *at = '\0';
    assert_true(mkdir(path, 0700) == 0 || access(path, X_OK) == 0);
    *at = '/';
  }
  write_file(root, file->path, file->text);
}

static void quotas_are_read(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof trees / sizeof trees[0]; i++) {
    char root[64];
    make_folder(root);
    for (const File *file = trees[i].files; file->path; file++) lay_down(root, file);
    const unsigned cpus = burn__cpu_quota(root);
    assert_int_equal(remove_folder(root), 0);
    if (cpus != trees[i].cpus) fail_msg("%s: %u CPUs instead of %u", trees[i].what, cpus, trees[i].cpus);
  }
}

static void there_is_at_least_one(void **state) {
  (void)state;
  const unsigned cpus = burn__cpu_count(), quota = burn__cpu_quota("");
  assert_true(cpus >= 1 && cpus <= 1 << 16);
  if (quota > 0) assert_true(cpus <= quota);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(quotas_are_read),
      cmocka_unit_test(there_is_at_least_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
