/* gguf_test.c - GGUF files as stores: one that the package gguf wrote, with the floats of its dequantize bit by bit
 * (golden/make_gguf_golden.py), and hostile ones. */
#include "store_testing.h"

#include "gguf_golden.h"

static BurnStore *open_file(void) {
  BurnStatus status = BURN_OK;
  BurnStore *store = burn_store_open_bytes(gguf_file, sizeof gguf_file, &status);
  check_status(status);
  assert_string_equal(burn_store_format(store), "gguf");
  return store;
}

static void tensors_are_listed(void **state) {
  (void)state;
  static const struct {
    const char *name, *file_dtype, *shape;
    BurnDType dtype;
    uint64_t bytes;
  } wanted[] = {{"plain", "F32", "[2,3]", BURN_DTYPE_F32, 24},       {"half", "F16", "[3]", BURN_DTYPE_F16, 6},
                {"brain", "BF16", "[1,2]", BURN_DTYPE_BF16, 4},      {"count", "I32", "[1]", BURN_DTYPE_I32, 4},
                {"q4_0", "Q4_0", "[2,64]", BURN_DTYPE_F32, 72},      {"q8_0", "Q8_0", "[2,32]", BURN_DTYPE_F32, 68},
                {"q4_k", "Q4_K", "[1,512]", BURN_DTYPE_F32, 288},    {"q6_k", "Q6_K", "[2,256]", BURN_DTYPE_F32, 420},
                {"q5_k", "Q5_K", "[1,256]", BURN_DTYPE_DEFAULT, 176}};
  BurnStore *store = open_file();
  assert_int_equal(burn_store_count(store), sizeof wanted / sizeof wanted[0]);
  for (size_t i = 0; i < burn_store_count(store); i++) {
    const BurnStoreEntry *entry = burn_store_entry(store, i);
    assert_string_equal(entry->name, wanted[i].name);
    assert_string_equal(entry->file_dtype, wanted[i].file_dtype);
    assert_string_equal(burn_shape_text(entry->shape).text, wanted[i].shape);
    assert_int_equal(entry->dtype, wanted[i].dtype);
    assert_int_equal(entry->bytes, wanted[i].bytes);
  }
  const BurnStatus status = burn_store_read(store, burn_store_find(store, "q5_k"), NULL, 0);
  assert_non_null(strstr(burn_status_message(status), "this quantization is not unpacked"));
  burn_store_close(store);
}

static void metadata_have_their_types(void **state) {
  (void)state;
  BurnStore *store = open_file();
  const BurnValue *metadata = burn_store_metadata(store);
  assert_string_equal(burn_value_as_text(burn_value_get(metadata, "general.architecture"), ""), "llama");
  assert_string_equal(burn_value_as_text(burn_value_get(metadata, "general.name"), ""), "tiny");
  assert_int_equal(burn_value_as_int(burn_value_get(metadata, "llama.block_count"), 0), 2);
  assert_true(burn_value_as_float(burn_value_get(metadata, "llama.epsilon"), 0) == 0.25);
  assert_true(burn_value_as_bool(burn_value_get(metadata, "flag"), false));
  assert_int_equal(burn_value_as_int(burn_value_get(metadata, "small"), 0), -3);
  const BurnValue *tokens = burn_value_get(metadata, "tokenizer.ggml.tokens");
  assert_int_equal(burn_value_count(tokens), 3);
  assert_string_equal(burn_value_as_text(burn_value_at(tokens, 2), ""), "c");
  assert_string_equal(burn_value_as_text(burn_value_get(metadata, "tokenizer.ggml.token_type"), ""), "300 elements");
  burn_store_close(store);
}

static void check_bits(const BurnStore *store, const char *name, const uint32_t *wanted, size_t bytes) {
  uint32_t *bits = malloc(bytes);
  check_status(burn_store_read(store, burn_store_find(store, name), bits, bytes));
  for (size_t i = 0; i < bytes / sizeof *bits; i++)
    if (bits[i] != wanted[i]) fail_msg("%s[%zu] is 0x%08x, expected 0x%08x", name, i, bits[i], wanted[i]);
  free(bits);
}

