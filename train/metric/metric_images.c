/* metric_images.c - see metric_images.h. */
#include "metric_images.h"

static bool same_shape(const BurnShape *a, const BurnShape *b) {
  for (uint32_t i = 0; i < a->rank && i < b->rank; i++)
    if (a->dims[i] != b->dims[i]) return false;
  return a->rank == b->rank;
}

bool burn__metric_images(const char *metric, const BurnMetricInput *input, uint32_t rank, BurnMeasured *measured,
                         BurnTensor **output, BurnTensor **targets) {
  *measured = (BurnMeasured){0};
  BurnTensor *x = burn_step_get(input->output, "output"), *y = burn_step_get(input->output, "targets");
  if (!x || !y) return false;
  const BurnShape shape = burn_shape(x), other = burn_shape(y);
  if (shape.rank < rank || !same_shape(&shape, &other) || burn_element_count(x) == 0) {
    const BurnStatus status = burn_status_make(
        BURN_STATUS_INVALID_SHAPE, "%s: output %s and targets %s: pictures of one shape with %u axes or more expected",
        metric, burn_shape_text(shape).text, burn_shape_text(other).text, rank);
    *measured = (BurnMeasured){.numbers = burn_tensor_failed(status), .weight = 1};
    return false;
  }
  *output = burn_float(burn_clone(x));
  *targets = burn_float(burn_clone(y));
  measured->weight = (double)shape.dims[0];
  return true;
}
