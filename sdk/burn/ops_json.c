/* ops_json.c - the table of ops as data for other languages: burn ops --json, installed as share/burn/ops.json. All
 * that plugin-api says in C of ops, dtypes, statuses, modes and limits, with typed values. */
#include "ops_json.h"

#include <burn/plugin/host.h>

#include <string.h>

typedef struct Word {
  const char *name;
  int64_t value;
} Word;

static const Word kinds[] = {{"float", BURN_KIND_FLOAT}, {"int", BURN_KIND_INT}, {"bool", BURN_KIND_BOOL}};
static const Word traits[] = {{"elementwise", BURN_TRAIT_ELEMENTWISE},
                              {"reduce", BURN_TRAIT_REDUCE},
                              {"view", BURN_TRAIT_VIEW},
                              {"create", BURN_TRAIT_CREATE},
                              {"random", BURN_TRAIT_RANDOM},
                              {"compute", BURN_TRAIT_COMPUTE},
                              {"move", BURN_TRAIT_MOVE}};
static const Word tags[] = {{"i64", BURN_ATTR_I64},     {"f64", BURN_ATTR_F64},   {"bool", BURN_ATTR_BOOL},
                            {"dtype", BURN_ATTR_DTYPE}, {"i64s", BURN_ATTR_I64S}, {"number", BURN_ATTR_NUMBER}};
static const Word gradients[] = {
    {"constant", BURN_GRADIENT_CONSTANT}, {"rule", BURN_GRADIENT_RULE}, {"via", BURN_GRADIENT_VIA}};
static const Word pad[] = {{"constant", BURN_PAD_CONSTANT}, {"reflect", BURN_PAD_REFLECT}, {"edge", BURN_PAD_EDGE}};
static const Word update[] = {{"assign", BURN_UPDATE_ASSIGN},
                              {"add", BURN_UPDATE_ADD},
                              {"mul", BURN_UPDATE_MUL},
                              {"min", BURN_UPDATE_MIN},
                              {"max", BURN_UPDATE_MAX}};
static const Word interpolate[] = {{"nearest", BURN_INTERPOLATE_NEAREST},
                                   {"nearest_exact", BURN_INTERPOLATE_NEAREST_EXACT},
                                   {"bilinear", BURN_INTERPOLATE_BILINEAR},
                                   {"bicubic", BURN_INTERPOLATE_BICUBIC},
                                   {"lanczos3", BURN_INTERPOLATE_LANCZOS3}};
static const Word grid_sample[] = {{"bilinear", BURN_GRID_SAMPLE_BILINEAR},
                                   {"nearest", BURN_GRID_SAMPLE_NEAREST},
                                   {"bicubic", BURN_GRID_SAMPLE_BICUBIC}};
static const Word grid_padding[] = {{"zeros", BURN_GRID_PADDING_ZEROS},
                                    {"border", BURN_GRID_PADDING_BORDER},
                                    {"reflection", BURN_GRID_PADDING_REFLECTION}};
#define COUNT(words) (sizeof(words) / sizeof(words)[0])
_Static_assert(COUNT(pad) == BURN_PAD_LIMIT && COUNT(update) == BURN_UPDATE_LIMIT, "a mode is missing here");

static const struct {
  const char *name;
  const Word *words;
  size_t count;
} enums[] = {
#define ENUM(words) \
  { #words, words, COUNT(words) }
    ENUM(kinds),  ENUM(traits),      ENUM(tags),        ENUM(gradients),    ENUM(pad),
    ENUM(update), ENUM(interpolate), ENUM(grid_sample), ENUM(grid_padding),
#undef ENUM
};

/* Attributes whose numbers are those of an enum. */
static const struct {
  uint32_t op;
  const char *attr, *words;
} modes[] = {{BURN_OP_pad, "mode", "pad"},
             {BURN_OP_select_assign, "update", "update"},
             {BURN_OP_scatter, "update", "update"},
             {BURN_OP_scatter_nd, "update", "update"},
             {BURN_OP_interpolate, "mode", "interpolate"},
             {BURN_OP_grid_sample_2d, "mode", "grid_sample"},
             {BURN_OP_grid_sample_2d, "padding_mode", "grid_padding"}};

static const char *word_of(const Word *words, size_t count, int64_t value) {
  for (size_t i = 0; i < count; i++) {
    if (words[i].value == value) return words[i].name;
  }
  return "?";
}
#define WORD(words, value) word_of(words, COUNT(words), value)

/* The words whose bits are set. */
static cJSON *bits_json(const Word *words, size_t count, uint32_t bits) {
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; i < count; i++) {
    if (bits & (uint64_t)words[i].value) cJSON_AddItemToArray(list, cJSON_CreateString(words[i].name));
  }
  return list;
}

/* -- one op ----------------------------------------------------------------------------------- */

static cJSON *inputs_json(const BurnOpInfo *info) {
  cJSON *list = cJSON_CreateArray();
  for (uint32_t i = 0; i < info->input_count; i++) {
    cJSON *input = cJSON_CreateObject();
    cJSON_AddStringToObject(input, "name", info->input_names[i]);
    cJSON_AddBoolToObject(input, "optional", i >= info->input_required);
    cJSON_AddBoolToObject(input, "list", info->takes_list != 0);
    cJSON_AddItemToArray(list, input);
  }
  return list;
}

