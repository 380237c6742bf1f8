/* sentences.c - see sentences.h. */
#include "sentences.h"

#include <stdlib.h>
#include <string.h>

enum { AROUND = 5 }; /* zeros on either side, as in training */

static BurnStatus run(BurnGraph *graph, BurnDevice *device,
                      const uint8_t *bytes, size_t count, float *chances) {
  const BurnGraphValue input = burn_graph_input(graph, 0);
  if (burn_graph_input_count(graph) != 1 || input.dtype != BURN_DTYPE_U8) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                            "the model has %zu inputs, of which the first is "
                            "%s; one of bytes (u8) expected",
                            burn_graph_input_count(graph), input.name);
  }
  BurnTensor *x = burn_tensor_u8(device, bytes, BURN_SHAPE(1, (int64_t)count));
  BurnTensor *y = NULL;
  const BurnStatus status = burn_graph_run(graph, &x, 1, &y, 1);
  if (status != BURN_OK) return status;
  return burn_read_f32(burn_sigmoid(burn_narrow(y, 2, 0, 1)), chances, count);
}

BurnStatus sentences_find(BurnGraph *graph, BurnDevice *device,
                          const char *text, size_t length, double threshold,
                          bool *ends) {
  const size_t count = length + 2 * AROUND;
  uint8_t *bytes = calloc(count, 1);
  float *chances = calloc(count, sizeof *chances);
  BurnStatus status = BURN_OK;
  if (!bytes || !chances) {
    status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory");
  } else {
    memcpy(bytes + AROUND, text, length);
    status = run(graph, device, bytes, count, chances);
  }
  for (size_t i = 0; i < length && status == BURN_OK; i++) {
    ends[i] = (double)chances[AROUND + i] > threshold;
  }
  free(bytes);
  free(chances);
  return status;
}
