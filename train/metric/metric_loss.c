/* metric_loss.c - the mean of the loss over items. */
#include <burn/train/metric.h>

static BurnMeasured measure(const void *config, const BurnMetricInput *input) {
  (void)config;
  BurnTensor *loss = burn_step_get(input->output, "loss");
  return (BurnMeasured){.numbers = burn_clone(loss), .weight = (double)input->items, .mean = true};
}

static const BurnMetricInterface loss_metric = {.name = "Loss", .unit = "", .scale = 1, .measure = measure};

BurnMetric burn_metric_loss(void) { return (BurnMetric){.table = &loss_metric}; }
