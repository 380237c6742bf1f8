/* module_display.c - a module as Burn's `{}` shows it (0.21): nested, one attribute per line, the number of parameters
 * last. Layers that Burn shows in a way of their own, in one line, are rows of `contents`. */
#include "module_internal.h"
#include "text_builder.h"

#include <burn/record.h>
#include <burn/text.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What Burn's custom_content of a layer adds, in the words of BurnDisplaySettings' hook. */
static const struct {
  const char *type, *attributes;
} contents[] = {
    {"BurnLinear", "d_input=weight#0 d_output=weight#1 bias=bias?"},
    {"BurnConv1d", "ch_in=weight#1*groups ch_out=weight#0 stride kernel_size dilation groups padding"},
    {"BurnConv2d", "ch_in=weight#1*groups ch_out=weight#0 stride kernel_size dilation groups padding"},
    {"BurnConv3d", "ch_in=weight#1*groups ch_out=weight#0 stride kernel_size dilation groups padding"},
    {"BurnConvTranspose1d", "channels stride kernel_size dilation groups padding padding_out"},
    {"BurnConvTranspose2d", "channels stride kernel_size dilation groups padding padding_out"},
    {"BurnConvTranspose3d", "channels stride kernel_size dilation groups padding padding_out"},
    {"BurnDeformConv2d", "stride kernel_size dilation weight_groups offset_groups padding"},
    {"BurnEmbedding", "n_embedding=weight#0 d_model=weight#1"},
    {"BurnDropout", "prob"},
    {"BurnGaussianNoise", "std"},
    {"BurnBatchNorm", "num_features=beta#0 momentum epsilon"},
    {"BurnGroupNorm", "num_groups num_channels epsilon affine"},
    {"BurnInstanceNorm", "num_channels epsilon affine"},
    {"BurnLayerNorm", "d_model=gamma#0 epsilon bias=beta?"},
    {"BurnRmsNorm", "d_model=gamma#0 epsilon"},
    {"BurnPRelu", "num_parameters=alpha#0 alpha_value"},
    {"BurnSwiGlu", "d_input=linear_inner.weight#0 d_output=linear_inner.weight#1 bias=linear_inner.bias?"},
    {"BurnMultiHeadAttention", "d_model n_heads d_k dropout=dropout.prob min_float quiet_softmax"},
    {"BurnPositionWiseFeedForward", "d_model=linear_inner.weight#0 d_ff=linear_inner.weight#1 prob=dropout.prob"},
    {"BurnTransformerEncoder", "d_model d_ff n_heads n_layers dropout norm_first quiet_softmax"},
    {"BurnTransformerDecoder", "d_model d_ff n_heads n_layers dropout norm_first quiet_softmax"},
    {"BurnRnn", "d_input=gate.input_transform.weight#0 d_hidden bias=gate.input_transform.bias?"},
    {"BurnBiRnn", "d_input=forward.gate.input_transform.weight#0 d_hidden bias=forward.gate.input_transform.bias?"},
    {"BurnGru",
     "d_input=update_gate.input_transform.weight#0 d_hidden bias=update_gate.input_transform.bias? reset_after"},
    {"BurnBiGru",
     "d_input=forward.update_gate.input_transform.weight#0 d_hidden "
     "bias=forward.update_gate.input_transform.bias?"},
    {"BurnLstm", "d_input=input_gate.input_transform.weight#0 d_hidden bias=input_gate.input_transform.bias?"},
    {"BurnBiLstm",
     "d_input=forward.input_gate.input_transform.weight#0 d_hidden "
     "bias=forward.input_gate.input_transform.bias?"},
};

/* The attributes of a type; NULL where its rows are shown. */
static const char *own_content(const BurnType *type, const BurnDisplaySettings *settings) {
  const char *custom = settings->custom ? settings->custom(type) : NULL;
  if (settings->show_all_attributes == BURN_DISPLAY_ON) return NULL;
  if (custom) return custom;
  for (size_t i = 0; i < sizeof contents / sizeof contents[0]; i++) {
    if (strcmp(contents[i].type, type->name) == 0) return contents[i].attributes;
  }
  return NULL;
}

typedef struct Display {
  BurnTextBuilder out;
  const BurnDisplaySettings *settings;
} Display;

static void show(Display *display, const BurnType *type, const void *member, unsigned level, bool plain);

/* -- values ----------------------------------------------------------------------------------- */

/* A float by Rust's Display, with as many places as tell it apart: "0.00001", "-10000". */
static void put_plain_float(BurnTextBuilder *out, double value) {
  char text[400];
  if (!isfinite(value)) {
    burn__text_add(out, isnan(value) ? "NaN" : value > 0 ? "inf" : "-inf");
    return;
  }
  for (int places = 0; places <= 330; places++) {
    const int length = snprintf(text, sizeof text, "%.*f", places, value);
    const double back = length > 0 && length < (int)sizeof text ? strtod(text, NULL) : value;
    if (back >= value && back <= value) break;
  }
  burn__text_add(out, text);
}

