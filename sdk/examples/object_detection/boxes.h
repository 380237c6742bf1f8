/* boxes.h - boxes on a picture: the best of those that overlap, and their
 * edges as pixels. */
#ifndef OBJECT_DETECTION_BOXES_H
#define OBJECT_DETECTION_BOXES_H

#include <burn/datasets.h>

/* In pixels of the picture; right and bottom are after the last pixel. */
typedef struct Box {
  double left, top, right, bottom;
  double score;      /* 0 .. 1 */
  const char *label; /* of its class, the same text for all of one class */
} Box;

/* Boxes that grow in number. */
typedef struct Boxes {
  Box *items;
  size_t count, capacity;
} Boxes;

BurnStatus boxes_add(Boxes *boxes, Box box);
void boxes_release(Boxes *boxes);

/* The common area of two boxes as a part of the joined one. */
double box_overlap(const Box *a, const Box *b);

/* Non-maximum suppression: sorts by score and keeps a box unless one of its
 * class that is kept overlaps it by more than `overlap`. */
void boxes_suppress(Boxes *boxes, double overlap);

/* Cuts boxes off at the edges of a picture. */
void boxes_clip(Boxes *boxes, const BurnImage *image);

/* Draws the edges of a box into a picture of colours, `width` pixels thick. */
void box_draw(const Box *box, BurnImage *image, const uint8_t colour[3],
              uint32_t width);

#endif
