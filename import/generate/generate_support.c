/* generate_support.c - the functions of generate_support.def that a forward pass calls. */
#include "generate.h"

static const struct {
  GenerateSupport needs;
  const char *text;
} functions[GENERATE_SUPPORT_COUNT] = {
#define GENERATE_SUPPORT(name, needs, text) [GENERATE_SUPPORT_##name] = {GENERATE_SUPPORT_##needs, text},
#include "generate_support.def"
#undef GENERATE_SUPPORT
};

void generate_support(Generator *g, GenerateSupport function) {
  g->supports |= UINT32_C(1) << function;
  if (functions[function].needs != function) generate_support(g, functions[function].needs);
}

void generate_supports_text(const Generator *g, BurnTextBuilder *text) {
  for (uint32_t i = 0; i < GENERATE_SUPPORT_COUNT; i++) {
    if (g->supports >> i & 1) burn__text_addf(text, "%s\n", functions[i].text);
  }
}
