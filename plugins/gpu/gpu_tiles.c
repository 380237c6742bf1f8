/* gpu_tiles.c - the tiles of a product, and how many parts k is cut into, by a model of its time whose numbers were
 * measured on an H200. */
#include "gpu.h"

/* Parts are chosen for this number of units on every device. */
enum { USUAL_UNITS = 132, MIN_PART = 64 /* steps of k */ };

/* How long the unit with the most groups is busy. A unit works at c->at_once groups at a time, a wave; in a full wave
 * each group counts 1. In a last wave that is not full each takes longer, the more so the fewer there are: one alone
 * counts at_least. */
static double busy_of(const GpuTilesCost *c, int64_t most) {
  const int64_t last = most % c->at_once;
  const double each_more = ((double)c->at_once - c->at_least) / (double)(c->at_once - 1);
  return (double)(most - last) + (last > 0 ? c->at_least + (double)(last - 1) * each_more : 0.0);
}

/* The time of a product, counted in multiplications of one unit, and so is what it takes to begin and to end a wave.
 * With several parts each of their sums goes to memory and back, and a second kernel adds them. */
static double cost_of(const GpuTilesCost *c, int64_t units, int64_t parts) {
  static const double WAVE_COST = 700000, SUM_COST = 45, JOIN_COST = 700000;
  const int64_t most = gpu_pieces(c->groups * parts, units);
  const double steps = c->k > 0 ? (double)c->k / (double)parts : 1.0;
  const double sums = (double)(parts * c->results) * SUM_COST / (double)units;
  const double waves = (double)gpu_pieces(most, c->at_once) * WAVE_COST;
  return busy_of(c, most) * c->tile / c->speed * steps + waves + (parts > 1 ? JOIN_COST + sums : 0.0);
}

uint32_t burn__gpu_choose_tile(const GpuTilesCost *tiles, uint32_t count, int64_t units, int64_t parts) {
  uint32_t best = count;
  for (uint32_t tile = 0; tile < count; tile++)
    if (tiles[tile].speed > 0 &&
        (best == count || cost_of(&tiles[tile], units, parts) < cost_of(&tiles[best], units, parts)))
      best = tile;
  return best;
}

/* Only a few numbers are tried, because every product comes here. */
int64_t burn__gpu_choose_parts(const GpuTilesCost *tiles, uint32_t count, int64_t most_parts, int64_t most_sums) {
  static const int64_t tried[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256};
  int64_t best = 1;
  double least = 0;
  for (size_t i = 0; i < sizeof tried / sizeof tried[0] && tried[i] <= most_parts; i++) {
    const int64_t parts = tried[i];
    if (parts > 1 && (parts * MIN_PART > tiles->k || parts * tiles->results > most_sums)) break;
    const double cost = cost_of(&tiles[burn__gpu_choose_tile(tiles, count, USUAL_UNITS, parts)], USUAL_UNITS, parts);
    if (i > 0 && cost >= least) continue;
    least = cost;
    best = parts;
  }
  return best;
}
