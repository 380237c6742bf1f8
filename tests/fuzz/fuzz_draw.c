/* fuzz_draw.c - values, texts and tensors from the bytes of an input; see fuzz_target.h. */
#include "fuzz_target.h"

#include <burn/plugin/host.h>
#include <math.h>
#include <stdarg.h>

void fuzz_found(const char *file, int line, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "%s:%d: ", file, line);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  abort();
}

bool fuzz_ok(BurnStatus status) {
  const uint32_t code = burn_status_code(status);
  FUZZ_REQUIRE(code != BURN_STATUS_INTERNAL && code != BURN_STATUS_TENSOR_TAKEN, "%s", burn_status_message(status));
  return status == BURN_OK;
}

/* -- numbers ---------------------------------------------------------------------------------- */

uint8_t fuzz_byte(FuzzInput *input) {
  if (input->left == 0) return 0;
  input->left--;
  return *input->next++;
}

uint64_t fuzz_bits(FuzzInput *input) {
  uint64_t bits = 0;
  for (int i = 0; i < 8; i++) bits = bits << 8 | fuzz_byte(input);
  return bits;
}

uint32_t fuzz_below(FuzzInput *input, uint32_t limit) { return fuzz_byte(input) % limit; }

int64_t fuzz_integer(FuzzInput *input) {
  static const int64_t hostile[] = {
      INT64_MIN,        INT64_MIN + 1,    INT64_MAX,        INT64_MAX - 1,       INT32_MIN, INT32_MAX,
      (int64_t)1 << 31, (int64_t)1 << 40, (int64_t)1 << 62, -((int64_t)1 << 40), -100,      100};
  const uint8_t choice = fuzz_byte(input);
  if (choice < 240) return (int64_t)(choice % 8) - 2;
  const uint8_t which = choice - 240;
  return which < sizeof hostile / sizeof hostile[0] ? hostile[which] : (int64_t)fuzz_bits(input);
}

