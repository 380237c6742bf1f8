/* optimizer_record.c - the states of an optimizer as a record, in Burn's layout, by the rows of its rule:
 *
 *   {"<id>": {"V1": {"Rank2": {"momentum": {"time": 3, "moment_1": tensor, "moment_2": tensor}}}}}
 *
 * and back. What is absent is nil. */
#include <stdio.h>
#include <string.h>

#include "optimizer_internal.h"

static bool same_group(const char *a, const char *b) { return a == b || (a && b && strcmp(a, b) == 0); }

/* One past the last row of the group that row `first` begins. */
static size_t group_end(const BurnOptimizerRule *rule, size_t first) {
  size_t end = first + 1;
  while (end < rule->tensor_count && same_group(rule->tensors[end].group, rule->tensors[first].group)) end++;
  return end;
}

static bool has_time(const BurnOptimizerRule *rule, const char *group) {
  return rule->time_group && strcmp(rule->time_group, group ? group : "") == 0;
}

bool burn__same_rows(const BurnOptimizerRule *a, const BurnOptimizerRule *b) {
  if (a == b) return true;
  if (a->tensor_count != b->tensor_count) return false;
  size_t t = 0;
  while (t < a->tensor_count && same_group(a->tensors[t].group, b->tensors[t].group) &&
         strcmp(a->tensors[t].name, b->tensors[t].name) == 0)
    t++;
  return t == a->tensor_count && same_group(a->time_group, b->time_group);
}

/* -- to a record ------------------------------------------------------------------------------ */

/* Rows first .. end-1, and the time if it is theirs, into a map. */
static bool set_rows(const BurnOptimizerRule *rule, const BurnStateEntry *state, size_t first, size_t end,
                     BurnValue *map) {
  bool sound = true;
  if (has_time(rule, rule->tensors[first].group)) {
    sound = burn_value_set(map, "time", burn_value_int((int64_t)state->time));
  }
  for (size_t t = first; t < end; t++) {
    BurnTensor *x = state->tensors[t];
    BurnValue *value = x ? burn_value_tensor(burn_clone(x)) : burn_value_nil();
    sound = burn_value_set(map, rule->tensors[t].name, value) && sound;
  }
  return sound;
}

static bool any_present(const BurnStateEntry *state, size_t first, size_t end) {
  while (first < end && !state->tensors[first]) first++;
  return first < end;
}

/* The group of row `first` as a field of the state. */
static bool set_group(const BurnOptimizerRule *rule, const BurnStateEntry *state, size_t first, size_t end,
                      BurnValue *fields) {
  const BurnStateTensor *row = &rule->tensors[first];
  if (!row->group) return set_rows(rule, state, first, end, fields);
  if (row->presence == BURN_STATE_GROUP_OPTIONAL && !any_present(state, first, end)) {
    return burn_value_set(fields, row->group, burn_value_nil());
  }
  BurnValue *map = burn_value_map();
  const bool sound = set_rows(rule, state, first, end, map);
  return burn_value_set(fields, row->group, map) && sound;
}

/* {"V1": {"Rank2": {group: {"time": .., names..}}}} */
static BurnValue *state_value(const BurnStateEntry *state) {
  const BurnOptimizerRule *rule = state->rule;
  BurnValue *fields = burn_value_map(), *ranks = burn_value_map(), *versions = burn_value_map();
  char rank[16] = "";
  bool sound = true;
  for (size_t first = 0, end; first < rule->tensor_count; first = end) {
    end = group_end(rule, first);
    sound = set_group(rule, state, first, end, fields) && sound;
  }
  for (size_t t = 0; t < rule->tensor_count && !rank[0]; t++) {
    if (state->tensors[t]) snprintf(rank, sizeof rank, "Rank%u", (unsigned)burn_rank(state->tensors[t]));
  }
  sound = burn_value_set(ranks, rank, fields) && sound;
  sound = burn_value_set(versions, "V1", ranks) && sound;
  if (sound) return versions;
  burn_value_destroy(versions);
  return NULL;
}

BurnValue *burn_optimizer_value(const BurnOptimizer *optimizer) {
  if (!optimizer) return NULL;
  BurnValue *map = burn_value_map();
  for (size_t i = 0; i < optimizer->states.count; i++) {
    const BurnStateEntry *state = burn__param_map_at(&optimizer->states, i);
    char id[14];
    if (!state->rule || !any_present(state, 0, state->rule->tensor_count)) continue;
    burn_param_id_text(optimizer->states.ids[i], id);
    if (burn_value_set(map, id, state_value(state))) continue;
    burn_value_destroy(map);
    return NULL;
  }
  return map;
}

/* -- from a record ---------------------------------------------------------------------------- */

/* The reverse of burn_param_id_text, and of the ids of 6 bytes (10 characters) that older records have. */
static bool param_id_from_text(const char *text, uint64_t *id) {
  static const char digits[] = "0123456789abcdefghijklmnopqrstuv";
  const size_t length = strlen(text);
  uint32_t bits = 0, bit_count = 0, byte = 0;
  *id = 0;
  if (length != 13 && length != 10) return false;
  for (; *text; text++) {
    const char *digit = strchr(digits, *text);
    if (!digit) return false;
    bits = (bits << 5 | (uint32_t)(digit - digits)) & 0xfffu;
    bit_count += 5;
    if (bit_count < 8) continue;
    bit_count -= 8;
    *id |= (uint64_t)(bits >> bit_count & 0xffu) << (8 * byte++);
  }
  return (bits & ((1u << bit_count) - 1u)) == 0;
}

