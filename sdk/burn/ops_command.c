/* ops_command.c - burn ops: how each level of a stack runs each op; one op in full; the reference page of all ops. */
#include "ops_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The families of ops.def, in the order of the page. */
static const struct {
  const char *family, *title;
} families[] = {
    {"create", "Creation"},
    {"elementwise", "Elementwise"},
    {"reduce", "Reductions"},
    {"linalg", "Products and linear algebra"},
    {"view", "Views"},
    {"move", "Moving elements"},
    {"index", "Indices and masks"},
    {"activation", "Activations"},
    {"conv", "Convolutions"},
    {"pool", "Pools"},
    {"norm", "Normalization"},
    {"loss", "Losses"},
    {"sample", "Resampling"},
    {"sequence", "Sequences"},
    {"optimizer", "Optimizer steps"},
    {"signal", "Signals"},
    {"quantization", "Quantization"},
    {"scan", "Running along an axis"},
    {"sort", "Sorting"},
    {"pack", "Kernel packs"}, /* the host's word where an op of a pack names none */
};
enum { FAMILY_COUNT = sizeof families / sizeof families[0] };

/* The op after `op` by number, those of loaded kernel packs at the end; NULL when there is none. */
static const BurnOpInfo *next_op(uint32_t op) {
  const BurnOpInfo *info = NULL;
  for (op++; !info && op < BURN_OP_LIMIT; op++) info = burn_op_info(op);
  return info ? info : burn_op_info(op < BURN_OP_FIRST_OF_PACKS ? BURN_OP_FIRST_OF_PACKS : op);
}

/* Its place in the list; FAMILY_COUNT for one that is not there, as that of a kernel pack's op may be. */
static size_t family_of(const BurnOpInfo *info) {
  size_t family = 0;
  while (family < FAMILY_COUNT && (!info->family || strcmp(info->family, families[family].family) != 0)) family++;
  return family;
}

static const char *title_of(size_t family) { return family < FAMILY_COUNT ? families[family].title : "Further ops"; }

/* The op after `op` in its family, or NULL. */
static const BurnOpInfo *next_of_family(size_t family, uint32_t op) {
  const BurnOpInfo *info = next_op(op);
  while (info && family_of(info) != family) info = next_op(info->op);
  return info;
}

/* -- the words for what a BurnOpInfo says ------------------------------------------------------ */

typedef struct Words {
  char text[320];
} Words;

static void add(Words *words, const char *separator, const char *text) {
  const size_t used = strlen(words->text);
  snprintf(words->text + used, sizeof words->text - used, "%s%s", used ? separator : "", text);
}

static const char *gradient_word(const BurnOpInfo *info) {
  static const char *const words[] = {"none", "rule", "of its decomposition"};
  return info->gradient < 3 ? words[info->gradient] : "?";
}

static const char *form_word(const BurnOpInfo *info) { return info->is_composite ? "composite" : "primitive"; }

static const char *kinds_words(Words *words, const BurnOpInfo *info) {
  words->text[0] = '\0';
  if ((info->kinds & BURN_KIND_ANY) == BURN_KIND_ANY) return "any";
  if (info->kinds & BURN_KIND_FLOAT) add(words, ", ", "float");
  if (info->kinds & BURN_KIND_INT) add(words, ", ", "int");
  if (info->kinds & BURN_KIND_BOOL) add(words, ", ", "bool");
  return words->text;
}

/* "x, weight, bias?" and "tensors..." */
static const char *inputs_words(Words *words, const BurnOpInfo *info) {
  words->text[0] = '\0';
  for (uint32_t i = 0; i < info->input_count; i++) {
    char input[80];
    snprintf(input, sizeof input, "%s%s", info->input_names[i],
             info->takes_list            ? "..."
             : i >= info->input_required ? "?"
                                         : "");
    add(words, ", ", input);
  }
  return words->text;
}

static void default_words(char *out, size_t bytes, const BurnAttr *value) {
  out[0] = '\0';
  switch (value->tag) {
    case BURN_ATTR_NONE: /* required */
      return;
    case BURN_ATTR_F64:
      snprintf(out, bytes, " = %.9g", value->value.f64);
      return;
    case BURN_ATTR_BOOL:
      snprintf(out, bytes, " = %s", value->value.i64 ? "true" : "false");
      return;
    case BURN_ATTR_DTYPE:
      snprintf(out, bytes, " = %s", burn_dtype_name((BurnDType)value->value.i64));
      return;
    default:
      snprintf(out, bytes, " = %" PRId64, value->value.i64);
  }
}

/* "dim: int, eps: float = 1e-05" */
static const char *attrs_words(Words *words, const BurnOpInfo *info) {
  static const char *const types[] = {"?", "int", "float", "bool", "dtype", "ints", "number"};
  words->text[0] = '\0';
  for (uint32_t i = 0; i < info->attr_count; i++) {
    char value[40], attr[120];
    const uint32_t tag = info->attr_tags[i];
    default_words(value, sizeof value, &info->attr_defaults[i]);
    snprintf(attr, sizeof attr, "%s: %s%s", info->attr_names[i],
             tag < sizeof types / sizeof types[0] ? types[tag] : "?", value);
    add(words, ", ", attr);
  }
  return words->text;
}

