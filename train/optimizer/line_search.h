/* line_search.h - how far to go along a direction: a search for a point that meets the strong Wolfe conditions, by
 * cubic interpolation between points that are known (Nocedal and Wright, algorithms 3.5 and 3.6, as in PyTorch and
 * Burn). It knows nothing of modules. */
#ifndef BURN_TRAIN_LINE_SEARCH_H
#define BURN_TRAIN_LINE_SEARCH_H

#include <burn/burn.h>

/* A point at distance t along the direction. */
typedef struct BurnLinePoint {
  double t, loss, slope; /* slope: of the loss along the direction */
  BurnTensor *gradient;  /* owned */
} BurnLinePoint;

/* What is searched. */
typedef struct BurnLine {
  /* The point at a distance, with a new gradient. */
  BurnStatus (*at)(void *context, double t, BurnLinePoint *point);
  void *context;
  double longest;          /* largest element of the direction, without sign */
  double tolerance_change; /* the search ends where points are closer */
  size_t max_points;       /* beside the first one */
} BurnLine;

/* The point that is found, from `start` (t 0, borrowed) and a first distance to try. Its gradient is the caller's, NULL
 * on failure. */
BurnStatus burn__line_search(const BurnLine *line, const BurnLinePoint *start, double t, BurnLinePoint *found);

#endif
