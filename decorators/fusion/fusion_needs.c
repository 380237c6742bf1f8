/* fusion_needs.c - which group needs which: who reads what an op makes, and a search along readers or makers that ends
 * after a number of steps, so that planning takes time in proportion to the ops. */
#include "fusion_planner.h"

void burn__fusion_list_readers(FusionPlanner *p) {
  for (uint32_t i = 0; i < p->queue->values.count; i++) p->first_reader[i] = FUSION_NONE;
  for (uint32_t i = p->op_count; i-- > 0;) {
    const FusionOp *op = fusion_op_at(p, i);
    for (uint32_t k = 0; p->needed[i] && k < op->input_count; k++) {
      const uint32_t slot = fusion_inputs_of(p, op)[k], at = op->first_input + k;
      if (slot == FUSION_NONE) continue;
      p->reader[at] = i;
      p->next_reader[at] = p->first_reader[slot];
      p->first_reader[slot] = at;
    }
  }
}

typedef enum Found { NOTHING, A_PATH, TOO_FAR } Found;

/* A search from a group along what reads its results, or along what it reads, for another. */
typedef struct Search {
  uint32_t from, to;
  bool by_others;     /* a step straight from the one to the other does not count */
  uint32_t left, top; /* what may still be looked at; how much of the stack is filled */
} Search;

static Found look_at(FusionPlanner *p, Search *s, uint32_t group, uint32_t next) {
  if (s->left-- == 0) return TOO_FAR;
  if (next == FUSION_NONE || next == group || p->visited[next] == p->search) return NOTHING;
  if (next == s->to) return s->by_others && group == s->from ? NOTHING : A_PATH;
  p->visited[next] = p->search;
  p->stack[s->top++] = next;
  return NOTHING;
}

static Found look_behind(FusionPlanner *p, Search *s, uint32_t group, const FusionOp *op) {
  Found found = NOTHING;
  for (uint32_t k = 0; k < op->input_count && found == NOTHING; k++)
    found = look_at(p, s, group, fusion_maker(p, fusion_inputs_of(p, op)[k]));
  return found;
}

static Found look_ahead(FusionPlanner *p, Search *s, uint32_t group, const FusionOp *op) {
  Found found = NOTHING;
  for (uint32_t k = 0; k < op->output_count; k++)
    for (uint32_t at = p->first_reader[fusion_output_of(p, op, k)]; at != FUSION_NONE && found == NOTHING;
         at = p->next_reader[at])
      found = look_at(p, s, group, p->group_of[p->reader[at]]);
  return found;
}

static Found search(FusionPlanner *p, uint32_t from, uint32_t to, bool by_others, bool backwards) {
  Search s = {.from = from, .to = to, .by_others = by_others, .left = FUSION_FAR, .top = 1};
  p->visited[from] = ++p->search;
  p->stack[0] = from;
  while (s.top > 0) {
    const uint32_t group = p->stack[--s.top];
    for (uint32_t i = group; i != FUSION_NONE; i = p->next_member[i]) {
      const FusionOp *op = fusion_op_at(p, i);
      const Found found = s.left-- == 0 ? TOO_FAR
                          : backwards   ? look_behind(p, &s, group, op)
                                        : look_ahead(p, &s, group, op);
      if (found != NOTHING) return found;
    }
  }
  return NOTHING;
}

bool burn__fusion_leads_to(FusionPlanner *p, uint32_t from, uint32_t to, bool by_others) {
  if (!p->groups[from].is_read) return false;
  Found found = search(p, from, to, by_others, false);
  if (found == TOO_FAR) found = search(p, to, from, by_others, true);
  return found != NOTHING;
}

bool burn__fusion_something_between(FusionPlanner *p, uint32_t a, uint32_t b) {
  return burn__fusion_leads_to(p, a, b, true) || burn__fusion_leads_to(p, b, a, true);
}
