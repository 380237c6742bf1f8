/* cold_start.c - the least that a program can ask for: open a device, one linear layer on a 4 x 4 tensor, read the
 * result.
 *
 * Its time is that of the whole process, from its start to its end, as `time`, hyperfine or ./dev bench cold sees it.
 * With
 * --phases it prints how long each part took inside of main.
 *
 *   cold_start [--backend STACK] [--phases] */
#include <burn/burn.h>
#include <burn/nn.h>

#include "../../sdk/examples/common/arguments.h"

#include <stdio.h>
#include <time.h>

static double milliseconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

static BurnStatus infer(BurnDevice *device, double *result) {
  const BurnLinearConfig config = BurnLinearConfig_defaults(4, 4);
  BurnLinear linear = burn_linear_init(&config, device);
  BurnTensor *out = burn_linear_forward(&linear, burn_ones(device, BURN_SHAPE(4, 4), BURN_DTYPE_F32));
  const BurnStatus status = burn_read_scalar(burn_sum(out), result);
  BurnLinear_release(&linear);
  return status;
}

int main(int argc, char **argv) {
  const char *backend = "ndarray";
  bool phases = false;
  const Argument arguments[] = {
      {"backend", ARGUMENT_TEXT, &backend, "STACK", "the stack to open"},
      {"phases", ARGUMENT_FLAG, &phases, NULL, "print the time of each part of main"},
  };
  const int parsed = arguments_parse(argc, argv, "usage: cold_start [options]   the smallest program there is",
                                     arguments, sizeof arguments / sizeof arguments[0], NULL, 0);
  if (parsed != ARGUMENTS_OK) return parsed == ARGUMENTS_HELP ? 0 : 2;
  double result = 0;
  const double start = milliseconds_now();
  BurnDevice *device = burn_device_open(backend);
  const double opened = milliseconds_now();
  const BurnStatus status = infer(device, &result);
  const double inferred = milliseconds_now();
  burn_device_close(device);
  if (status != BURN_OK) {
    fprintf(stderr, "cold_start: %s\n", burn_status_message(status));
    return 1;
  }
  if (phases) {
    printf("open %.3f ms, infer %.3f ms, close %.3f ms (%g)\n", opened - start, inferred - opened,
           milliseconds_now() - inferred, result);
  }
  return 0;
}
