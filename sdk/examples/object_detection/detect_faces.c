/* detect_faces.c - UltraFace RFB-320: github.com/Linzaer/
 * Ultra-Light-Fast-Generic-Face-Detector-1MB. */
#include "detectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 320, HEIGHT = 240, PLACES = 4420, MIDDLE = 127 };

/* Where the picture is in what the network sees. */
typedef struct Frame {
  double scale; /* its pixels per pixel of the picture, at most 1 */
  uint32_t left, top, width, height;
} Frame;

/* All of the picture, in the middle, as large as there is room but not
 * enlarged: stretched faces are found less often. */
static Frame frame_of(const BurnImage *image) {
  const double across = (double)WIDTH / (double)image->width;
  const double down = (double)HEIGHT / (double)image->height;
  const double scale = fmin(1, fmin(across, down));
  Frame frame = {.scale = scale};
  frame.width = (uint32_t)fmax(1, round((double)image->width * scale));
  frame.height = (uint32_t)fmax(1, round((double)image->height * scale));
  frame.left = (WIDTH - frame.width) / 2;
  frame.top = (HEIGHT - frame.height) / 2;
  return frame;
}

/* [1, 3, HEIGHT, WIDTH], (pixel - 127) / 128: 0 around the picture. */
static BurnTensor *input_of(BurnDevice *device, const BurnImage *small,
                            const Frame *frame) {
  float *values = calloc(3 * HEIGHT * WIDTH, sizeof *values);
  if (!values) {
    return burn_tensor_failed(
        burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory"));
  }
  for (uint32_t y = 0; y < small->height; y++) {
    for (uint32_t x = 0; x < small->width; x++) {
      const uint8_t *pixel = small->pixels + 3 * (y * small->width + x);
      float *to = values + (frame->top + y) * WIDTH + frame->left + x;
      for (size_t c = 0; c < 3; c++) {
        to[c * HEIGHT * WIDTH] = (float)(pixel[c] - MIDDLE) / 128;
      }
    }
  }
  BurnTensor *input =
      burn_tensor_f32(device, values, BURN_SHAPE(1, 3, HEIGHT, WIDTH));
  free(values);
  return input;
}

/* From parts of the input's sides to pixels of the picture. */
static Box box_of(const Frame *frame, const float sides[4], double score) {
  const double left = (double)frame->left, top = (double)frame->top;
  const double width = (double)WIDTH, height = (double)HEIGHT;
  return (Box){.left = ((double)sides[0] * width - left) / frame->scale,
               .top = ((double)sides[1] * height - top) / frame->scale,
               .right = ((double)sides[2] * width - left) / frame->scale,
               .bottom = ((double)sides[3] * height - top) / frame->scale,
               .score = score,
               .label = "face"};
}

/* scores [PLACES, 2]: no face, face; sides [PLACES, 4]. */
static BurnStatus add_boxes(const Frame *frame, const float *scores,
                            const float *sides, double threshold,
                            Boxes *boxes) {
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < PLACES && status == BURN_OK; i++) {
    const double score = (double)scores[2 * i + 1];
    if (score < threshold) continue;
    status = boxes_add(boxes, box_of(frame, sides + 4 * i, score));
  }
  return status;
}

static BurnStatus find_faces(BurnGraph *graph, BurnDevice *device,
                             const BurnImage *image, double threshold,
                             Boxes *boxes) {
  const Frame frame = frame_of(image);
  BurnImage small;
  BurnStatus status =
      burn_image_resize(image, NULL, frame.width, frame.height, &small);
  if (status != BURN_OK) return status;
  BurnTensor *input = input_of(device, &small, &frame), *outputs[2];
  burn_image_release(&small);
  status = burn_graph_run(graph, &input, 1, outputs, 2);
  if (status != BURN_OK) return status;
  float *scores = calloc(6 * PLACES, sizeof *scores);
  float *sides = scores ? scores + 2 * PLACES : NULL;
  if (!scores)
    status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory");
  if (status == BURN_OK) {
    status = burn_read_f32(burn_clone(outputs[0]), scores, 2 * PLACES);
  }
  if (status == BURN_OK) {
    status = burn_read_f32(burn_clone(outputs[1]), sides, 4 * PLACES);
  }
  burn_drop(outputs[0]);
  burn_drop(outputs[1]);
  if (status == BURN_OK) {
    status = add_boxes(&frame, scores, sides, threshold, boxes);
  }
  free(scores);
  return status;
}

const Detector face_detector = {
    .name = "faces", .threshold = 0.7, .overlap = 0.3, .find = find_faces};
