/* split.c - parts of a dataset one after the other. Each boundary is computed from the sum of the fractions before it,
 * so that parts neither overlap nor leave an item out. */
#include "dataset_private.h"

#include <math.h>

static BurnStatus fractions_check(const double *fractions, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) {
    if (!(fractions[i] >= 0 && fractions[i] <= 1))
      return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "split: fraction %zu is %g, 0 to 1 expected", i,
                              fractions[i]);
    sum += fractions[i];
  }
  if (sum <= 1 + 1e-9) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "split: the fractions add up to %g, at most 1 expected", sum);
}

static BurnStatus split_check(const double *fractions, size_t count, BurnDataset *const *parts) {
  if (count < 1) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "split: 0 parts, at least 1 expected");
  if (parts == NULL) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "split: no room for the parts, it is NULL");
  return fractions != NULL ? fractions_check(fractions, count) : BURN_OK;
}

/* Where part `part` begins. */
static size_t boundary(const double *fractions, size_t count, size_t part, size_t items) {
  if (fractions == NULL) return part == count ? items : items / count * part;
  double sum = 0;
  for (size_t i = 0; i < part; i++) sum += fractions[i];
  const double at = round(sum * (double)items);
  return at < (double)items ? (size_t)at : items;
}

bool burn_dataset_split(BurnDataset *source, const double *fractions, size_t count, BurnDataset **parts,
                        BurnStatus *status) {
  BurnStatus result = BURN_OK;
  for (size_t i = 0; parts != NULL && i < count; i++) parts[i] = NULL;
  if (!burn__source_ready(source, "split", status)) return false;
  const size_t items = burn_dataset_count(source);
  result = split_check(fractions, count, parts);
  for (size_t i = 0; i < count && result == BURN_OK; i++)
    parts[i] = burn_dataset_slice(burn_dataset_clone(source), boundary(fractions, count, i, items),
                                  boundary(fractions, count, i + 1, items), &result);
  for (size_t i = 0; parts != NULL && i < count && result != BURN_OK; i++) {
    burn_dataset_drop(parts[i]);
    parts[i] = NULL;
  }
  burn_dataset_drop(source);
  burn__store_status(status, result);
  return result == BURN_OK;
}
