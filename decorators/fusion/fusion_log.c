/* fusion_log.c - what BURN_FUSION_LOG=1 shows, on stderr: every new plan with its launches, why ops stayed apart, and
 * totals. */
#include "fusion_internal.h"

#include <inttypes.h>
#include <stdio.h>

static void print_desc(const BurnTensorDesc *desc) {
  fprintf(stderr, "%s[", burn_dtype_name(desc->dtype));
  for (uint32_t i = 0; i < desc->rank; i++) fprintf(stderr, i ? ",%" PRId64 : "%" PRId64, desc->shape[i]);
  fputc(']', stderr);
}

static void print_ops(const FusionDecorator *decorator, const FusionQueue *queue, const uint32_t *ops, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    fprintf(stderr, "%s%s", i ? " " : "", burn__fusion_op_name(decorator, fusion_ops(queue)[ops[i]].op));
}

static void print_launch(FusionDecorator *decorator, const FusionQueue *queue, const FusionPlan *plan,
                         const FusionLaunch *launch) {
  const uint32_t *ops = fusion_words(plan, launch->ops), *outputs = fusion_words(plan, launch->outputs);
  char text[256] = "";
  if (launch->joined) {
    fprintf(stderr, "fusion:   calls  %u times %s\n", launch->op_count,
            burn__fusion_op_name(decorator, fusion_ops(queue)[ops[0]].op));
    return;
  }
  fprintf(stderr, "fusion:   %s ", launch->kernel ? "kernel" : "call  ");
  print_ops(decorator, queue, ops, launch->op_count);
  fputs(" -> ", stderr);
  for (uint32_t i = 0; i < launch->output_count; i++) {
    if (i > 0) fputs(", ", stderr);
    print_desc(&fusion_values(queue)[outputs[i]].tensor->desc);
  }
  if (launch->kernel) decorator->fused->describe(decorator->fused_self, launch->kernel, text, sizeof text - 1);
  fprintf(stderr, "%s%s%s\n", text[0] ? "  (" : "", text, text[0] ? ")" : "");
}

void burn__fusion_log_plan(FusionDecorator *decorator, const FusionQueue *queue, const FusionPlan *plan) {
  uint32_t run = 0;
  for (uint32_t i = 0; i < plan->launches.count; i++) run += fusion_launches(plan)[i].op_count;
  fprintf(stderr, "fusion: new plan: %u ops in, %u launches out, %u ops whose results nobody wants\n", queue->ops.count,
          plan->launches.count, queue->ops.count - run);
  if (plan->folds.count > 0)
    fprintf(stderr, "fusion:   calls read or write %u halves without a cast\n", plan->folds.count);
  for (uint32_t i = 0; i < plan->launches.count; i++) print_launch(decorator, queue, plan, &fusion_launches(plan)[i]);
}

void burn__fusion_log_refusal(FusionDecorator *decorator, const FusionBody *body, const char *why) {
  fputs("fusion:   apart: ", stderr);
  print_ops(decorator, body->queue, body->ops, body->op_count);
  fprintf(stderr, ": %s\n", why);
}

void burn__fusion_log_replay(const FusionDecorator *decorator, const FusionPlan *plan, const char *what,
                             const char *why) {
  if (decorator->log) fprintf(stderr, "fusion: a plan of %u launches is %s: %s\n", plan->launches.count, what, why);
}

void burn__fusion_log_totals(const FusionDecorator *decorator) {
  const BurnFusionStatistics s = burn__fusion_statistics(decorator);
  fprintf(stderr,
          "fusion: in all %" PRIu64 " ops in %" PRIu64 " flushes: %" PRIu64 " kernels ran for %" PRIu64
          " of them, %" PRIu64 " calls, %" PRIu64 " were not needed; %" PRIu64 " plans made, %" PRIu64
          " recorded, %" PRIu64 " flushes replayed\n",
          s.ops, s.flushes, s.kernels, s.fused_ops, s.calls, s.dead_ops, s.plans, s.recordings, s.replays);
}
