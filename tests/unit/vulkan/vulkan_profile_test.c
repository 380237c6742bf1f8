/* vulkan_profile_test.c - option profile: every kernel of a program is in the report once per call, with the op that it is
 * of, and steps that would be replayed are, too; without it, or without kernels, there is no report. */
#include "vulkan_compare.h"

#include <fcntl.h>
#include <math.h>

enum { STEPS = 6, LINES = 64 };

/* A line of the report. */
typedef struct Line {
  double share, milliseconds, each;
  unsigned calls;
  char name[128];
} Line;

typedef struct Report {
  unsigned kernels, count;
  Line lines[LINES];
} Report;

static const char path[] = BURN_BUILD_DIR "/vulkan_profile_test.txt";

/* What the program says on stderr between the two goes to the file. */
static int begin_capture(void) {
  const int before = dup(2), file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  CHECK(before >= 0 && file >= 0 && dup2(file, 2) == 2, "%s cannot be written", path);
  (void)close(file);
  return before;
}

static void end_capture(int before) {
  (void)fflush(stderr);
  (void)dup2(before, 2);
  (void)close(before);
}

static void use(BurnDevice *device, float sums[STEPS]) {
  for (int i = 0; i < STEPS; i++) {
    BurnTensor *x = burn_full(device, BURN_SHAPE(40, 50), BURN_DTYPE_F32, 0.5);
    BurnTensor *y = burn_matmul(x, burn_ones(device, BURN_SHAPE(50, 60), BURN_DTYPE_F32));
    const BurnStatus status = burn_read_f32(burn_sum(burn_relu(burn_add_scalar(y, 1))), &sums[i], 1);
    if (status != BURN_OK) sums[i] = NAN;
  }
}

static void use_captured(const char *stack) {
  float sums[STEPS];
  BurnDevice *device = open_device(stack);
  const int before = begin_capture();
  use(device, sums);
  burn_device_close(device);
  end_capture(before);
  for (int i = 0; i < STEPS; i++) CHECK(sums[i] == 40 * 60 * 26, "step %d gave %g", i, (double)sums[i]);
}

static Report read_report(void) {
  Report report = {.count = 0};
  char text[300];
  FILE *file = fopen(path, "r");
  CHECK(file, "there is no %s", path);
  while (fgets(text, sizeof text, file)) {
    Line *line = &report.lines[report.count];
    (void)sscanf(text, "vulkan:0: %u kernels took", &report.kernels);
    if (sscanf(text, "%lf %% %lf %u %lf %127[^\n]", &line->share, &line->milliseconds, &line->calls, &line->each,
               line->name) == 5)
      CHECK(++report.count < LINES, "more than %d lines", LINES);
  }
  (void)fclose(file);
  return report;
}

static unsigned calls_of(const Report *report, const char *part) {
  unsigned calls = 0;
  for (unsigned i = 0; i < report->count; i++)
    if (strstr(report->lines[i].name, part)) calls += report->lines[i].calls;
  return calls;
}

static void profile(void *stack) {
  double share = 0;
  unsigned calls = 0;
  use_processor();
  setenv("XDG_CACHE_HOME", BURN_BUILD_DIR "/cache", 1);
  use_captured(stack);
  const Report report = read_report();
  for (unsigned i = 0; i < report.count; i++) {
    const Line *line = &report.lines[i];
    CHECK(line->milliseconds > 0 && line->calls > 0 && strstr(line->name, " groups"), "%s: %g ms", line->name,
          line->milliseconds);
    CHECK(i == 0 || line->milliseconds <= report.lines[i - 1].milliseconds, "%s is not in its place", line->name);
    share += line->share;
    calls += line->calls;
  }
  CHECK(report.count >= 2 && calls == report.kernels && share > 99 && share < 101, "%u lines, %u of %u, %g %%",
        report.count, calls, report.kernels, share);
  CHECK(calls_of(&report, "matmul: ") == STEPS, "%u products", calls_of(&report, "matmul: "));
  if (strstr(stack, "fusion"))
    CHECK(calls_of(&report, "fused: ") >= STEPS && calls_of(&report, "relu") >= STEPS, "%u fused bodies",
          calls_of(&report, "fused: "));
  else
    CHECK(calls_of(&report, "relu: ") == STEPS, "%u of relu", calls_of(&report, "relu: "));
}

static void no_report(void *context) {
  (void)context;
  use_processor();
  use_captured("vulkan");
  const Report without = read_report();
  CHECK(without.count == 0 && without.kernels == 0, "a report that nobody asked for");
  BurnDevice *device = open_device("vulkan:profile=true");
  const int before = begin_capture();
  burn_device_close(device);
  end_capture(before);
  FILE *file = fopen(path, "r");
  CHECK(file && fgetc(file) == EOF, "a report of nothing");
  (void)fclose(file);
}

static void test_profile(void **state) {
  char plain[] = "vulkan:profile=true", fused[] = "fusion<vulkan:profile=true>";
  (void)state;
  forked(profile, plain);
  forked(profile, fused);
  forked(no_report, NULL);
  (void)remove(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_profile)};
  if (access(plugin_path, R_OK) != 0) {
    print_message("skipped: vulkan: there is no %s\n", plugin_path);
    return 0;
  }
  return cmocka_run_group_tests_name("vulkan_profile", tests, NULL, NULL);
}
