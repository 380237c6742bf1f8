/* mnist_report.c - see report.h. */
#include "report.h"

#include <stdio.h>
#include <stdlib.h>

enum { PIXELS = 28 * 28, CLASSES = 10, SHOWN = 24 };

/* A digit that is shown: as bytes, and what is said of it. */
typedef struct Shown {
  uint8_t pixels[PIXELS];
  char title[64];
  bool wrong;
} Shown;

typedef struct Findings {
  int64_t counts[CLASSES * CLASSES];
  Shown shown[SHOWN];
  size_t wrong, right; /* of the shown ones: from the front, from the back */
} Findings;

/* Wrong digits have the first places, right ones the last. */
static void add_shown(Findings *findings, const float *image, int64_t truth,
                      int64_t prediction) {
  const bool wrong = truth != prediction;
  if (findings->wrong == SHOWN || (!wrong && findings->right == SHOWN / 2)) {
    return;
  }
  Shown *shown =
      &findings->shown[wrong ? findings->wrong++ : SHOWN - ++findings->right];
  if (findings->wrong + findings->right > SHOWN) findings->right--;
  for (int i = 0; i < PIXELS; i++) {
    const float value = (image[i] * 0.3081f + 0.1307f) * 255;
    shown->pixels[i] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
  }
  shown->wrong = wrong;
  snprintf(shown->title, sizeof shown->title, "predicted %lld, truth %lld",
           (long long)prediction, (long long)truth);
}

static BurnStatus classify(const Model *model, BurnDevice *device,
                           BurnDataset *test, Findings *findings) {
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < burn_dataset_count(test) && status == BURN_OK; i++) {
    float image[PIXELS];
    int64_t truth = 0, prediction = 0;
    status = burn_dataset_get(test, i, (void *const[]){image, &truth});
    if (status != BURN_OK) break;
    BurnTensor *pixels =
        burn_tensor_f32(device, image, BURN_SHAPE(1, 1, 28, 28));
    BurnTensor *logits = model_forward(model, burn_float(pixels));
    status = burn_read_i64(burn_argmax(logits, 1), &prediction, 1);
    if (status != BURN_OK) break;
    findings->counts[truth * CLASSES + prediction]++;
    add_shown(findings, image, truth, prediction);
  }
  return status;
}

static BurnStatus write_findings(const Findings *findings, BurnDevice *device,
                                 const char *artifact) {
  BurnSample samples[SHOWN];
  size_t count = 0;
  for (size_t i = 0; i < SHOWN; i++) {
    const Shown *shown = &findings->shown[i];
    if (!shown->title[0]) continue;
    samples[count++] = (BurnSample){.title = shown->title,
                                    .wrong = shown->wrong,
                                    .pixels = shown->pixels,
                                    .width = 28,
                                    .height = 28,
                                    .channels = 1};
  }
  BurnStatus status = burn_report_samples(artifact, samples, count);
  if (status != BURN_OK) return status;
  return burn_report_confusion_matrix(
      artifact,
      burn_tensor_i64(device, findings->counts, BURN_SHAPE(CLASSES, CLASSES)),
      NULL);
}

BurnStatus mnist_report(const Model *model, BurnDevice *device,
                        BurnDataset *test, const char *artifact) {
  Findings *findings = calloc(1, sizeof *findings);
  if (!findings) {
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory");
  }
  BurnStatus status = classify(model, device, test, findings);
  if (status == BURN_OK) status = write_findings(findings, device, artifact);
  free(findings);
  if (status != BURN_OK) return status;
  return burn_report_write(&(BurnReportConfig){.artifact_dir = artifact});
}