double fuzz_number(FuzzInput *input) {
  static const double hostile[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.0, 1e308, -1e308, 5e-324, 1e39,
                                   9.3e18,      -9.3e18};
  const uint8_t choice = fuzz_byte(input);
  if (choice < 224) return ((double)(choice % 32) - 12) / 4;
  const uint8_t which = choice - 224;
  if (which < sizeof hostile / sizeof hostile[0]) return hostile[which];
  const uint64_t bits = fuzz_bits(input);
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

BurnDType fuzz_dtype(FuzzInput *input) {
  const uint8_t choice = fuzz_byte(input);
  if (choice < 96) return BURN_DTYPE_F32;
  if (choice < 128) return BURN_DTYPE_I64;
  return choice < 250 ? 1 + (BurnDType)(choice - 128) % 10 : choice;
}

/* -- bytes ------------------------------------------------------------------------------------ */

FuzzInput fuzz_part(FuzzInput *input) {
  FuzzInput part = {input->next, 0};
  while (input->left > 0 && (input->left < 3 || memcmp(input->next, "<|>", 3) != 0)) {
    input->next++;
    input->left--;
    part.left++;
  }
  if (input->left > 0) {
    input->next += 3;
    input->left -= 3;
  }
  return part;
}

char *fuzz_text(FuzzInput input) {
  char *text = malloc(input.left + 1);
  if (!text) abort();
  if (input.left) memcpy(text, input.next, input.left);
  text[input.left] = '\0';
  for (size_t i = 0; i < input.left; i++) {
    if (text[i] == '/') text[i] = '|';
    if (text[i] == '\\' && text[i + 1] == 'u') text[i + 1] = 'n'; /* \u002f is a slash, too */
  }
  return text;
}

/* -- tensors ---------------------------------------------------------------------------------- */

enum { MAX_BYTES = 1 << 24, MAX_ELEMENTS = 1 << 16, MAX_DEVICES = 16 };

static void *BURN_API_CALL small_allocate(uint64_t bytes) {
  return bytes > MAX_BYTES ? NULL : burn_host()->allocate(bytes);
}

static struct {
  const char *stack;
  BurnDevice *device;
} open[MAX_DEVICES];

/* So that what is left at the end is a leak. */
static void close_devices(void) {
  for (int i = 0; i < MAX_DEVICES; i++) burn_device_close(open[i].device);
}

BurnDevice *fuzz_device(const char *stack) {
  static BurnHost host;
  int i = 0;
  while (open[i].stack && strcmp(open[i].stack, stack) != 0) i++;
  if (open[i].stack) return open[i].device;
  if (i == 0) {
    host = *burn_host();
    host.allocate = small_allocate;
    (void)atexit(close_devices);
  }
  open[i].stack = stack;
  open[i].device = burn_device_open_with_host(stack, &host);
  FUZZ_REQUIRE(fuzz_ok(burn_device_status(open[i].device)), "%s: %s", stack,
               burn_status_message(burn_device_status(open[i].device)));
  return open[i].device;
}

static BurnShape small_shape(FuzzInput *input) {
  const uint8_t choice = fuzz_byte(input);
  BurnShape shape = {.rank = 1 + choice % (choice < 240 ? 4u : (uint32_t)BURN_MAX_RANK)};
  for (uint32_t i = 0; i < shape.rank; i++)
    shape.dims[i] = shape.rank > 4 ? fuzz_below(input, 3) : fuzz_below(input, 6);
  return shape;
}

/* The same elements, or some, in another layout. */
static BurnTensor *other_layout(FuzzInput *input, BurnTensor *x) {
  const int last = (int)burn_rank(x) - 1;
  switch (fuzz_below(input, 8)) {
    case 0:
      return last > 0 ? burn_transpose(x) : x;
    case 1:
      return burn_flip(x, &(int){0}, 1);
    case 2:
      return burn_slice_dim(x, last, (BurnRange){0, BURN_END, 2});
    case 3:
      return last < 4 ? burn_repeat_dim(burn_unsqueeze_dim(x, 0), 0, 2) : x;
    case 4: {
      BurnShape shape = burn_shape(x);
      if (shape.dims[0] != 1) return x;
      shape.dims[0] = 3;
      return burn_expand(x, shape);
    }
    default:
      return x;
  }
}

BurnTensor *fuzz_tensor(FuzzInput *input, BurnDevice *device) {
  const BurnShape shape = small_shape(input);
  const BurnDType dtype = 1 + (fuzz_dtype(input) + 9) % 10;
  double values[1024] = {0};
  size_t count = 1;
  for (uint32_t i = 0; i < shape.rank; i++) count *= (size_t)shape.dims[i];
  if (count > 1024) return burn_zeros(device, shape, dtype);
  const bool is_index = burn_dtype_kind(dtype) == BURN_KIND_INT && fuzz_byte(input) < 192;
  for (size_t i = 0; i < count && i < 32; i++) values[i] = is_index ? fuzz_below(input, 4) : fuzz_number(input);
  for (size_t i = 32; i < count; i++) values[i] = values[i % 31];
  BurnTensor *x = other_layout(input, burn_cast(burn_tensor_f64(device, values, shape), dtype));
  return burn_dtype_kind(dtype) == BURN_KIND_FLOAT && burn_device_is_autodiff(device)
             ? burn_require_grad(burn_detach(x))
             : x;
}

void fuzz_device_end(BurnDevice *device) {
  (void)fuzz_ok(burn_device_sync(device));
  const int64_t left = burn_device_memory(device).live_tensors;
  FUZZ_REQUIRE(left <= 0, "%s is left with %lld tensors", burn_device_name(device), (long long)left);
}

void fuzz_use(BurnTensor *x) {
  const size_t count = (size_t)burn_element_count(x), width = burn_dtype_bytes(burn_dtype(x));
  if (!fuzz_ok(burn_tensor_status(x)) || count > MAX_ELEMENTS) {
    burn_drop(x);
    return;
  }
  if (burn_is_tracked(x)) {
    BurnGradients *gradients = NULL;
    (void)fuzz_ok(burn_backward(burn_clone(x), &gradients));
    burn_gradients_drop(gradients);
  }
  void *data = malloc(count * width + 1);
  if (!data) abort();
  (void)fuzz_ok(burn_read(x, data, count * width));
  free(data);
}
