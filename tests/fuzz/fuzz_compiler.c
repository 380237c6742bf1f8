/* fuzz_compiler.c - sources of kernels through the compiler to SPIR-V (plugins/vulkan), which kernel packs bring: words
 * where they are refused, else a module whose instructions are whole.
 *
 * Input: a byte of what the device can do, then the source, of which `kernel` is compiled. */
#include "fuzz_target.h"

#include "kernel.h"

static void check_module(const KernelModule *module) {
  FUZZ_REQUIRE(module->word_count > 5 && module->words[0] == 0x07230203, "%zu words", module->word_count);
  FUZZ_REQUIRE(module->shared_bytes <= 1u << 20, "%u bytes of shared memory", module->shared_bytes);
  FUZZ_REQUIRE(module->in_push_constants == (module->parameter_bytes + KERNEL_PARAMETERS_AT <= KERNEL_PUSH_BYTES),
               "%u bytes of parameters", module->parameter_bytes);
  size_t at = 5;
  while (at < module->word_count) {
    const size_t length = module->words[at] >> 16;
    FUZZ_REQUIRE(length > 0 && length <= module->word_count - at, "an instruction of %zu words at %zu", length, at);
    at += length;
  }
}

static void compile(KernelProgram *program, const uint32_t *threads) {
  char why[KERNEL_WHY_BYTES] = "";
  KernelModule module;
  const bool done = burn__kernel_emit(program, "kernel", threads, &module, why, sizeof why);
  FUZZ_REQUIRE(done || why[0], "no words");
  if (done) check_module(&module);
  burn__kernel_module_free(&module);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  FuzzInput input = {bytes, count};
  const uint8_t can = fuzz_byte(&input);
  const bool has = (can & 4) != 0;
  const KernelTarget target = {.has_warps = (can & 1) != 0,
                               .fused_f32 = has,
                               .native_powers = has,
                               .exact_f32 = (can & 2) != 0,
                               .keeps_nan = {has, has, has}};
  const uint32_t threads[] = {4, 2, 2};
  char why[KERNEL_WHY_BYTES] = "", *source = malloc(input.left + 1);
  FUZZ_REQUIRE(source, "no memory for %zu bytes", count);
  if (input.left > 0) memcpy(source, input.next, input.left);
  source[input.left] = '\0';
  KernelProgram *program = burn__kernel_parse(source, &target, why, sizeof why);
  FUZZ_REQUIRE(program || why[0], "no words");
  if (program) compile(program, NULL);
  if (program) compile(program, threads);
  burn__kernel_free(program);
  free(source);
  return 0;
}