/* By its Debug: "1.0", "1e-5". */
static void put_debug_float(BurnTextBuilder *out, double value) {
  const double size = fabs(value);
  char digits[BURN_NUMBER_BYTES];
  if (size > 0 && (size < 1e-4 || size >= 1e16) && isfinite(value)) {
    (void)burn_number_text(value, 0, digits);
    char *exponent = strchr(digits, 'e');
    if (exponent) {
      const int power = atoi(exponent + 1);
      *exponent = '\0';
      burn__text_addf(out, "%se%d", digits, power);
      return;
    }
  }
  const size_t start = out->length;
  put_plain_float(out, value);
  if (isfinite(value) && out->text && !strchr(out->text + start, '.')) burn__text_add(out, ".0");
}

/* A quantized one is a float's, as in Burn. */
static void put_param(Display *display, const BurnParam *param) {
  static const char *const kinds[] = {[BURN_KIND_FLOAT] = "float", [BURN_KIND_INT] = "int", [BURN_KIND_BOOL] = "bool"};
  if (!param->value) {
    burn__text_add(&display->out, "None");
    return;
  }
  const BurnShape shape = burn_shape(param->value);
  const uint32_t kind = burn__param_is_quantized(param) ? BURN_KIND_FLOAT : burn_dtype_kind(burn_dtype(param->value));
  burn__text_addf(&display->out, "ParamTensor {rank: %" PRIu32 ", shape: [", shape.rank);
  for (uint32_t i = 0; i < shape.rank; i++) burn__text_addf(&display->out, "%s%" PRId64, i ? ", " : "", shape.dims[i]);
  burn__text_addf(&display->out, "], kind: %s",
                  kind < sizeof kinds / sizeof kinds[0] && kinds[kind] ? kinds[kind] : "?");
  if (display->settings->show_param_id == BURN_DISPLAY_ON) {
    char text[14];
    burn_param_id_text(param->id, text);
    burn__text_addf(&display->out, ", id: %s", text);
  }
  burn__text_add(&display->out, "}");
}

static void put_option(BurnTextBuilder *out, const BurnOptionF64 *option) {
  burn__text_add(out, option->present ? "Some(" : "None");
  if (!option->present) return;
  put_debug_float(out, option->value);
  burn__text_add(out, ")");
}

static void put_size_option(BurnTextBuilder *out, const BurnOptionSize *option) {
  if (option->present) burn__text_addf(out, "Some(%zu)", option->value);
  if (!option->present) burn__text_add(out, "None");
}

/* Takes the tensor. */
static void put_constant_tensor(BurnTextBuilder *out, BurnTensor *x) {
  if (!x) {
    burn__text_add(out, "None");
    return;
  }
  const BurnShape shape = burn_shape(x);
  burn__text_addf(out, "Tensor {rank: %" PRIu32 ", shape: [", shape.rank);
  for (uint32_t i = 0; i < shape.rank; i++) burn__text_addf(out, "%s%" PRId64, i ? ", " : "", shape.dims[i]);
  burn__text_add(out, "]}");
  burn_drop(x);
}

/* Name, Name { field: 1.0 } or Name(1, 2), as Debug has it. */
static void put_variant(Display *display, const BurnType *type, const char *data) {
  uint32_t index;
  memcpy(&index, data, sizeof index);
  if (index >= type->count) {
    burn__text_addf(&display->out, "case %" PRIu32 " of %" PRIu32, index, type->count);
    return;
  }
  const BurnVariant *variant = &type->variants[index];
  const bool named = variant->field_count && variant->fields[0].name;
  burn__text_add(&display->out, variant->name);
  if (variant->field_count) burn__text_add(&display->out, named ? " { " : "(");
  for (uint32_t i = 0; i < variant->field_count; i++) {
    const BurnField *field = &variant->fields[i];
    burn__text_addf(&display->out, "%s%s%s", i ? ", " : "", named ? field->name : "", named ? ": " : "");
    show(display, field->type(), data + field->offset, 0, false);
  }
  if (variant->field_count) burn__text_add(&display->out, named ? " }" : ")");
}

static void put_sizes(BurnTextBuilder *out, const size_t *values, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) burn__text_addf(out, "%s%zu", i ? ", " : "[", values[i]);
  burn__text_add(out, "]");
}

/* -- modules ---------------------------------------------------------------------------------- */

/* An object with attributes in the making. */
typedef struct Block {
  unsigned level;
  bool lines; /* an attribute per line */
  size_t count;
} Block;

