/* autodiff_kept.c - what running a call again takes, for as long as somebody may ask for it.
 *
 * Whether a result will be read in the backward pass shows only when it is used. So the inputs of its call hang on an
 * object of their own, not on its node: the result's tensor holds it, and then those of its users who need the result
 * back. An addition whose sum goes to ops that do not read it lets its summands go with the tensor. */
#include "autodiff_internal.h"

static uint64_t kept_bytes(uint32_t input_count) {
  return sizeof(AutodiffKept) + input_count * sizeof(AutodiffKeptInput);
}

AutodiffKept *burn__autodiff_kept_create(AutodiffDecorator *decorator, const BurnOpCall *call,
                                         BurnPrimitive *const *inputs, const AutodiffRecord *record) {
  AutodiffKept *kept = (AutodiffKept *)decorator->host->allocate(kept_bytes(call->input_count));
  if (!kept) return NULL;
  atomic_init(&kept->references, 1u);
  kept->input_count = call->input_count;
  for (uint32_t i = 0; i < call->input_count; i++) {
    kept->inputs[i] = (AutodiffKeptInput){NULL, NULL};
    if (!call->inputs[i]) continue;
    if (autodiff_keeps_input(record, i, call->inputs[i])) {
      decorator->next->retain(decorator->next->self, inputs[i]);
      kept->inputs[i].value = inputs[i];
    } else {
      kept->inputs[i].maker = burn__autodiff_kept_retain(autodiff_tensor(call->inputs[i])->kept);
    }
  }
  return kept;
}

AutodiffKept *burn__autodiff_kept_retain(AutodiffKept *kept) {
  if (kept) atomic_fetch_add_explicit(&kept->references, 1u, memory_order_relaxed);
  return kept;
}

/* Drops one reference; what nobody holds any more goes to the front of the list. */
static void let_go(AutodiffKept *kept, AutodiffKept **list) {
  if (!kept || !autodiff_drop_reference(&kept->references)) return;
  kept->next_released = *list;
  *list = kept;
}

void burn__autodiff_kept_release(const AutodiffDecorator *decorator, AutodiffKept *kept) {
  AutodiffKept *list = NULL;
  let_go(kept, &list);
  while (list) {
    AutodiffKept *dead = list;
    list = dead->next_released;
    for (uint32_t i = 0; i < dead->input_count; i++) {
      let_go(dead->inputs[i].maker, &list);
      if (dead->inputs[i].value) decorator->next->release(decorator->next->self, dead->inputs[i].value);
    }
    decorator->host->free(dead, kept_bytes(dead->input_count));
  }
}
