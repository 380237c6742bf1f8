/* multi_gradients_params.c - the gradients of one step from several devices: each parameter has a device that adds up
 * its gradients, so that the sums are shared out and the same device makes the same one in every step. */
#include <stdlib.h>

#include "optimizer_internal.h"

typedef struct Source {
  BurnGradientsParams *gradients;
  BurnDevice *device; /* below autodiff */
} Source;

struct BurnMultiGradientsParams {
  Source *sources;
  size_t count;
};

BurnMultiGradientsParams *burn_multi_gradients_params_create(void) {
  return calloc(1, sizeof(BurnMultiGradientsParams));
}

size_t burn_multi_gradients_params_count(const BurnMultiGradientsParams *multi) { return multi ? multi->count : 0; }

static BurnStatus check_multi(const BurnMultiGradientsParams *multi) {
  if (multi) return BURN_OK;
  return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "gradients of several devices: NULL: out of memory when created");
}

static BurnStatus add_source(BurnMultiGradientsParams *multi, Source source) {
  Source *sources = realloc(multi->sources, (multi->count + 1) * sizeof *sources);
  if (!sources) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "gradients of several devices: out of memory");
  multi->sources = sources;
  sources[multi->count++] = source;
  return BURN_OK;
}

BurnStatus burn_multi_gradients_params_add(BurnMultiGradientsParams *multi, BurnGradientsParams *gradients,
                                           BurnDevice *device) {
  BurnStatus status = check_multi(multi);
  if (status == BURN_OK) status = burn__gradients_params_status(gradients);
  if (status == BURN_OK) status = burn_device_status(device);
  if (status == BURN_OK) status = add_source(multi, (Source){gradients, burn_device_inner(device)});
  if (status != BURN_OK) burn_gradients_params_drop(gradients);
  return status;
}

/* The first device, from the owner on, that has a gradient of the parameter; count if none has. */
static size_t holder_of(const BurnMultiGradientsParams *multi, uint64_t param_id) {
  for (size_t i = 0; i < multi->count; i++) {
    const size_t index = (size_t)((param_id + i) % multi->count);
    BurnTensor *const *entry = burn__param_map_find(&multi->sources[index].gradients->map, param_id);
    if (entry && *entry) return index;
  }
  return multi->count;
}

BurnTensor *burn_multi_gradients_params_remove(BurnMultiGradientsParams *multi, uint64_t param_id) {
  const size_t holder = multi ? holder_of(multi, param_id) : 0;
  if (!multi || holder == multi->count) return NULL;
  BurnDevice *device = multi->sources[holder].device;
  BurnTensor *sum = burn_to_device(burn_gradients_params_remove(multi->sources[holder].gradients, param_id), device);
  for (size_t i = 0; i < multi->count; i++) {
    BurnTensor *more = burn_gradients_params_remove(multi->sources[i].gradients, param_id);
    if (more) sum = burn_add(sum, burn_to_device(more, device));
  }
  return sum;
}

/* Adds the sums of all parameters that source `index` still has. */
static BurnStatus sum_source(BurnMultiGradientsParams *multi, size_t index, BurnGradientsParams *sums) {
  const BurnParamMap *map = &multi->sources[index].gradients->map;
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < map->count && status == BURN_OK; i++) {
    BurnTensor *sum = burn_multi_gradients_params_remove(multi, map->ids[i]);
    char id[14];
    if (!sum) continue;
    burn_param_id_text(map->ids[i], id);
    status = burn_status_annotate(burn_gradients_params_set(sums, map->ids[i], sum), "gradient of parameter %s", id);
  }
  return status;
}

BurnGradientsParams *burn_multi_gradients_params_sum(BurnMultiGradientsParams *multi) {
  BurnGradientsParams *sums = burn_gradients_params_create();
  if (sums) sums->status = check_multi(multi);
  for (size_t i = 0; multi && sums && i < multi->count && sums->status == BURN_OK; i++) {
    sums->status = sum_source(multi, i, sums);
  }
  burn_multi_gradients_params_drop(multi);
  return sums;
}

void burn_multi_gradients_params_drop(BurnMultiGradientsParams *multi) {
  if (!multi) return;
  for (size_t i = 0; i < multi->count; i++) burn_gradients_params_drop(multi->sources[i].gradients);
  free(multi->sources);
  free(multi);
}
