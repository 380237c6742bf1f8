/* asked_decorator.c - a decorator over a backend with "burn.fused" and "burn.epilogue" that hands both on and notes what
 * it is asked, for fusion_epilogue_test. The interface "asked.epilogues" hands the notes out. */
#include "asked_decorator.h"
#include "decorator_entry.h"

#include <stdio.h>

typedef struct Asked {
  const BurnHost *host;
  const BurnBackend *next;
  const BurnFusedInterface *fused;
  const BurnEpilogueInterface *epilogue;
  void *below;                  /* self of both */
  const BurnFusedKernel *noted; /* the last kernel with a product */
  AskedEpilogues notes;
} Asked;

static uint32_t BURN_API_CALL asked_role(void *self, const BurnFusedStep *step, const BurnTensorDesc *inputs,
                                         const BurnTensorDesc *output) {
  const Asked *asked = self;
  return asked->fused->role(asked->below, step, inputs, output);
}

static BurnStatus BURN_API_CALL asked_compile(void *self, const BurnFusedBody *body, BurnFusedKernel **out, char *why,
                                              uint64_t why_bytes) {
  const Asked *asked = self;
  return asked->fused->compile(asked->below, body, out, why, why_bytes);
}

static BurnStatus BURN_API_CALL asked_run(void *self, const BurnFusedCall *call) {
  Asked *asked = self;
  if (call->kernel == asked->noted) {
    asked->notes.runs++;
    if (asked->notes.fails > 0) {
      asked->notes.fails--;
      return asked->host->fail(BURN_STATUS_INTERNAL, __FILE__, __LINE__, "asked: this run fails");
    }
  }
  return asked->fused->run(asked->below, call);
}

static void BURN_API_CALL asked_release(void *self, BurnFusedKernel *kernel) {
  const Asked *asked = self;
  asked->fused->release(asked->below, kernel);
}

static void BURN_API_CALL asked_describe(void *self, const BurnFusedKernel *kernel, char *text, uint64_t text_bytes) {
  const Asked *asked = self;
  asked->fused->describe(asked->below, kernel, text, text_bytes);
}

static uint32_t BURN_API_CALL asked_takes(void *self, const BurnFusedStep *product, const BurnTensorDesc *inputs,
                                          const BurnTensorDesc *output) {
  Asked *asked = self;
  asked->notes.takes++;
  return asked->epilogue->takes(asked->below, product, inputs, output);
}

static void note(AskedEpilogues *notes, const BurnFusedBody *body) {
  AskedBody *noted = &notes->bodies[notes->count++ % ASKED_MAX];
  *noted = (AskedBody){.input_count = body->input_count,
                       .step_count = body->step_count,
                       .output_count = body->output_count,
                       .result = body->values[body->input_count]};
  for (uint32_t i = 0; i < body->step_count && i < ASKED_STEPS; i++) noted->ops[i] = body->steps[i].op;
  for (uint32_t i = 0; i < body->output_count && i < ASKED_STEPS; i++) noted->outputs[i] = body->outputs[i];
}

static BurnStatus BURN_API_CALL asked_compile_epilogue(void *self, const BurnFusedBody *body, BurnFusedKernel **out,
                                                       char *why, uint64_t why_bytes) {
  Asked *asked = self;
  note(&asked->notes, body);
  *out = NULL;
  if (asked->notes.refuses) {
    (void)snprintf(why, why_bytes, "asked refuses");
    return BURN_OK;
  }
  const BurnStatus status = asked->epilogue->compile(asked->below, body, out, why, why_bytes);
  asked->noted = *out;
  return status;
}

static const BurnFusedInterface *fused_table(void) {
  static const BurnFusedInterface table = {.struct_size = (uint32_t)sizeof(BurnFusedInterface),
                                           .version = 1,
                                           .max_inputs = 16,
                                           .max_steps = 64,
                                           .max_outputs = 8,
                                           .role = asked_role,
                                           .compile = asked_compile,
                                           .run = asked_run,
                                           .release = asked_release,
                                           .describe = asked_describe};
  return &table;
}

static int32_t BURN_API_CALL asked_get_interface(void *self, const char *name, uint32_t min_version,
                                                 BurnInterface *out) {
  static const BurnEpilogueInterface epilogue = {.struct_size = (uint32_t)sizeof(BurnEpilogueInterface),
                                                 .version = 1,
                                                 .takes = asked_takes,
                                                 .compile = asked_compile_epilogue};
  Asked *asked = self;
  *out = (BurnInterface){NULL, self};
  if (strcmp(name, BURN_FUSED_INTERFACE) == 0) out->table = fused_table();
  if (strcmp(name, BURN_EPILOGUE_INTERFACE) == 0) out->table = &epilogue;
  if (strcmp(name, ASKED_INTERFACE) == 0) out->table = &asked->notes;
  return out->table || asked->next->get_interface(asked->next->self, name, min_version, out);
}

static void BURN_API_CALL asked_close(void *self) {
  Asked *asked = self;
  asked->host->free(asked, sizeof *asked);
}

static BurnStatus BURN_API_CALL asked_open(const BurnHost *host, const BurnBackend *next, const BurnOptions *options,
                                           uint32_t owner, BurnBackend *out) {
  const BurnStatus checked = burn_plugin_check_open(host, out, PLUGIN_NAME);
  BurnInterface fused, epilogue;
  (void)options;
  (void)owner;
  if (checked != BURN_OK) return checked;
  if (!next->get_interface(next->self, BURN_FUSED_INTERFACE, 1, &fused) ||
      !next->get_interface(next->self, BURN_EPILOGUE_INTERFACE, 1, &epilogue))
    return host->fail(BURN_STATUS_NOT_FOUND, __FILE__, __LINE__, PLUGIN_NAME ": the backend has no epilogues");
  Asked *asked = host->allocate(sizeof *asked);
  if (!asked) return host->fail(BURN_STATUS_OUT_OF_MEMORY, __FILE__, __LINE__, PLUGIN_NAME ": no memory");
  *asked = (Asked){.host = host, .next = next, .fused = fused.table, .epilogue = epilogue.table, .below = fused.self};
  out->self = asked;
  out->name = PLUGIN_NAME;
  out->get_interface = asked_get_interface;
  out->close = asked_close;
  return BURN_OK;
}

TEST_DECORATOR(asked_open, "notes what is asked about products and what follows them")
