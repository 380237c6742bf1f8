/* cuda_report.c - what there is of NVIDIA's software, in words: for the probe, which opens none of it but the driver,
 * and so for burn backends and burn doctor. */
#include "cuda_driver.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A text that ends where there is no more room. */
typedef struct Text {
  char *at;
  size_t left;
} Text;

static void say(Text *text, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(text->at, text->left, format, arguments);
  va_end(arguments);
  const size_t used = length < 0 ? 0 : (size_t)length < text->left ? (size_t)length : text->left - 1;
  text->at += used;
  text->left -= used;
}

static int cuda_version(const CudaDriver *driver) {
  int version = 0;
  (void)driver->cuDriverGetVersion(&version);
  return version;
}

void burn__cuda_driver_text(const CudaDriver *driver, char *text, size_t bytes) {
  const int version = cuda_version(driver);
  char module[32] = "";
  FILE *file = fopen("/sys/module/nvidia/version", "re");
  if (file) {
    if (fscanf(file, "%31s", module) != 1) module[0] = '\0';
    (void)fclose(file);
  }
  (void)snprintf(text, bytes, "CUDA %d.%d%s%s", version / 1000, version % 1000 / 10, module[0] ? ", driver " : "",
                 module);
}

/* A library: its wheels, for CUDA 12 and 13, and what is done without it. */
static const struct {
  CudaPart part;
  const char *name, *wheels[2], *without;
} parts[] = {
    {CUDA_PART_NVRTC, "NVRTC", {"nvidia-cuda-nvrtc-cu12", "nvidia-cuda-nvrtc"}, "nothing runs"},
    {CUDA_PART_BLAS, "cuBLASLt", {"nvidia-cublas-cu12", "nvidia-cublas"}, "products run by kernels of ours"},
    {CUDA_PART_DNN, "cuDNN", {"nvidia-cudnn-cu12", "nvidia-cudnn-cu13"}, "convolutions run by kernels of ours"},
};
enum { PARTS = sizeof parts / sizeof parts[0] };

/* "NVRTC 13.0.88, cuBLASLt 13.1.0.3 in /usr/local/cuda/lib64": those of a folder together. */
static void say_found(Text *text, const CudaFound *found, const int *is_there) {
  const char *before = "; ";
  for (int i = 0; i < PARTS; i++) {
    if (!is_there[i]) continue;
    say(text, "%s%s %s", before, parts[i].name, found[i].version);
    const int is_last = i + 1 == PARTS || !is_there[i + 1] || strcmp(found[i].folder, found[i + 1].folder) != 0;
    if (is_last) say(text, " in %s", found[i].folder);
    before = ", ";
  }
}

void burn__cuda_report(const CudaDriver *driver, char *out, size_t bytes) {
  CudaFound found[PARTS];
  int is_there[PARTS];
  char software[64];
  Text text = {out, bytes};
  const int of_13 = cuda_version(driver) >= 13000;
  for (int i = 0; i < PARTS; i++) is_there[i] = burn__cuda_look_for(parts[i].part, &found[i]);
  burn__cuda_driver_text(driver, software, sizeof software);
  say(&text, "%s", software);
  say_found(&text, found, is_there);
  for (int i = 0; i < PARTS; i++)
    if (!is_there[i])
      say(&text, "; no %s (pip install %s, or BURN_CUDA_LIBS names its folder): %s", parts[i].name,
          parts[i].wheels[of_13], parts[i].without);
}
