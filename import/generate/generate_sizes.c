/* generate_sizes.c - "batch=1,length=576": the sizes and values that the options give. All are looked at before the
 * model runs, so that a misspelt name is told instead of leaving its axis open. */
#include "generate.h"

#include <burn/guess.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The names that can be given: of open axes, then of inputs of one number. */
typedef struct Names {
  const char **texts;
  bool *given;
  uint32_t axes, count;
} Names;

const char *generate_axis_name(Generator *g, const BurnGraphValue *input, uint32_t i) {
  return input->axes[i] ? input->axes[i] : generate_text(g, "%s_%u", input->name, i);
}

bool generate_given(const Generator *g, const char *name, int64_t *value) {
  const size_t length = strlen(name);
  for (const char *at = g->options->sizes; at && *at;) {
    const size_t part = strcspn(at, ",");
    if (part > length + 1 && strncmp(at, name, length) == 0 && at[length] == '=') {
      *value = strtoll(at + length + 1, NULL, 10);
      return true;
    }
    at += part + (at[part] == ',');
  }
  return false;
}

static uint32_t index_of(const Names *names, const char *name) {
  uint32_t i = 0;
  while (i < names->count && strcmp(names->texts[i], name) != 0) i++;
  return i;
}

static void add(Names *names, const char *name) {
  if (name && index_of(names, name) == names->count) names->texts[names->count++] = name;
}

static bool is_number(const BurnGraphValue *input) {
  bool one = input->has_shape && !input->strings;
  for (uint32_t i = 0; one && i < input->rank; i++) one = input->dims[i] == 1;
  return one;
}

static bool find_names(Generator *g, Names *names) {
  const uint32_t inputs = g->program->body->input_count, most = inputs * (BURN_MAX_RANK + 1) + 1;
  names->texts = onnx_arena_take(&g->arena, most, sizeof *names->texts);
  names->given = onnx_arena_take(&g->arena, most, sizeof *names->given);
  if (!names->texts || !names->given) return false;
  for (uint32_t i = 0; i < inputs; i++) {
    const BurnGraphValue input = burn_graph_input(g->graph, i);
    for (uint32_t k = 0; input.has_shape && k < input.rank; k++)
      if (input.dims[k] < 0) add(names, generate_axis_name(g, &input, k));
  }
  names->axes = names->count;
  for (uint32_t i = 0; i < inputs; i++) {
    const BurnGraphValue input = burn_graph_input(g->graph, i);
    if (is_number(&input)) add(names, input.name);
  }
  return true;
}

static BurnStatus unknown(Generator *g, const Names *names, const char *name) {
  BurnGuess guess = burn_guess(name);
  const char *list = "";
  for (uint32_t i = 0; i < names->count && list; i++) {
    burn_guess_add(&guess, names->texts[i]);
    list = generate_text(g, "%s%s'%s'", list, i > 0 ? ", " : "", names->texts[i]);
  }
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                          "sizes: no open axis and no input of one number is '%s'.%s %s%s", name,
                          burn_guess_text(&guess), names->count > 0 ? "There are " : "There is none", list ? list : "");
}

/* One part of the list, "batch=1". */
static BurnStatus check_part(Generator *g, Names *names, char *part) {
  char *equals = strrchr(part, '='), *end = NULL;
  errno = 0;
  const long long number = equals ? strtoll(equals + 1, &end, 10) : 0;
  const bool good = equals && equals > part && equals[1] && strchr("-0123456789", equals[1]) && !*end && errno == 0;
  if (!good)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "sizes: '%s' where a name, '=' and an integer are expected",
                            part);
  *equals = '\0';
  const uint32_t index = index_of(names, part);
  if (index == names->count) return unknown(g, names, part);
  if (names->given[index]) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "sizes: '%s' is given twice", part);
  names->given[index] = true;
  if (index >= names->axes || (number >= 1 && number <= INT32_MAX)) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "sizes: size %lld of axis '%s', 1 to %d expected", number, part,
                          INT32_MAX);
}

BurnStatus generate_check_sizes(Generator *g) {
  Names names = {NULL, NULL, 0, 0};
  const char *at = g->options->sizes;
  if (!at || !*at) return BURN_OK;
  char *copy = onnx_arena_text(&g->arena, at);
  if (!copy || !find_names(g, &names)) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for sizes");
  for (bool more = true; more;) {
    const size_t length = strcspn(copy, ",");
    more = copy[length] == ',';
    copy[length] = '\0';
    const BurnStatus status = check_part(g, &names, copy);
    if (status != BURN_OK) return status;
    copy += length + 1;
  }
  return BURN_OK;
}
