/* detect_objects.c - FastestDet: github.com/dog-qiuqiu/FastestDet. */
#include "detectors.h"

#include <math.h>
#include <stdlib.h>

enum { SIDE = 352, CELLS = 22, CLASSES = 80, VALUES = 5 + CLASSES };

static const char *const class_names[CLASSES] = {
    "person",        "bicycle",      "car",
    "motorcycle",    "airplane",     "bus",
    "train",         "truck",        "boat",
    "traffic light", "fire hydrant", "stop sign",
    "parking meter", "bench",        "bird",
    "cat",           "dog",          "horse",
    "sheep",         "cow",          "elephant",
    "bear",          "zebra",        "giraffe",
    "backpack",      "umbrella",     "handbag",
    "tie",           "suitcase",     "frisbee",
    "skis",          "snowboard",    "sports ball",
    "kite",          "baseball bat", "baseball glove",
    "skateboard",    "surfboard",    "tennis racket",
    "bottle",        "wine glass",   "cup",
    "fork",          "knife",        "spoon",
    "bowl",          "banana",       "apple",
    "sandwich",      "orange",       "broccoli",
    "carrot",        "hot dog",      "pizza",
    "donut",         "cake",         "chair",
    "couch",         "potted plant", "bed",
    "dining table",  "toilet",       "tv",
    "laptop",        "mouse",        "remote",
    "keyboard",      "cell phone",   "microwave",
    "oven",          "toaster",      "sink",
    "refrigerator",  "book",         "clock",
    "vase",          "scissors",     "teddy bear",
    "hair drier",    "toothbrush"};

/* [1, 3, SIDE, SIDE], pixel / 255, blue first. */
static BurnTensor *input_of(BurnDevice *device, const BurnImage *square) {
  float *values = calloc(3 * SIDE * SIDE, sizeof *values);
  if (!values) {
    return burn_tensor_failed(
        burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory"));
  }
  for (size_t i = 0; i < SIDE * SIDE; i++) {
    for (size_t c = 0; c < 3; c++) {
      values[c * SIDE * SIDE + i] = (float)square->pixels[3 * i + 2 - c] / 255;
    }
  }
  BurnTensor *input =
      burn_tensor_f32(device, values, BURN_SHAPE(1, 3, SIDE, SIDE));
  free(values);
  return input;
}

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* One cell of output [VALUES, CELLS, CELLS]: whether there is something, its
 * middle from the cell on, its size, and how likely each class is. */
static Box box_of(const float *output, size_t row, size_t column,
                  const BurnImage *image) {
  const float *cell = output + row * CELLS + column;
  const size_t step = CELLS * CELLS;
  size_t best = 0;
  for (size_t i = 1; i < CLASSES; i++) {
    if (cell[(5 + i) * step] > cell[(5 + best) * step]) best = i;
  }
  const double there = (double)cell[0], class = (double)cell[(5 + best) * step];
  const double across = tanh((double)cell[step]);
  const double down = tanh((double)cell[2 * step]);
  const double x = ((double)column + across) / (double)CELLS;
  const double y = ((double)row + down) / (double)CELLS;
  const double width = sigmoid((double)cell[3 * step]) / 2;
  const double height = sigmoid((double)cell[4 * step]) / 2;
  return (Box){.left = (x - width) * (double)image->width,
               .top = (y - height) * (double)image->height,
               .right = (x + width) * (double)image->width,
               .bottom = (y + height) * (double)image->height,
               .score = pow(there, 0.6) * pow(class, 0.4),
               .label = class_names[best]};
}

static BurnStatus add_boxes(const float *output, const BurnImage *image,
                            double threshold, Boxes *boxes) {
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < CELLS * CELLS && status == BURN_OK; i++) {
    const Box box = box_of(output, i / CELLS, i % CELLS, image);
    if (box.score > threshold) status = boxes_add(boxes, box);
  }
  return status;
}

static BurnStatus find_objects(BurnGraph *graph, BurnDevice *device,
                               const BurnImage *image, double threshold,
                               Boxes *boxes) {
  BurnImage square;
  BurnStatus status = burn_image_resize(image, NULL, SIDE, SIDE, &square);
  if (status != BURN_OK) return status;
  BurnTensor *input = input_of(device, &square), *output = NULL;
  burn_image_release(&square);
  status = burn_graph_run(graph, &input, 1, &output, 1);
  if (status != BURN_OK) return status;
  const size_t count = VALUES * CELLS * CELLS;
  float *values = calloc(count, sizeof *values);
  if (!values) {
    burn_drop(output);
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory");
  }
  status = burn_read_f32(output, values, count);
  if (status == BURN_OK) status = add_boxes(values, image, threshold, boxes);
  free(values);
  return status;
}

const Detector object_detector = {.name = "objects",
                                  .threshold = 0.65,
                                  .overlap = 0.45,
                                  .find = find_objects};