/* Numbers below 2^53 in size only, so doubles hold them. NULL for a required attribute. */
static cJSON *default_json(uint32_t tag, const BurnAttr *value) {
  switch (value->tag) {
    case BURN_ATTR_NONE:
      return NULL;
    case BURN_ATTR_F64:
      return cJSON_CreateNumber(value->value.f64);
    case BURN_ATTR_BOOL:
      return cJSON_CreateBool(value->value.i64 != 0);
    case BURN_ATTR_DTYPE:
      return cJSON_CreateString(value->value.i64 ? burn_dtype_name((BurnDType)value->value.i64) : "default");
    default:
      break;
  }
  if (tag == BURN_ATTR_BOOL) return cJSON_CreateBool(value->value.i64 != 0);
  return cJSON_CreateNumber((double)value->value.i64); /* of I64S: for every axis */
}

static cJSON *attr_json(const BurnOpInfo *info, uint32_t i) {
  cJSON *attr = cJSON_CreateObject(), *value = default_json(info->attr_tags[i], &info->attr_defaults[i]);
  cJSON_AddStringToObject(attr, "name", info->attr_names[i]);
  cJSON_AddStringToObject(attr, "tag", WORD(tags, info->attr_tags[i]));
  cJSON_AddBoolToObject(attr, "required", value == NULL);
  if (value) cJSON_AddItemToObject(attr, "default", value);
  cJSON_AddNumberToObject(attr, "since", info->attr_since ? info->attr_since[i] : info->since);
  for (size_t k = 0; k < COUNT(modes); k++) {
    if (modes[k].op == info->op && strcmp(modes[k].attr, info->attr_names[i]) == 0)
      cJSON_AddStringToObject(attr, "enum", modes[k].words);
  }
  return attr;
}

cJSON *ops_json_op(const BurnOpInfo *info) {
  cJSON *object = cJSON_CreateObject();
  cJSON_AddNumberToObject(object, "number", info->op);
  cJSON_AddStringToObject(object, "name", info->name);
  cJSON_AddStringToObject(object, "family", info->family ? info->family : "");
  cJSON_AddNumberToObject(object, "since", info->since);
  cJSON_AddNumberToObject(object, "schema", burn_op_schema(info));
  cJSON_AddStringToObject(object, "form", info->is_composite ? "composite" : "primitive");
  cJSON_AddStringToObject(object, "gradient", WORD(gradients, info->gradient));
  cJSON_AddItemToObject(object, "kinds", bits_json(kinds, COUNT(kinds), info->kinds));
  cJSON_AddItemToObject(object, "traits", bits_json(traits, COUNT(traits), info->traits));
  cJSON_AddItemToObject(object, "inputs", inputs_json(info));
  cJSON *attrs = cJSON_AddArrayToObject(object, "attrs");
  for (uint32_t i = 0; i < info->attr_count; i++) cJSON_AddItemToArray(attrs, attr_json(info, i));
  cJSON_AddNumberToObject(object, "outputs", info->output_count);
  cJSON_AddStringToObject(object, "doc", info->doc);
  return object;
}

/* -- what the ops are made of ----------------------------------------------------------------- */

static void add_dtype(cJSON *list, BurnDType number, const char *name, int bytes) {
  cJSON *object = cJSON_CreateObject();
  cJSON_AddNumberToObject(object, "number", number);
  cJSON_AddStringToObject(object, "name", name);
  cJSON_AddNumberToObject(object, "bytes", bytes);
  cJSON_AddStringToObject(object, "kind", WORD(kinds, burn_dtype_kind(number)));
  cJSON_AddItemToArray(list, object);
}

static void add_status(cJSON *list, int number, const char *name, const char *text) {
  cJSON *object = cJSON_CreateObject();
  cJSON_AddNumberToObject(object, "number", number);
  cJSON_AddStringToObject(object, "name", name);
  cJSON_AddStringToObject(object, "text", text);
  cJSON_AddItemToArray(list, object);
}

static void add_limits(cJSON *root) {
  cJSON *limits = cJSON_AddObjectToObject(root, "limits");
  cJSON_AddNumberToObject(limits, "rank", BURN_MAX_RANK);
  cJSON_AddNumberToObject(limits, "inputs", BURN_MAX_FIXED_INPUTS);
  cJSON_AddNumberToObject(limits, "outputs", BURN_MAX_OUTPUTS);
  cJSON_AddNumberToObject(limits, "attrs", BURN_MAX_ATTRS);
  cJSON_AddNumberToObject(limits, "first_op_of_packs", BURN_OP_FIRST_OF_PACKS);
}

void ops_json_add_abi(cJSON *root) {
  cJSON *abi = cJSON_AddObjectToObject(root, "abi");
  cJSON_AddNumberToObject(abi, "major", BURN_ABI_MAJOR);
  cJSON_AddNumberToObject(abi, "minor", BURN_ABI_MINOR);
  cJSON_AddNumberToObject(abi, "oldest_minor", BURN_ABI_OLDEST_MINOR);
  add_limits(root);
  cJSON *dtypes = cJSON_AddArrayToObject(root, "dtypes"), *statuses = cJSON_AddArrayToObject(root, "statuses");
#define BURN_DTYPE(number, NAME, name, bytes, KIND, c_type) add_dtype(dtypes, number, #name, bytes);
#include <burn/plugin/dtypes.def>
#undef BURN_DTYPE
#define BURN_STATUS(number, NAME, text) add_status(statuses, number, #NAME, text);
#include <burn/plugin/status.def>
#undef BURN_STATUS
  cJSON *all = cJSON_AddObjectToObject(root, "enums");
  for (size_t i = 0; i < COUNT(enums); i++) {
    cJSON *object = cJSON_AddObjectToObject(all, enums[i].name);
    for (size_t k = 0; k < enums[i].count; k++)
      cJSON_AddNumberToObject(object, enums[i].words[k].name, (double)enums[i].words[k].value);
  }
}
