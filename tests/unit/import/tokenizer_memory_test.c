/* tokenizer_memory_test.c - what a small file may make a tokenizer ask for: memory for texts that begin alike, time for
 * merges whose keys have one place in a table. */
#include "sanitized.h"

#include <burn/text_tokenizer.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#if defined(SANITIZED) || !defined(__GLIBC__)
int main(void) {
  printf("tokenizer_memory_test: skipped, the sanitizer owns malloc\n");
  return 0;
}
#else

#include "counting_malloc.h"

enum { MEGABYTES_16 = 16 << 20 };

static BurnTextTokenizer *open_file(const char *file, size_t count) {
  BurnStatus status = BURN_OK;
  BurnTextTokenizer *tokenizer = burn_text_tokenizer_read(file, count, "file", &status);
  assert_string_equal(burn_status_message(status), "ok");
  return tokenizer;
}

static void expect(BurnTextTokenizer *tokenizer, const char *text, size_t length, int64_t id) {
  BurnEncoding encoding = {.count = 0};
  assert_int_equal(burn_text_tokenizer_encode(tokenizer, text, length, NULL, &encoding), BURN_OK);
  assert_int_equal(encoding.count, 1);
  assert_int_equal(encoding.ids[0], id);
  burn_encoding_release(&encoding);
}

/* Three texts of a million bytes that differ at the end or end before, and a fourth that is none of them. */
static void texts_that_begin_alike_take_no_node_for_a_byte(void **state) {
  (void)state;
  enum { LENGTH = 8 << 20 };
  char *file = malloc(3 * LENGTH + 256), *text = malloc(LENGTH + 2);
  memset(text, 'a', LENGTH);
  text[LENGTH] = 0;
  size_t used = (size_t)sprintf(file, "{\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"?\",\"vocab\":{\"?\":0,");
  used += (size_t)sprintf(file + used, "\"%sx\":1,", text);
  used += (size_t)sprintf(file + used, "\"%sy\":2,", text);
  used += (size_t)sprintf(file + used, "\"%.*s\":3}}}", LENGTH / 2, text);
  const long long before = atomic_load(&bytes_held);
  BurnTextTokenizer *tokenizer = open_file(file, used);
  const long long held = atomic_load(&bytes_held) - before;
  if (held > 4 * (long long)used + MEGABYTES_16) fail_msg("%lld bytes for a file of %zu", held, used);
  text[LENGTH] = 'y';
  expect(tokenizer, text, LENGTH + 1, 2);
  text[LENGTH] = 'x';
  expect(tokenizer, text, LENGTH + 1, 1);
  expect(tokenizer, text, LENGTH / 2, 3);
  expect(tokenizer, text, LENGTH, 0);
  text[LENGTH / 2 + 1] = 'b';
  expect(tokenizer, text, LENGTH + 1, 0);
  burn_text_tokenizer_destroy(tokenizer);
  free(text);
  free(file);
}

/* Where a key lies in a table of 2^18 places: by one product, as it once was, and by the last steps of MurmurHash3. */
static uint64_t by_product(uint64_t key) { return key * UINT64_C(0x9e3779b97f4a7c15) >> 32 & 0x3ffff; }
static uint64_t by_murmur(uint64_t key) {
  key += UINT64_C(0x9e3779b97f4a7c15);
  key = (key ^ key >> 33) * UINT64_C(0xff51afd7ed558ccd);
  key = (key ^ key >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
  return (key ^ key >> 33) & 0x3ffff;
}

/* 100,000 merges of which all lie in a 256th of the table: a search of each would pass the others, 10^10 steps in all. */
static void merges_with_one_place_take_no_time(uint64_t (*place)(uint64_t key)) {
  enum { LEFT = 1024, RIGHT = 32768, MERGES = 100000, ROOM = 8 << 20 };
  char *file = malloc(ROOM);
  size_t merges = 0, used = (size_t)sprintf(file, "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"\":2000000");
  uint32_t(*pairs)[2] = malloc(MERGES * sizeof *pairs);
  for (uint32_t i = 0; i < LEFT + RIGHT; i++)
    used += (size_t)sprintf(file + used, ",\"%c%x\":%u", i < LEFT ? 'l' : 'r', i, i);
  for (uint64_t left = 0; left < LEFT; left++) {
    for (uint64_t right = LEFT; right < LEFT + RIGHT && merges < MERGES; right++) {
      if (place(left << 32 | right) >> 10 != 0) continue;
      pairs[merges][0] = (uint32_t)left;
      pairs[merges][1] = (uint32_t)right;
      used += (size_t)sprintf(file + used, ",\"l%xr%x\":%zu", (unsigned)left, (unsigned)right, LEFT + RIGHT + merges++);
    }
  }
  assert_int_equal(merges, MERGES);
  used += (size_t)sprintf(file + used, "},\"merges\":[");
  for (size_t i = 0; i < merges; i++)
    used += (size_t)sprintf(file + used, "%s\"l%x r%x\"", i ? "," : "", pairs[i][0], pairs[i][1]);
  used += (size_t)sprintf(file + used, "]}}");
  assert_true(used < ROOM);
  const clock_t before = clock();
  burn_text_tokenizer_destroy(open_file(file, used));
  const double seconds = (double)(clock() - before) / CLOCKS_PER_SEC;
  if (seconds > 2) fail_msg("%g s", seconds); /* 0.2 s here */
  free(pairs);
  free(file);
}

static void merges_that_one_product_puts_together(void **state) {
  (void)state;
  merges_with_one_place_take_no_time(by_product);
}
static void merges_that_the_first_order_puts_together(void **state) {
  (void)state;
  merges_with_one_place_take_no_time(by_murmur);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(texts_that_begin_alike_take_no_node_for_a_byte),
      cmocka_unit_test(merges_that_one_product_puts_together),
      cmocka_unit_test(merges_that_the_first_order_puts_together),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