/* -- the reference page ------------------------------------------------------------------------ */

static void print_cell(const char *text) {
  printf(" ");
  for (; *text; text++) {
    if (*text == '|') putchar('\\');
    putchar(*text);
  }
  printf(" |");
}

static void print_row(const BurnOpInfo *info) {
  Words words;
  printf("| %u | `%s` |", info->op, info->name);
  print_cell(inputs_words(&words, info));
  print_cell(attrs_words(&words, info));
  print_cell(kinds_words(&words, info));
  printf(" %u | %s | %s |", info->output_count, form_word(info), gradient_word(info));
  print_cell(info->doc);
  putchar('\n');
}

static bool is_of_core(const BurnOpInfo *info) { return info && info->op < BURN_OP_LIMIT; }

/* Returns how many ops it has. */
static uint32_t print_family(size_t family) {
  const BurnOpInfo *info = next_of_family(family, 0);
  if (!is_of_core(info)) return 0;
  printf(
      "\n## %s\n\n| number | op | inputs | attributes | kinds | outputs | form | gradient | what |\n"
      "|---|---|---|---|---|---|---|---|---|\n",
      title_of(family));
  uint32_t count = 0;
  for (; is_of_core(info); info = next_of_family(family, info->op), count++) print_row(info);
  return count;
}

/* Core ops only: those of kernel packs are described by whoever ships the pack. */
static int print_markdown(void) {
  printf(
      "# All ops\n\n"
      "Written by `burn ops --markdown` from the table of ops; do not edit. `x?` may be absent, `x...` is a list. An "
      "attribute\n"
      "without a value is required; an `ints` default holds for every axis; a `number` is an int or a float, whatever "
      "the tensor\n"
      "is. Kinds are those that the first input (of creation\n"
      "ops, the attribute `dtype`) may have. A composite op runs by its decomposition where a backend has no "
      "kernel.\n");
  uint32_t count = 0;
  for (size_t family = 0; family <= FAMILY_COUNT; family++) count += print_family(family);
  printf("\n%u ops.\n", count);
  return COMMAND_OK;
}

/* -- routes through a stack -------------------------------------------------------------------- */

static const struct {
  uint32_t bit;
  const char *word, *layer_word, *meaning;
} routes[] = {
    {BURN_ROUTE_KERNEL_PACK, "pack", "pack", "by a kernel of the pack, where it accepts the call"},
    {BURN_ROUTE_NATIVE, "native", "passes", "by itself (a decorator: and hands it to the level below)"},
    {BURN_ROUTE_SOMETIMES, "sometimes", "sometimes", "by itself where it supports the very call"},
    {BURN_ROUTE_DECOMPOSITION, "decomposed", "decomposed", "as other ops on the same level"},
};
enum { ROUTE_COUNT = sizeof routes / sizeof routes[0] };

static const char *route_words(Words *words, const BurnBackend *level, uint32_t op) {
  const uint32_t bits = burn_backend_op_routes(level, op);
  words->text[0] = '\0';
  for (size_t i = 0; i < ROUTE_COUNT; i++) {
    if (bits & routes[i].bit) add(words, ",", burn_backend_below(level) ? routes[i].layer_word : routes[i].word);
  }
  return bits ? words->text : "MISSING";
}

static cJSON *levels_json(const BurnBackend *top, uint32_t op) {
  cJSON *levels = cJSON_CreateArray();
  for (const BurnBackend *level = top; level; level = burn_backend_below(level)) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "level", burn_backend_label(level));
    cJSON *list = cJSON_AddArrayToObject(object, "routes");
    const uint32_t bits = burn_backend_op_routes(level, op);
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
      if (bits & routes[i].bit) cJSON_AddItemToArray(list, cJSON_CreateString(routes[i].word));
    }
    cJSON_AddItemToArray(levels, object);
  }
  return levels;
}

/* The table of ops; with a device also how the levels of its stack run each, and the ops of packs. */
static int print_json(const BurnDevice *device, const BurnOpInfo *only) {
  const BurnBackend *top = device ? burn_device_backend(device) : NULL;
  cJSON *root = cJSON_CreateObject();
  if (device) cJSON_AddStringToObject(root, "stack", burn_device_name(device));
  ops_json_add_abi(root);
  cJSON *ops = cJSON_AddArrayToObject(root, "ops");
  for (const BurnOpInfo *info = only ? only : next_op(0); info; info = only ? NULL : next_op(info->op)) {
    if (!device && !only && info->op >= BURN_OP_FIRST_OF_PACKS) break;
    cJSON *op = ops_json_op(info);
    if (device) cJSON_AddItemToObject(op, "levels", levels_json(top, info->op));
    cJSON_AddItemToArray(ops, op);
  }
  return command_print_json(root);
}

