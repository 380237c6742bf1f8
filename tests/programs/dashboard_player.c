/* dashboard_player.c - a run that is played to the dashboard, for dashboard_test.py: always the same values and times,
 * so that screens can be compared. Three epochs and a part of the fourth; then it waits for a word in the file ORDERS:
 *
 *   dashboard_player ORDERS [ascii]
 *
 * more (a batch), valid (a batch of validation), end, fail, exit, crash, abort, throw (SIGQUIT). */
#include <burn/dashboard.h>
#include <burn/streams.h>

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { EPOCHS = 10, BATCHES = 40, VALID_BATCHES = 10, METRICS = 2 };

typedef struct Player {
  BurnRenderer renderer;
  BurnLogger logger;
  BurnEpochResult result;
  BurnProgress progress;
} Player;

static const struct {
  const char *name, *unit;
  double scale;
} metrics[METRICS] = {{"Loss", "", 1}, {"Accuracy", "%", 100}};

/* Curves that fall and rise; validation is a little worse. */
static double value_of(int metric, int split, double x) {
  const double loss = 2.3 * exp(-x) + 0.1 + 0.05 * split + 0.02 * sin(40 * x);
  return metric == 0 ? loss : 1 / (1 + loss);
}

static void log_value(const Player *player, int metric, int split, size_t epoch, size_t batch, bool final) {
  const size_t batches = split ? VALID_BATCHES : BATCHES;
  const double x = (double)(epoch - 1) + (double)batch / (double)batches;
  const BurnLogEntry entry = {.split = (BurnSplit)split,
                              .epoch = epoch,
                              .batch = batch,
                              .metric = metrics[metric].name,
                              .unit = metrics[metric].unit,
                              .value = metrics[metric].scale * value_of(metric, split, x),
                              .weight = 8,
                              .final = final,
                              .batches = batches};
  (void)player->logger.log(player->logger.context, &entry);
}

static void play_batch(Player *player, size_t epoch, size_t batch) {
  BurnProgress *p = &player->progress;
  p->epoch = epoch;
  p->batch = batch;
  p->items = 8 * batch;
  p->done = (epoch - 1) * BATCHES + batch;
  p->epoch_seconds = 0.5 * (double)batch;
  p->run_seconds = 0.5 * (double)p->done;
  for (int i = 0; i < METRICS; i++) {
    log_value(player, i, BURN_SPLIT_TRAIN, epoch, batch, false);
    player->result.metrics[i].values[BURN_SPLIT_TRAIN] =
        value_of(i, 0, (double)(epoch - 1) + (double)batch / (double)BATCHES);
  }
  if (player->renderer.wants(player->renderer.context, p)) player->renderer.batch(player->renderer.context, p);
}

static void play_epoch(Player *player, size_t epoch) {
  player->result.epoch = epoch;
  player->result.seconds = 20;
  for (int i = 0; i < METRICS; i++) player->result.metrics[i].values[BURN_SPLIT_VALID] = (double)NAN;
  for (size_t batch = 1; batch <= BATCHES; batch++) play_batch(player, epoch, batch);
  for (int i = 0; i < METRICS; i++) {
    log_value(player, i, BURN_SPLIT_TRAIN, epoch, BATCHES, true);
    for (size_t batch = 1; batch <= VALID_BATCHES; batch++)
      log_value(player, i, BURN_SPLIT_VALID, epoch, batch, batch == VALID_BATCHES);
    player->result.metrics[i].values[BURN_SPLIT_VALID] = value_of(i, 1, (double)epoch);
  }
  player->renderer.epoch(player->renderer.context, &player->progress);
}

static void begin_play(Player *player) {
  player->result.metric_count = METRICS;
  for (int i = 0; i < METRICS; i++) {
    player->result.metrics[i] =
        (BurnMetricResult){metrics[i].name, metrics[i].unit, metrics[i].scale, {(double)NAN, (double)NAN}};
  }
  player->progress = (BurnProgress){.epoch = 1, .epochs = EPOCHS, .batches = BATCHES, .result = &player->result};
  player->renderer.begin(player->renderer.context, &player->progress);
  for (size_t epoch = 1; epoch <= 3; epoch++) play_epoch(player, epoch);
  for (int i = 0; i < METRICS; i++) player->result.metrics[i].values[BURN_SPLIT_VALID] = (double)NAN;
  for (size_t batch = 1; batch <= 10; batch++) play_batch(player, 4, batch);
  printf("a line on stdout\n");
  fflush(stdout);
  fprintf(stderr, "\033[31ma warning\033[0m in r\xc3\xa9sum\xc3\xa9\n");
}

/* The word in the file, which is gone after that; "" if there is none. */
static void read_order(const char *path, char order[32]) {
  FILE *file = fopen(path, "r");
  order[0] = '\0';
  if (!file) return;
  if (fscanf(file, "%31s", order) == 1) (void)remove(path);
  (void)fclose(file);
}

static bool obey(Player *player, const char *order, size_t *batch) {
  if (strcmp(order, "more") == 0) play_batch(player, 4, ++*batch);
  if (strcmp(order, "valid") == 0) log_value(player, 0, BURN_SPLIT_VALID, 4, 3, false);
  if (strcmp(order, "exit") == 0) exit(3);
  if (strcmp(order, "abort") == 0) {
    fprintf(stderr, "the last words\n");
    abort();
  }
  if (strcmp(order, "throw") == 0) (void)raise(SIGQUIT);
  if (strcmp(order, "crash") == 0) (void)raise(SIGSEGV);
  return strcmp(order, "end") == 0 || strcmp(order, "fail") == 0;
}

int main(int argc, char **argv) {
  static BurnInterrupter interrupter;
  const struct timespec moment = {0, 5000000};
  BurnStatus status = argc < 2 ? BURN_STATUS_INVALID_ARGUMENT : burn_interrupter_on_signals(&interrupter);
  if (status != BURN_OK) return 2;
  burn_streams_pin();
  BurnDashboard *dashboard = burn_dashboard_create(
      &(BurnDashboardConfig){.interrupter = &interrupter, .title = "player", .ascii = argc > 2}, &status);
  if (!dashboard) return 2;
  Player player = {.renderer = burn_dashboard_renderer(dashboard), .logger = burn_dashboard_logger(dashboard)};
  size_t batch = 10;
  char order[32] = "";
  begin_play(&player);
  while (!burn_interrupter_stopped(&interrupter)) {
    read_order(argv[1], order);
    if (obey(&player, order, &batch)) break;
    (void)nanosleep(&moment, NULL);
  }
  const bool complete = strcmp(order, "end") == 0;
  player.renderer.end(player.renderer.context, complete);
  burn_dashboard_destroy(dashboard);
  if (!complete) fprintf(stderr, "error: the run is not complete\n");
  if (burn_interrupter_stopped(&interrupter)) return 128 + burn_interrupter_signal(&interrupter);
  return complete ? 0 : 1;
}