static void put_indent(Display *display, unsigned level) {
  const uint32_t size = display->settings->indentation_size;
  for (size_t i = 0; i < (size_t)level * (size ? size : 2); i++) burn__text_add_bytes(&display->out, " ", 1);
}

/* What stands before the value of an attribute. */
static void put_name(Display *display, Block *block, const char *name, size_t length) {
  if (block->count++ == 0)
    burn__text_add(&display->out, block->lines ? " {\n" : " {");
  else if (!block->lines)
    burn__text_add(&display->out, ", ");
  if (block->lines) put_indent(display, block->level + 1);
  burn__text_add_bytes(&display->out, name, length);
  burn__text_add(&display->out, ": ");
}

static void end_value(Display *display, const Block *block) {
  if (block->lines) burn__text_add(&display->out, "\n");
}

/* The parameters, if there are any, and the brace; nothing where there are no attributes. */
static void end_block(Display *display, Block *block, BurnModule module) {
  const int64_t params = burn_module_num_params(module);
  if (block->count == 0) return;
  if (params > 0 && display->settings->show_num_parameters != BURN_DISPLAY_OFF) {
    put_name(display, block, "params", strlen("params"));
    burn__text_addf(&display->out, "%" PRId64, params);
    end_value(display, block);
  }
  if (block->lines) put_indent(display, block->level);
  burn__text_add(&display->out, "}");
}

/* The row at the end of a path such as "linear_inner.weight", of `length` characters; NULL if there is none. */
static const BurnField *find_row(const BurnType **type, const char **data, const char *path, size_t length) {
  const char *dot = memchr(path, '.', length);
  const size_t step = dot ? (size_t)(dot - path) : length;
  for (uint32_t i = 0; i < (*type)->field_count; i++) {
    const BurnField *field = &(*type)->fields[i];
    if (strlen(field->name) != step || memcmp(field->name, path, step) != 0) continue;
    *data += field->offset;
    *type = field->type();
    return dot ? find_row(type, data, dot + 1, length - step - 1) : field;
  }
  return NULL;
}

static int64_t axis_of(const BurnParam *param, unsigned axis) {
  if (!param->value) return 0;
  const BurnShape shape = burn_shape(param->value);
  return axis < shape.rank ? shape.dims[axis] : 0;
}

/* The value of an attribute of `contents`. */
static void put_attribute(Display *display, const BurnType *type, const char *data, const char *path, size_t length) {
  const size_t plain = strcspn(path, "#?* "), row = plain < length ? plain : length;
  const BurnType *found = type;
  const char *member = data;
  const bool is_row = find_row(&found, &member, path, row) != NULL;
  if (!is_row || (row < length && found->kind != BURN_TYPE_PARAM)) {
    burn__text_add(&display->out, "?");
    return;
  }
  const BurnParam *param = (const BurnParam *)(const void *)member;
  if (row == length) {
    show(display, found, member, 0, true);
  } else if (path[row] == '?') {
    burn__text_add(&display->out, param->value ? "true" : "false");
  } else {
    int64_t size = axis_of(param, (unsigned)(path[row + 1] - '0'));
    const BurnType *factor = type;
    const char *times = data;
    if (row + 2 < length && find_row(&factor, &times, path + row + 3, length - row - 3))
      size *= (int64_t) * (const BurnSize *)(const void *)times;
    burn__text_addf(&display->out, "%" PRId64, size);
  }
}

static void show_own(Display *display, Block *block, const char *attributes, const BurnType *type, const char *data) {
  while (*attributes) {
    const size_t length = strcspn(attributes, " "), name = strcspn(attributes, "= ");
    const size_t skip = name < length ? name + 1 : 0;
    put_name(display, block, attributes, name);
    put_attribute(display, type, data, attributes + skip, length - skip);
    end_value(display, block);
    attributes += length + (attributes[length] == ' ');
  }
}

static void show_rows(Display *display, Block *block, const BurnType *type, const char *data) {
  for (uint32_t i = 0; i < type->field_count; i++) {
    const BurnField *field = &type->fields[i];
    put_name(display, block, field->name, strlen(field->name));
    show(display, field->type(), data + field->offset, block->level + 1, false);
    end_value(display, block);
  }
}

static void show_module(Display *display, const BurnType *type, const char *data, unsigned level) {
  const uint32_t lines = display->settings->new_line_after_attribute;
  const char *attributes = own_content(type, display->settings);
  /* Burn's layers ask for one line where the caller does not say; those are the ones with contents of their own. */
  Block block = {level, lines == BURN_DISPLAY_ON || (lines == BURN_DISPLAY_DEFAULT && !attributes), 0};
  burn__text_add(&display->out, burn_type_short_name(type));
  if (attributes) {
    show_own(display, &block, attributes, type, data);
  } else {
    show_rows(display, &block, type, data);
  }
  end_block(display, &block, (BurnModule){type, (void *)(uintptr_t)data});
}