static void quantized_blocks_become_the_same_floats(void **state) {
  const Fixture *fixture = *state;
  BurnStore *store = open_file();
  check_bits(store, "q4_0", gguf_q4_0, sizeof gguf_q4_0);
  check_bits(store, "q8_0", gguf_q8_0, sizeof gguf_q8_0);
  check_bits(store, "q4_k", gguf_q4_k, sizeof gguf_q4_k);
  check_bits(store, "q6_k", gguf_q6_k, sizeof gguf_q6_k);
  assert_values(store, "plain", fixture->device, (const double[]){0, 0.25, 0.5, 0.75, 1, 1.25}, 6);
  assert_values(store, "half", fixture->device, (const double[]){1.5, -2, 65504}, 3);
  assert_values(store, "brain", fixture->device, (const double[]){1.5, -2}, 2);
  assert_values(store, "count", fixture->device, (const double[]){-5}, 1);
  burn_store_close(store);
}

/* -- hostile files ---------------------------------------------------------------------------- */

/* A file as it is made by hand. */
typedef struct GgufBytes {
  unsigned char bytes[512];
  size_t count;
} GgufBytes;

static void put(GgufBytes *file, uint64_t number, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) file->bytes[file->count++] = (unsigned char)(number >> (8 * i));
}

static void put_text(GgufBytes *file, const char *text) {
  put(file, strlen(text), 8);
  memcpy(file->bytes + file->count, text, strlen(text));
  file->count += strlen(text);
}

static GgufBytes head(uint32_t version, uint64_t tensors, uint64_t pairs) {
  GgufBytes file = {"GGUF", 4};
  put(&file, version, 4);
  put(&file, tensors, 8);
  put(&file, pairs, 8);
  return file;
}

/* One tensor "w" of these sizes, type and place, and 64 bytes of values. */
static GgufBytes tensor(uint64_t first, uint64_t second, uint32_t type, uint64_t place) {
  GgufBytes file = head(3, 1, 0);
  put_text(&file, "w");
  put(&file, 2, 4);
  put(&file, first, 8);
  put(&file, second, 8);
  put(&file, type, 4);
  put(&file, place, 8);
  while (file.count % 32 != 0) put(&file, 0, 1);
  for (int i = 0; i < 8; i++) put(&file, 0, 8);
  return file;
}

static void refuse(GgufBytes file, const char *message) { assert_refused(file.bytes, file.count, message); }

/* CVE-2024-21802, -21836, -23605: numbers of tensors, pairs and axes that wrap. */
static void cve_counts_that_wrap(void **state) {
  (void)state;
  refuse(head(3, UINT64_MAX, 0),
         "store: gguf: byte 8: 18446744073709551615 tensors and 0 pairs of metadata in 0 bytes");
  refuse(head(3, 0, UINT64_C(1) << 61),
         "store: gguf: byte 8: 0 tensors and 2305843009213693952 pairs of metadata in 0 bytes");
  GgufBytes file = head(3, 0, 1);
  put_text(&file, "k");
  put(&file, 9, 4);
  put(&file, 4, 4);
  put(&file, UINT64_C(1) << 62, 8);
  refuse(file, "store: gguf: k: byte 37: an array of 4611686018427387904 elements in 0 bytes");
  file = head(2, 0, 1);
  put(&file, UINT64_MAX, 8);
  put(&file, 0, 8);
  refuse(file, "store: gguf: byte 24: a text of 18446744073709551615 bytes, of which 8 are there");
}

