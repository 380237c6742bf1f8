/* object_detection.c - what is where on a picture? Pretrained networks find it,
 * and boxes are drawn around it.
 *
 *   object_detection faces --model version-RFB-320.onnx --image FILE
 *   object_detection objects --model FastestDet.onnx --image FILE
 *
 * Both are ONNX graphs. What each wants to see and says is in detect_faces.c
 * and detect_objects.c; of boxes that overlap the best one stays (boxes.c). */
#define _POSIX_C_SOURCE 200809L
#include "detectors.h"

#include "../common/commands.h"
#include "../common/result.h"

#include <stdio.h>

typedef struct Options {
  const char *model, *image, *output, *backend;
  double threshold; /* 0: the detector's own */
  bool json;
} Options;

/* -- what came of it ------------------------------------------------------- */

static void print_boxes(const Options *options, const Detector *detector,
                        const BurnDevice *device, const Boxes *boxes) {
  for (size_t i = 0; i < boxes->count; i++) {
    const Box *box = &boxes->items[i];
    if (options->json) {
      printf(
          "{\"event\":\"box\",\"label\":\"%s\",\"score\":%.4f,"
          "\"left\":%.1f,\"top\":%.1f,\"right\":%.1f,\"bottom\":%.1f}\n",
          box->label, box->score, box->left, box->top, box->right, box->bottom);
    } else {
      printf("%-14s %5.1f %%  from (%.0f, %.0f) to (%.0f, %.0f)\n", box->label,
             100 * box->score, box->left, box->top, box->right, box->bottom);
    }
  }
  printf("%s\"command\":\"%s\",\"backend\":%s,\"found\":%zu,\"output\":%s}\n",
         result_begin(options->json), detector->name,
         json_text(burn_device_name(device)).text, boxes->count,
         json_text(options->output).text);
}

/* A colour for each box in turn; edges of a hundredth of the picture. */
static void draw_boxes(const Boxes *boxes, BurnImage *image) {
  static const uint8_t colours[][3] = {{255, 40, 40},  {40, 200, 40},
                                       {60, 120, 255}, {255, 200, 0},
                                       {230, 60, 230}, {0, 210, 210}};
  const uint32_t side =
      image->width < image->height ? image->width : image->height;
  const uint32_t width = side < 200 ? 1 : side / 100;
  for (size_t i = boxes->count; i-- > 0;) { /* the best one last, on top */
    const size_t colour = i % (sizeof colours / sizeof *colours);
    box_draw(&boxes->items[i], image, colours[colour], width);
  }
}

/* -- program --------------------------------------------------------------- */

static BurnStatus find_on(const Options *options, const Detector *detector,
                          BurnDevice *device, BurnImage *image, Boxes *boxes) {
  BurnStatus status = burn_image_read(options->image, 3, image);
  if (status != BURN_OK) return status;
  BurnGraph *graph = burn_onnx_load(options->model, device, &status);
  if (!graph) return status;
  const double threshold =
      options->threshold > 0 ? options->threshold : detector->threshold;
  status = detector->find(graph, device, image, threshold, boxes);
  burn_graph_release(graph);
  if (status != BURN_OK) return status;
  boxes_suppress(boxes, detector->overlap);
  boxes_clip(boxes, image);
  draw_boxes(boxes, image);
  status = burn_image_write_png(options->output, image);
  if (status == BURN_OK) print_boxes(options, detector, device, boxes);
  return status;
}

static BurnStatus find(const Options *options, const Detector *detector) {
  BurnDevice *device = burn_device_open(options->backend);
  BurnImage image = {.pixels = NULL};
  Boxes boxes = {.count = 0};
  BurnStatus status = burn_device_status(device);
  if (status == BURN_OK) {
    status = find_on(options, detector, device, &image, &boxes);
  }
  boxes_release(&boxes);
  burn_image_release(&image);
  burn_device_close(device);
  return status;
}

static BurnStatus faces(const void *options) {
  return find(options, &face_detector);
}

static BurnStatus objects(const void *options) {
  return find(options, &object_detector);
}

static const char *problem_of(const void *context, const char *command) {
  const Options *o = context;
  (void)command;
  if (!o->image) return "give the picture with --image";
  if (!o->model) return "give the network with --model";
  return o->threshold >= 0 && o->threshold < 1
             ? NULL
             : "--threshold is not between 0 and 1";
}

int main(int argc, char **argv) {
  Options options = {.output = "boxes.png"};
  const Argument arguments[] = {
      {"model", ARGUMENT_TEXT, &options.model, "FILE",
       "UltraFace RFB-320 or FastestDet, in ONNX"},
      {"image", ARGUMENT_TEXT, &options.image, "FILE",
       "a PNG, JPEG or PPM picture"},
      {"output", ARGUMENT_TEXT, &options.output, "FILE",
       "the same with boxes, a PNG"},
      {"threshold", ARGUMENT_NUMBER, &options.threshold, "X",
       "lowest score; 0: 0.7 for faces, 0.65 for objects"},
      ARGUMENT_BACKEND(&options),
      ARGUMENT_JSON(&options),
  };
  const ProgramCommand commands[] = {{"faces", faces}, {"objects", objects}};
  const Program program = {
      .name = "object_detection",
      .usage =
          "usage: object_detection [faces|objects] --model FILE "
          "--image FILE [options]",
      .arguments = PROGRAM_LIST(arguments),
      .commands = PROGRAM_LIST(commands),
      .problem_of = problem_of};
  return program_main(&program, argc, argv, &options);
}
