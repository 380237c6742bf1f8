/* boxes.c - see boxes.h. */
#include "boxes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

BurnStatus boxes_add(Boxes *boxes, Box box) {
  if (boxes->count == boxes->capacity) {
    const size_t more = boxes->capacity ? 2 * boxes->capacity : 64;
    Box *items = realloc(boxes->items, more * sizeof *items);
    if (!items) {
      return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory");
    }
    boxes->items = items;
    boxes->capacity = more;
  }
  boxes->items[boxes->count++] = box;
  return BURN_OK;
}

void boxes_release(Boxes *boxes) {
  free(boxes->items);
  *boxes = (Boxes){NULL, 0, 0};
}

static double area(const Box *b) {
  return (b->right - b->left) * (b->bottom - b->top);
}

double box_overlap(const Box *a, const Box *b) {
  const double width = fmin(a->right, b->right) - fmax(a->left, b->left);
  const double height = fmin(a->bottom, b->bottom) - fmax(a->top, b->top);
  const double both = fmax(width, 0) * fmax(height, 0);
  const double either = area(a) + area(b) - both;
  return either > 0 ? both / either : 0;
}

static int by_score(const void *lhs, const void *rhs) {
  const Box *a = lhs, *b = rhs;
  return (a->score < b->score) - (a->score > b->score);
}

static bool is_covered(const Boxes *boxes, size_t kept, const Box *box,
                       double overlap) {
  for (size_t i = 0; i < kept; i++) {
    const Box *better = &boxes->items[i];
    if (better->label == box->label && box_overlap(better, box) > overlap) {
      return true;
    }
  }
  return false;
}

void boxes_suppress(Boxes *boxes, double overlap) {
  size_t kept = 0;
  if (boxes->count == 0) return;
  qsort(boxes->items, boxes->count, sizeof *boxes->items, by_score);
  for (size_t i = 0; i < boxes->count; i++) {
    const Box box = boxes->items[i];
    if (!is_covered(boxes, kept, &box, overlap)) boxes->items[kept++] = box;
  }
  boxes->count = kept;
}

static double within(double x, uint32_t limit) {
  return fmin(fmax(x, 0), (double)limit);
}

void boxes_clip(Boxes *boxes, const BurnImage *image) {
  for (size_t i = 0; i < boxes->count; i++) {
    Box *box = &boxes->items[i];
    box->left = within(box->left, image->width);
    box->right = within(box->right, image->width);
    box->top = within(box->top, image->height);
    box->bottom = within(box->bottom, image->height);
  }
}

/* Pixels from (left, top) to before (right, bottom). */
static void fill(BurnImage *image, uint32_t left, uint32_t top, uint32_t right,
                 uint32_t bottom, const uint8_t colour[3]) {
  for (uint32_t y = top; y < bottom; y++) {
    for (uint32_t x = left; x < right; x++) {
      memcpy(image->pixels + 3 * ((size_t)y * image->width + x), colour, 3);
    }
  }
}

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

void box_draw(const Box *box, BurnImage *image, const uint8_t colour[3],
              uint32_t width) {
  const uint32_t left = (uint32_t)within(box->left, image->width);
  const uint32_t right = (uint32_t)within(ceil(box->right), image->width);
  const uint32_t top = (uint32_t)within(box->top, image->height);
  const uint32_t bottom = (uint32_t)within(ceil(box->bottom), image->height);
  const uint32_t across = least(width, right - left);
  const uint32_t down = least(width, bottom - top);
  fill(image, left, top, right, top + down, colour);
  fill(image, left, bottom - down, right, bottom, colour);
  fill(image, left, top, left + across, bottom, colour);
  fill(image, right - across, top, right, bottom, colour);
}
