/* line_search.c - see line_search.h. First points are tried further and further away until two of them have a good one
 * between them; then the two are brought closer. */
#include "line_search.h"

#include <math.h>

static const double ENOUGH = 1e-4; /* share of the slope by which the loss falls */
static const double FLAT = 0.9;    /* share of the slope that may be left */

typedef struct Search {
  const BurnLine *line;
  const BurnLinePoint *start;
  BurnLinePoint bracket[2]; /* a good point lies between them; or, when done, the first is it */
  bool done;
  size_t count; /* points tried after the first one */
} Search;

/* The least point, between two bounds, of the cubic through two points with their slopes. */
static double cubic_least(const BurnLinePoint *a, const BurnLinePoint *b, double low, double high) {
  const double d1 = a->slope + b->slope - 3 * (a->loss - b->loss) / (a->t - b->t);
  const double square = d1 * d1 - a->slope * b->slope;
  if (!(square >= 0)) return (low + high) / 2;
  const BurnLinePoint *lower = a->t <= b->t ? a : b, *upper = lower == a ? b : a;
  const double d2 = sqrt(square);
  const double least =
      upper->t - (upper->t - lower->t) * ((upper->slope + d2 - d1) / (upper->slope - lower->slope + 2 * d2));
  return fmin(fmax(least, low), high);
}

static void point_drop(BurnLinePoint *point) {
  burn_drop(point->gradient);
  point->gradient = NULL;
}

static BurnLinePoint point_clone(const BurnLinePoint *point) {
  BurnLinePoint copy = *point;
  copy.gradient = burn_clone(point->gradient);
  return copy;
}

static bool has_fallen(const Search *search, const BurnLinePoint *point) {
  return point->loss <= search->start->loss + ENOUGH * point->t * search->start->slope;
}

static bool is_flat(const Search *search, const BurnLinePoint *point) {
  return fabs(point->slope) <= -FLAT * search->start->slope;
}

/* Moves both points into the bracket. */
static void set_bracket(Search *search, BurnLinePoint first, BurnLinePoint second, bool done) {
  search->bracket[0] = first;
  search->bracket[1] = second;
  search->done = done;
}

/* Whether `now` ends the first phase: it is the point itself, or one side of a bracket. */
static bool ends_bracketing(Search *search, BurnLinePoint before, BurnLinePoint now) {
  if ((!has_fallen(search, &now) && !isnan(now.loss)) || (search->count > 1 && now.loss >= before.loss)) {
    set_bracket(search, before, now, false);
  } else if (is_flat(search, &now)) {
    set_bracket(search, now, before, true);
  } else if (now.slope >= 0) {
    set_bracket(search, before, now, false);
  } else {
    return false;
  }
  return true;
}

static BurnStatus find_bracket(Search *search, double t) {
  const BurnLine *line = search->line;
  BurnLinePoint before = point_clone(search->start), now = {.gradient = NULL};
  BurnStatus status = line->at(line->context, t, &now);
  for (; status == BURN_OK && search->count < line->max_points; search->count++) {
    if (ends_bracketing(search, before, now)) return BURN_OK;
    t = cubic_least(&before, &now, now.t + 0.01 * (now.t - before.t), 10 * now.t);
    point_drop(&before);
    before = now;
    now.gradient = NULL;
    status = line->at(line->context, t, &now);
  }
  point_drop(&before);
  set_bracket(search, point_clone(search->start), now, false);
  return status;
}

/* The next point to try: not too close to a side of the bracket twice in a row. */
static double next_in_bracket(const Search *search, bool *was_close) {
  const BurnLinePoint *a = &search->bracket[0], *b = &search->bracket[1];
  const double low = fmin(a->t, b->t), high = fmax(a->t, b->t), margin = 0.1 * (high - low);
  const double t = cubic_least(a, b, low, high);
  const bool close = fmin(high - t, t - low) < margin;
  const bool moved = close && (*was_close || t >= high || t <= low);
  *was_close = close && !moved;
  if (!moved) return t;
  return fabs(t - high) < fabs(t - low) ? high - margin : low + margin;
}

/* Puts a point (moved) in the place of one side of the bracket. */
static void narrow(Search *search, BurnLinePoint now) {
  const int low = search->bracket[0].loss <= search->bracket[1].loss ? 0 : 1;
  BurnLinePoint *best = &search->bracket[low], *other = &search->bracket[1 - low];
  if (!has_fallen(search, &now) || !(now.loss < best->loss)) {
    point_drop(other);
    *other = now;
    return;
  }
  search->done = is_flat(search, &now);
  if (now.slope * (other->t - best->t) >= 0) {
    point_drop(other);
    *other = *best;
  } else {
    point_drop(best);
  }
  *best = now;
}

static BurnStatus narrow_bracket(Search *search) {
  const BurnLine *line = search->line;
  bool was_close = false;
  for (; !search->done && search->count < line->max_points; search->count++) {
    BurnLinePoint now = {.gradient = NULL};
    if (fabs(search->bracket[1].t - search->bracket[0].t) * line->longest < line->tolerance_change) break;
    const BurnStatus status = line->at(line->context, next_in_bracket(search, &was_close), &now);
    if (status != BURN_OK) return status;
    narrow(search, now);
  }
  return BURN_OK;
}

BurnStatus burn__line_search(const BurnLine *line, const BurnLinePoint *start, double t, BurnLinePoint *found) {
  Search search = {.line = line, .start = start};
  BurnStatus status = find_bracket(&search, t);
  const bool at_once = search.done;
  if (status == BURN_OK) status = narrow_bracket(&search);
  const bool first = at_once || search.bracket[0].loss <= search.bracket[1].loss;
  *found = search.bracket[first ? 0 : 1];
  point_drop(&search.bracket[first ? 1 : 0]);
  if (status != BURN_OK) point_drop(found);
  return status;
}
