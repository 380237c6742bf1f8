/* fuzz_kernel.c - sources of kernels as tokens, which kernel packs bring (plugins/vulkan): words where they are refused,
 * else tokens whose names are found again.
 *
 * Input: the source. */
#include "fuzz_target.h"

#include "kernel_tokens.h"

static void check(KernelTokens *tokens, uint32_t lines) {
  const KernelToken *token = burn__kernel_tokens_at(tokens);
  for (uint32_t line = 1; token->kind != KERNEL_TOKEN_END; line = token++->line) {
    FUZZ_REQUIRE(token->line >= line && token->line <= lines, "line %u after %u, of %u", token->line, line, lines);
    FUZZ_REQUIRE(token->kind <= KERNEL_TOKEN_UNROLL, "a token of kind %d", token->kind);
    if (token->kind == KERNEL_TOKEN_NAME)
      FUZZ_REQUIRE(burn__kernel_intern(tokens, token->name) == token->name, "two names %s", token->name);
    if (token->kind == KERNEL_TOKEN_PUNCTUATOR)
      FUZZ_REQUIRE(token->punctuator < KERNEL_PUNCTUATOR_COUNT, "punctuator %d", token->punctuator);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  static const char *const defined[] = {"BURN_SPIRV", "__CUDACC_RTC__", NULL};
  char why[160] = "", *source = malloc(count + 1);
  uint32_t lines = 1;
  FUZZ_REQUIRE(source, "no memory for %zu bytes", count);
  if (count > 0) memcpy(source, bytes, count);
  source[count] = '\0';
  for (const char *at = source; *at; at++) lines += *at == '\n';
  KernelTokens *tokens = burn__kernel_tokens(source, defined, why, sizeof why);
  FUZZ_REQUIRE(tokens || strncmp(why, "line ", 5) == 0 || strncmp(why, "no memory", 9) == 0, "no words: %s", why);
  if (tokens) check(tokens, lines);
  burn__kernel_tokens_free(tokens);
  free(source);
  return 0;
}