/* One op in full. */
static int print_op(const BurnDevice *device, const BurnOpInfo *info) {
  Words words;
  printf("%s: %s\n", info->name, info->doc);
  printf("  family      %s\n", info->family ? info->family : "none");
  printf("  inputs      %s\n", info->input_count ? inputs_words(&words, info) : "none");
  printf("  attributes  %s\n", info->attr_count ? attrs_words(&words, info) : "none");
  printf("  kinds       %s\n", kinds_words(&words, info));
  printf("  outputs     %u\n  form        %s\n  gradient    %s\n", info->output_count, form_word(info),
         gradient_word(info));
  printf("on %s, from the top; ways in the order in which they are tried:\n", burn_device_name(device));
  for (const BurnBackend *level = burn_device_backend(device); level; level = burn_backend_below(level)) {
    printf("  %s: %s\n", burn_backend_label(level), route_words(&words, level, info->op));
  }
  printf("where\n");
  for (size_t i = 0; i < ROUTE_COUNT; i++) printf("  %-10s  %s\n", routes[i].word, routes[i].meaning);
  return COMMAND_OK;
}

static void print_totals(const BurnBackend *level) {
  uint32_t counts[ROUTE_COUNT] = {0}, missing = 0, total = 0;
  for (const BurnOpInfo *info = next_op(0); info; info = next_op(info->op), total++) {
    const uint32_t bits = burn_backend_op_routes(level, info->op);
    missing += bits == 0;
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
      if (!(bits & routes[i].bit)) continue;
      counts[i]++; /* the first way counts */
      break;
    }
  }
  printf("%s: %u ops", burn_backend_label(level), total);
  for (size_t i = 0; i < ROUTE_COUNT; i++) {
    if (counts[i]) printf(", %u %s", counts[i], burn_backend_below(level) ? routes[i].layer_word : routes[i].word);
  }
  printf(", %u missing\n", missing);
}

static void print_line(const BurnBackend *top, const BurnOpInfo *info) {
  Words words;
  printf("%-28s %-22s", info->name, gradient_word(info));
  for (const BurnBackend *level = top; level; level = burn_backend_below(level)) {
    printf(" %-20s", route_words(&words, level, info->op));
  }
  putchar('\n');
}

/* By family. */
static int print_table(const BurnDevice *device) {
  const BurnBackend *top = burn_device_backend(device);
  printf("%-28s %-22s", "op", "gradient");
  for (const BurnBackend *level = top; level; level = burn_backend_below(level))
    printf(" %-20s", burn_backend_label(level));
  putchar('\n');
  for (size_t family = 0; family <= FAMILY_COUNT; family++) {
    const BurnOpInfo *info = next_of_family(family, 0);
    if (info) printf("\n%s\n", title_of(family));
    for (; info; info = next_of_family(family, info->op)) print_line(top, info);
  }
  putchar('\n');
  for (const BurnBackend *level = top; level; level = burn_backend_below(level)) print_totals(level);
  return COMMAND_OK;
}

/* The kernel packs that are found, so that their ops are listed. */
static void load_packs(void) {
  for (size_t i = 0; i < burn_plugin_count(); i++) {
    const BurnPluginInfo *info = burn_plugin_info(i);
    if (!info->usable || strcmp(info->kind, "kernel pack") != 0) continue;
    const BurnStatus status = burn_plugin_load(info->name);
    if (status != BURN_OK) (void)command_fail("ops", status);
  }
}

int command_ops(int argc, char **argv) {
  static const char usage[] =
      "usage: burn ops [--stack S] [--op NAME] [--json]\n"
      "       burn ops --markdown\n"
      "how each level of a stack runs each op: native, by a kernel pack, decomposed, or not at all";
  const char *stack = NULL, *name = NULL;
  bool json = false, markdown = false;
  const Argument arguments[] = {
      {"stack", ARGUMENT_TEXT, &stack, "S", "the stack to ask, as autodiff<ndarray>; else what a program would get"},
      {"op", ARGUMENT_TEXT, &name, "NAME", "one op in full: matmul, or acme.gelu of a kernel pack"},
      {"json", ARGUMENT_FLAG, &json, NULL, "the table of ops as data; with --stack also how each is run"},
      {"markdown", ARGUMENT_FLAG, &markdown, NULL, "the reference page of all ops"},
  };
  int status;
  if (!command_parse(argc, argv, usage, arguments, sizeof arguments / sizeof arguments[0], NULL, 0, &status))
    return status;
  if (markdown) return print_markdown();
  load_packs();
  const BurnOpInfo *op = NULL;
  BurnStatus failure = name ? burn_op_find(name, &op) : BURN_OK;
  if (failure == BURN_OK && json && !stack) return print_json(NULL, op);
  BurnDevice *device = burn_device_open(stack);
  if (failure == BURN_OK) failure = burn_device_status(device);
  if (failure != BURN_OK) {
    status = command_fail("ops", failure);
  } else if (json) {
    status = print_json(device, op);
  } else {
    status = op ? print_op(device, op) : print_table(device);
  }
  burn_device_close(device);
  return status;
}