/* CVE-2025-53630 and CVE-2026-27940: the product of sizes wraps to what the file has. */
static void cve_sizes_that_wrap(void **state) {
  (void)state;
  refuse(tensor(UINT64_C(1) << 32, UINT64_C(1) << 32, 0, 0),
         "store: gguf: byte 33: a tensor of more elements than there is memory");
  refuse(tensor(4, UINT64_C(1) << 62, 0, 0), "store: gguf: byte 33: a tensor of more elements than there is memory");
  refuse(tensor(UINT64_MAX, 1, 0, 0), "store: gguf: byte 33: a size beyond 2^63");
}

/* CVE-2026-7482: a tensor that ends beyond the file. */
static void cve_tensor_larger_than_the_file(void **state) {
  (void)state;
  refuse(tensor(4, 5, 0, 0), "store: gguf: byte 96: tensor w: 80 bytes at 0 of the 64 bytes of values");
  refuse(tensor(4, 4, 0, 32), "store: gguf: byte 96: tensor w: 64 bytes at 32 of the 64 bytes of values");
  refuse(tensor(4, 4, 0, UINT64_MAX - 31),
         "store: gguf: byte 96: tensor w: 64 bytes at 18446744073709551584 of the 64 bytes of values");
  refuse(tensor(4, 4, 0, 1), "store: gguf: byte 65: tensor w: its place is 1, a multiple of 32 expected");
}

/* CVE-2024-21825, -23496: the type that is declared and the one that is used. */
static void cve_types(void **state) {
  (void)state;
  refuse(tensor(4, 4, 5, 0), "store: gguf: byte 24: tensor w: type 5 is not known");
  refuse(tensor(48, 1, 2, 0), "store: gguf: byte 24: tensor w: rows of 48 elements in blocks of 32");
  GgufBytes file = head(3, 0, 1);
  put_text(&file, "general.alignment");
  put(&file, 8, 4);
  put_text(&file, "32");
  refuse(file, "store: gguf: general.alignment: byte 24: an alignment that is not a power of two up to 2^20");
  file = head(3, 0, 1);
  put_text(&file, "k");
  put(&file, 9, 4);
  put(&file, 9, 4);
  put(&file, 0, 8);
  refuse(file, "store: gguf: k: byte 37: an array of no known type, or of arrays");
  file = head(3, 0, 1);
  put_text(&file, "k");
  put(&file, 13, 4);
  put(&file, 0, 8);
  refuse(file, "store: gguf: byte 24: a value of no known type");
}

static void other_versions_are_named(void **state) {
  (void)state;
  refuse(head(1, 0, 0), "store: gguf: byte 4: GGUF version 1, 2 or 3 expected");
  refuse(head(0x03000000, 0, 0), "store: gguf: byte 4: a file of a big-endian machine, which is not read");
}

/* Every beginning is refused with a place; the zeros after the last tensor are the last bytes that may be missing. */
static void cut_files_are_refused(void **state) {
  (void)state;
  const size_t needed = sizeof gguf_file - (32 - 176 % 32);
  for (size_t cut = 0; cut < needed; cut++) {
    BurnStatus status = BURN_OK;
    unsigned char *part = malloc(cut + 1);
    memcpy(part, gguf_file, cut);
    BurnStore *store = burn_store_open_bytes(part, cut, &status);
    if (store != NULL) fail_msg("%zu of %zu bytes are taken for a file", cut, sizeof gguf_file);
    if (cut >= 4 && strstr(burn_status_message(status), "byte") == NULL)
      fail_msg("cut at %zu: '%s' says no place", cut, burn_status_message(status));
    free(part);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tensors_are_listed),
      cmocka_unit_test(metadata_have_their_types),
      cmocka_unit_test(quantized_blocks_become_the_same_floats),
      cmocka_unit_test(cve_counts_that_wrap),
      cmocka_unit_test(cve_sizes_that_wrap),
      cmocka_unit_test(cve_tensor_larger_than_the_file),
      cmocka_unit_test(cve_types),
      cmocka_unit_test(other_versions_are_named),
      cmocka_unit_test(cut_files_are_refused),
  };
  return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