/* The case's name, and what it holds as "_0". */
static void show_case(Display *display, const BurnType *type, const char *data, unsigned level) {
  const BurnField *chosen = burn__module_case(type, data);
  Block block = {level, display->settings->new_line_after_attribute != BURN_DISPLAY_OFF, 0};
  burn__text_add(&display->out, chosen ? chosen->name : "?");
  if (!chosen) return;
  put_name(display, &block, "_0", 2);
  show(display, chosen->type(), data + chosen->offset, level + 1, false);
  end_value(display, &block);
  end_block(display, &block, (BurnModule){type, (void *)(uintptr_t)data});
}

static int64_t params_of_list(const BurnModuleList *list, size_t count) {
  int64_t params = 0;
  for (size_t i = 0; i < count; i++)
    params += burn_module_num_params((BurnModule){list->type, burn_module_list_at(list, i)});
  return params;
}

static void show_list(Display *display, const BurnModuleList *list, unsigned level) {
  const size_t count = list->count;
  Block block = {level, display->settings->new_line_after_attribute != BURN_DISPLAY_OFF, 0};
  burn__text_addf(&display->out, "Vec<0..%zu>", count);
  for (size_t i = 0; i < count; i++) {
    char name[24];
    (void)snprintf(name, sizeof name, "%zu", i);
    put_name(display, &block, name, strlen(name));
    show_module(display, list->type, burn_module_list_at(list, i), level + 1);
    end_value(display, &block);
  }
  const int64_t params = params_of_list(list, count);
  if (count == 0) return;
  if (params > 0 && display->settings->show_num_parameters != BURN_DISPLAY_OFF) {
    put_name(display, &block, "params", strlen("params"));
    burn__text_addf(&display->out, "%" PRId64, params);
    end_value(display, &block);
  }
  if (block.lines) put_indent(display, level);
  burn__text_add(&display->out, "}");
}

static void show_number(Display *display, const BurnType *type, const void *member, bool plain) {
  const double *number = member;
  if (type->kind == BURN_TYPE_SIZE) burn__text_addf(&display->out, "%zu", *(const size_t *)member);
  if (type->kind == BURN_TYPE_I64) burn__text_addf(&display->out, "%" PRId64, *(const int64_t *)member);
  if (type->kind == BURN_TYPE_BOOL) burn__text_add(&display->out, *(const bool *)member ? "true" : "false");
  if (type->kind != BURN_TYPE_F64) return;
  if (plain) put_plain_float(&display->out, *number);
  if (!plain) put_debug_float(&display->out, *number);
}

/* Any row. `plain`: a number by Display, as Burn's layers show theirs; else by Debug. */
static void show(Display *display, const BurnType *type, const void *member, unsigned level, bool plain) {
  const BurnModuleOption *option = member;
  switch (type->kind) {
    case BURN_TYPE_PARAM:
      put_param(display, member);
      break;
    case BURN_TYPE_BUFFER:
      burn__text_add(&display->out, "RunningState");
      break;
    case BURN_TYPE_CONSTANT:
      put_constant_tensor(&display->out, burn_constant_value(member));
      break;
    case BURN_TYPE_MODULE:
      show_module(display, type, member, level);
      break;
    case BURN_TYPE_MODULE_VARIANT:
      show_case(display, type, member, level);
      break;
    case BURN_TYPE_MODULE_LIST:
      show_list(display, member, level);
      break;
    case BURN_TYPE_MODULE_OPTION:
      if (option->data) show_module(display, option->type, option->data, level);
      if (!option->data) burn__text_add(&display->out, "None");
      break;
    case BURN_TYPE_VARIANT:
      put_variant(display, type, member);
      break;
    case BURN_TYPE_SIZES:
      put_sizes(&display->out, member, type->count);
      break;
    case BURN_TYPE_OPTION_F64:
      put_option(&display->out, member);
      break;
    case BURN_TYPE_OPTION_SIZE:
      put_size_option(&display->out, member);
      break;
    case BURN_TYPE_TEXT:
      burn__text_addf(&display->out, "\"%.*s\"", (int)sizeof(BurnText), (const char *)member);
      break;
    default:
      show_number(display, type, member, plain);
      break;
  }
}

char *burn_module_display(BurnModule module, const BurnDisplaySettings *settings) {
  if (burn__module_check(module) != BURN_OK) return NULL;
  static const BurnDisplaySettings defaults = {0, 0, 0, 0, 0, NULL};
  Display display = {BURN_TEXT_BUILDER, settings ? settings : &defaults};
  show(&display, module.type, module.data, 0, false);
  return burn__text_finish(&display.out);
}