static BurnStatus bad_record(const BurnOptimizerRule *rule, const char *id, const char *what) {
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "%s record: parameter %s: %s", rule->name, id, what);
}

/* Row t from `map`, the value of its group. */
static BurnStatus row_load(const BurnOptimizerRule *rule, const char *id, const BurnValue *map, size_t t,
                           BurnDevice *device, BurnStateEntry *state) {
  const BurnStateTensor *row = &rule->tensors[t];
  const BurnValue *value = burn_value_get(map, row->name);
  if (!value && row->presence == BURN_STATE_FIELD_ADDED) return BURN_OK;
  if (!value) {
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "%s record: parameter %s: %s of its state is missing", rule->name,
                            id, row->name);
  }
  const bool optional = row->presence == BURN_STATE_FIELD_OPTIONAL || row->presence == BURN_STATE_FIELD_ADDED;
  if (burn_value_kind(value) == BURN_VALUE_NIL && optional) return BURN_OK;
  state->tensors[t] = burn_scope_keep(NULL, burn_value_as_tensor(value, device));
  return burn_status_annotate(burn_tensor_status(state->tensors[t]), "%s record: parameter %s: %s", rule->name, id,
                              row->name);
}

static BurnStatus group_load(const BurnOptimizerRule *rule, const char *id, const BurnValue *fields, size_t first,
                             size_t end, BurnDevice *device, BurnStateEntry *state) {
  const BurnStateTensor *row = &rule->tensors[first];
  const BurnValue *map = row->group ? burn_value_get(fields, row->group) : fields;
  if (map && burn_value_kind(map) == BURN_VALUE_NIL && row->presence == BURN_STATE_GROUP_OPTIONAL) return BURN_OK;
  if (burn_value_kind(map) != BURN_VALUE_MAP) return bad_record(rule, id, "the state of another optimizer");
  if (has_time(rule, row->group)) {
    const int64_t time = burn_value_as_int(burn_value_get(map, "time"), -1);
    if (time < 1) return bad_record(rule, id, "time is missing or below 1");
    state->time = (uint64_t)time;
  }
  BurnStatus status = BURN_OK;
  for (size_t t = first; t < end && status == BURN_OK; t++) status = row_load(rule, id, map, t, device, state);
  return status;
}

/* Fills a state of its rule; what it has stored belongs to the state also after a failure. */
static BurnStatus state_load(const char *id, const BurnValue *fields, BurnDevice *device, BurnStateEntry *state) {
  const BurnOptimizerRule *rule = state->rule;
  BurnStatus status = BURN_OK;
  for (size_t first = 0, end; first < rule->tensor_count && status == BURN_OK; first = end) {
    end = group_end(rule, first);
    status = group_load(rule, id, fields, first, end, device, state);
  }
  return status;
}

/* By the first rule of the optimizer and its groups whose rows are there; else the failure of the first one. */
static BurnStatus state_load_any(const BurnOptimizer *optimizer, const char *id, const BurnValue *fields,
                                 BurnDevice *device, BurnStateEntry *state) {
  BurnStatus first = BURN_OK;
  for (size_t i = 0; i < optimizer->group_count; i++) {
    const BurnOptimizerRule *rule = optimizer->groups[i].rule;
    if (!burn__state_init(state, rule)) {
      return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%s record: out of memory", rule->name);
    }
    const BurnStatus status = state_load(id, fields, device, state);
    if (status == BURN_OK) return BURN_OK;
    burn__state_release(state);
    if (i == 0) first = status;
  }
  return first;
}

static BurnStatus entry_load(const BurnOptimizer *optimizer, const char *id, const BurnValue *entry, BurnDevice *device,
                             BurnParamMap *states) {
  const BurnOptimizerRule *rule = optimizer->groups[0].rule;
  const BurnValue *ranks = burn_value_get(entry, "V1");
  const BurnValue *fields = burn_value_count(ranks) == 1 ? burn_value_at(ranks, 0) : NULL;
  uint64_t param_id;
  if (!param_id_from_text(id, &param_id)) return bad_record(rule, id, "not the text of a parameter id");
  if (burn_value_kind(fields) != BURN_VALUE_MAP) return bad_record(rule, id, "no map V1.Rank");
  if (burn__param_map_find(states, param_id)) return bad_record(rule, id, "listed twice");
  BurnStateEntry *state = burn__param_map_add(states, param_id);
  if (!state) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%s record: out of memory", rule->name);
  return state_load_any(optimizer, id, fields, device, state);
}

BurnStatus burn_optimizer_load(BurnOptimizer *optimizer, const BurnValue *value, BurnDevice *device) {
  BurnStatus status = burn_optimizer_status(optimizer);
  if (status != BURN_OK) return status;
  if (burn_value_kind(value) != BURN_VALUE_MAP) {
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "%s record: a map of parameters expected",
                            optimizer->groups[0].rule->name);
  }
  BurnParamMap states = {.value_bytes = sizeof(BurnStateEntry)};
  for (size_t i = 0; i < burn_value_count(value) && status == BURN_OK; i++) {
    status =
        entry_load(optimizer, burn_value_key_at(value, i), burn_value_at(value, i), burn_device_inner(device), &states);
  }
  if (status != BURN_OK) {
    burn__states_drop(&states);
    return status;
  }
  burn__states_drop(&optimizer->states);
  optimizer->states = states;
  return BURN_OK;
}
