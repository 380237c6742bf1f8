/* detectors.h - pretrained networks that find something on a picture: what
 * pixels each wants, and what its outputs say. */
#ifndef OBJECT_DETECTION_DETECTORS_H
#define OBJECT_DETECTION_DETECTORS_H

#include "boxes.h"

#include <burn/burn.h>
#include <burn/onnx.h>

typedef struct Detector {
  const char *name; /* of the command */
  double threshold; /* scores below it are nothing, if the user says no other */
  double overlap;   /* of boxes of which the better one is kept */
  /* All boxes of a picture of colours that are above the threshold. */
  BurnStatus (*find)(BurnGraph *graph, BurnDevice *device,
                     const BurnImage *image, double threshold, Boxes *boxes);
} Detector;

/* UltraFace RFB-320 (MIT): faces. Boxes for 4420 places come out of it. */
extern const Detector face_detector;
/* FastestDet (BSD): the 80 classes of COCO, of a grid of 22 x 22 cells. */
extern const Detector object_detector;

#endif
