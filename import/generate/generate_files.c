/* generate_files.c - the files: header, source, weights, a program that runs the model, and how to build it. Nothing of
 * the file stands in them but identifiers and numbers. */
#include "generate.h"
#include "hash.h"

#include <burn/burn.h>
#include <burn/file.h>
#include <burn/record.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- the header ------------------------------------------------------------------------------------ */

static size_t field_count(const Generator *g) {
  size_t count = 0;
  for (const GenerateField *f = g->fields; f; f = f->before) count++;
  return count;
}

/* The rows in the order in which the forward pass has them; NULL without memory. */
static const GenerateField **in_order(Generator *g, size_t count) {
  const GenerateField **list = onnx_arena_take(&g->arena, count + 1, sizeof *list);
  const GenerateField *field = g->fields;
  g->failed = g->failed || !list;
  for (size_t i = count; list && i > 0; i--, field = field->before) list[i - 1] = field;
  return list;
}

static void add_fields(Generator *g, BurnTextBuilder *text) {
  const size_t count = field_count(g);
  const GenerateField **fields = in_order(g, count);
  burn__text_addf(text, "#define %s_FIELDS(X)", g->macro);
  for (size_t i = 0; fields && i < count; i++)
    burn__text_addf(text, " \\\n  X(%s, %s, \"%s\")", fields[i]->type, fields[i]->name, fields[i]->comment);
  if (count == 0) burn__text_addf(text, " X(BurnSize, inputs, \"of the forward pass; there are no weights\")");
  burn__text_addf(text, "\nBURN_MODULE(%s, %s_FIELDS);\n", g->type, g->macro);
}

static uint32_t output_count(const Generator *g) { return g->program->body->output_count; }

/* "BurnTensor *input_forward(const Net *m, BurnTensor *x, BurnTensor *y)" */
static const char *signature(Generator *g) {
  const char *result = output_count(g) == 1 ? "BurnTensor *" : generate_text(g, "%sOutputs ", g->type);
  const char *text = generate_text(g, "%s%s_forward(const %s *m", result, g->prefix, g->type);
  for (uint32_t i = 0; i < g->program->body->input_count; i++)
    text = generate_text(g, "%s, BurnTensor *%s", text, g->input_names[i]);
  return generate_text(g, "%s)", text);
}

static char *header(Generator *g) {
  BurnTextBuilder text = BURN_TEXT_BUILDER;
  burn__text_addf(
      &text,
      "/* %s.h - a model, written by `burn import` from an ONNX file.\n *\n * %s.c has its forward pass, %s.bpk its"
      "\n * weights. Written again, it is the same to the byte. */\n"
      "#ifndef %s_MODEL_H\n#define %s_MODEL_H\n\n#include <burn/burn.h>\n#include <burn/nn.h>\n\n",
      g->prefix, g->prefix, g->prefix, g->macro, g->macro);
  add_fields(g, &text);
  burn__text_addf(&text,
                  "\n/* Makes the module, with first values in place of the weights. */\n"
                  "%s %s_init(BurnDevice *device);\n"
                  "/* Reads the weights. */\n"
                  "BurnStatus %s_load(%s *m, const char *path);\n\n",
                  g->type, g->prefix, g->prefix, g->type);
  if (output_count(g) != 1) {
    burn__text_addf(&text, "/* What the model gives; all are the caller's. */\ntypedef struct %sOutputs {\n", g->type);
    for (uint32_t i = 0; i < output_count(g); i++) burn__text_addf(&text, "  BurnTensor *%s;\n", g->output_names[i]);
    burn__text_addf(&text, "} %sOutputs;\n", g->type);
  }
  burn__text_addf(&text, "/* Takes");
  for (uint32_t i = 0; i < g->program->body->input_count; i++)
    burn__text_addf(&text, "%s %s (%s)", i ? "," : "", g->input_names[i], g->input_texts[i]);
  burn__text_addf(&text, ". */\n%s;\n\n#endif\n", signature(g));
  return burn__text_finish(&text);
}

/* -- the source -------------------------------------------------------------------------------------- */

static void add_init(Generator *g, BurnTextBuilder *text) {
  const size_t count = field_count(g);
  const GenerateField **fields = in_order(g, count);
  burn__text_addf(text, "%s %s_init(BurnDevice *device) {\n  %s m;\n", g->type, g->prefix, g->type);
  for (size_t i = 0; fields && i < count; i++) burn__text_add(text, fields[i]->init);
  if (count == 0) burn__text_addf(text, "  (void)device;\n  m.inputs = %u;\n", g->program->body->input_count);
  burn__text_add(text, "  return m;\n}\n\n");
}

static void add_load(Generator *g, BurnTextBuilder *text) {
  burn__text_addf(text, "BurnStatus %s_load(%s *m, const char *path) {\n", g->prefix, g->type);
  if (!g->weights) {
    burn__text_add(text, "  (void)m;\n  (void)path;\n  return BURN_OK;\n}\n\n");
    return;
  }
  burn__text_addf(text,
                  "  const BurnRecordConfig config = {BURN_RECORD_BPK, BURN_PRECISION_AS_IS};\n"
                  "  const BurnRecordLoad options = {.dtypes = BURN_DTYPES_FROM_RECORD};\n"
                  "  return burn_record_load_with(burn_module(%s, m), path, &config, &options, NULL);\n}\n\n",
                  g->type);
}

/* The statements; of the declarations of sizes those that are used. */
static void add_statements(const Generator *g, BurnTextBuilder *text) {
  for (const char *line = g->forward.text; line && *line;) {
    const size_t bytes = strcspn(line, "\n") + 1;
    if (*line == GENERATE_MARK) {
      char *end;
      const GenerateSymbol *symbol = &g->symbols[strtoul(line + 1, &end, 10)];
      const unsigned depth = (unsigned)strtoul(end, NULL, 10);
      if (symbol->used) {
        burn__text_indent(text, depth + 1);
        burn__text_addf(text, "const int64_t %s = %s;\n", symbol->name, symbol->source);
      }
    } else {
      burn__text_add_bytes(text, line, bytes);
    }
    line += bytes;
  }
}

static void add_forward(Generator *g, BurnTextBuilder *text) {
  burn__text_addf(text, "%s {\n", signature(g));
  if (!g->uses_module) burn__text_add(text, "  (void)m;\n");
  if (g->uses_device) burn__text_addf(text, "  BurnDevice *device = burn_tensor_device(%s);\n", g->input_names[0]);
  if (g->uses_status) burn__text_add(text, "  BurnStatus status = BURN_OK;\n");
  add_statements(g, text);
  if (output_count(g) == 1) {
    burn__text_addf(text, "  return %s;\n}\n", g->outputs[0]);
    return;
  }
  burn__text_addf(text, "  return (%sOutputs){", g->type);
  for (uint32_t i = 0; i < output_count(g); i++)
    burn__text_addf(text, "%s.%s = %s", i ? ", " : "", g->output_names[i], g->outputs[i]);
  burn__text_add(text, "};\n}\n");
}

static char *source(Generator *g) {
  BurnTextBuilder text = BURN_TEXT_BUILDER;
  burn__text_addf(
      &text,
      "/* %s.c - the layers of the model and its forward pass.\n *\n * Written by `burn import`; shapes stand beside "
      "the statements. */\n#include \"%s.h\"\n\n#include <burn/record.h>\n\n#include <math.h>\n%s\n",
      g->prefix, g->prefix,
      g->supports >> GENERATE_SUPPORT_sequence & 1 ? "#include <stdlib.h>\n#include <string.h>\n" : "");
  add_init(g, &text);
  add_load(g, &text);
  generate_supports_text(g, &text);
  add_forward(g, &text);
  return burn__text_finish(&text);
}

/* -- a program ---------------------------------------------------------------------------------------- */

static char *program_text(Generator *g) {
  BurnTextBuilder text = BURN_TEXT_BUILDER;
  const uint32_t inputs = g->program->body->input_count, outputs = output_count(g);
  burn__text_addf(
      &text,
      "/* main.c - runs the model on arrays of .npy files and prints what it gives, or writes it as .npz:\n *\n"
      " *   %s_run %s.bpk INPUT.npy .. [OUT.npz] */\n#include \"%s.h\"\n\n#include <burn/numpy.h>\n"
      "#include <burn/streams.h>\n\n#include <stdio.h>\n\nenum { INPUTS = %u, OUTPUTS = %u };\n\n",
      g->prefix, g->prefix, g->prefix, inputs, outputs);
  burn__text_addf(&text, "static void run(const %s *m, BurnTensor *const *in, BurnTensor **out) {\n", g->type);
  const char *call = generate_text(g, "%s_forward(m", g->prefix);
  for (uint32_t i = 0; i < inputs; i++) call = generate_text(g, "%s, in[%u]", call, i);
  if (outputs == 1) {
    burn__text_addf(&text, "  out[0] = %s);\n}\n\n", call);
  } else {
    burn__text_addf(&text, "  const %sOutputs all = %s);\n", g->type, call);
    for (uint32_t i = 0; i < outputs; i++) burn__text_addf(&text, "  out[%u] = all.%s;\n", i, g->output_names[i]);
    burn__text_add(&text, "}\n\n");
  }
  burn__text_add(&text, "static const char *const names[OUTPUTS] = {");
  for (uint32_t i = 0; i < outputs; i++) burn__text_addf(&text, "%s\"%s\"", i ? ", " : "", g->output_names[i]);
  burn__text_addf(
      &text,
      "};\n\nint main(int argc, char **argv) {\n  burn_streams_pin();\n  if (argc < 2 + INPUTS) {\n"
      "    fprintf(stderr, \"usage: %%s WEIGHTS.bpk INPUT.npy .. [OUT.npz], with %%d inputs\\n\", argv[0], INPUTS);\n"
      "    return 2;\n  }\n  BurnDevice *device = burn_device_open(NULL);\n  %s m = %s_init(device);\n"
      "  BurnStatus status = %s_load(&m, argv[1]);\n  if (status == BURN_OK) {\n"
      "    BurnTensor *in[INPUTS], *out[OUTPUTS];\n"
      "    for (int i = 0; i < INPUTS; i++) in[i] = burn_npy_read(device, argv[2 + i]);\n    run(&m, in, out);\n"
      "    if (argc > 2 + INPUTS) {\n"
      "      status = burn_npz_write(argv[2 + INPUTS], names, out, OUTPUTS, false);\n    } else {\n"
      "      for (int i = 0; i < OUTPUTS; i++) {\n        printf(\"%%s:\\n\", names[i]);\n"
      "        if (status == BURN_OK) status = burn_tensor_status(out[i]);\n"
      "        burn_print(out[i]);\n      }\n    }\n  }\n"
      "  if (status != BURN_OK) fprintf(stderr, \"%%s\\n\", burn_status_message(status));\n"
      "  %s_release(&m);\n  burn_device_close(device);\n  return burn_streams_finish(status != BURN_OK);\n}\n",
      g->type, g->prefix, g->prefix, g->type);
  return burn__text_finish(&text);
}

static char *cmake_text(Generator *g) {
  BurnTextBuilder text = BURN_TEXT_BUILDER;
  burn__text_addf(&text,
                  "# %s: needs an installed Burn, its bin folder in PATH, or -DCMAKE_PREFIX_PATH=<prefix>.\n"
                  "cmake_minimum_required(VERSION 3.20)\nproject(%s LANGUAGES C)\nset(CMAKE_C_STANDARD 11)\n"
                  "if(NOT CMAKE_BUILD_TYPE)\n  set(CMAKE_BUILD_TYPE Release)\nendif()\nfind_package(Burn REQUIRED)\n\n"
                  "add_executable(%s_run main.c %s.c)\ntarget_link_libraries(%s_run PRIVATE Burn::nn)\n"
                  "target_compile_options(%s_run PRIVATE -Wall -Wextra)\n",
                  g->prefix, g->prefix, g->prefix, g->prefix, g->prefix, g->prefix);
  return burn__text_finish(&text);
}

/* -- the weights --------------------------------------------------------------------------------------- */

/* A parameter's id is made of its path, so that the bytes are the same every time. */
static uint64_t id_of(const Generator *g, const char *path) {
  return burn__hash_text(burn__hash_text(BURN__HASH, g->type), path);
}

/* The weights as a module of one level, whose rows are called by their paths. All are parameters here, since the id of
 * a buffer is drawn at random; a .bpk does not tell the two apart. */
static BurnStatus weights(Generator *g, uint8_t **bytes, size_t *count) {
  const size_t total = g->report->tensors;
  const BurnRecordConfig config = {BURN_RECORD_BPK, BURN_PRECISION_AS_IS};
  BurnField *rows = onnx_arena_take(&g->arena, total + 1, sizeof *rows);
  OnnxField *fields = onnx_arena_take(&g->arena, total + 1, sizeof *fields);
  GenerateWeight *weight = g->weights;
  if (!rows || !fields) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for %zu weights", total);
  for (size_t i = total; i > 0; i--, weight = weight->before) {
    OnnxField *field = &fields[i - 1];
    rows[i - 1] = (BurnField){weight->path, BurnParam_type, (i - 1) * sizeof(OnnxField), "", false};
    field->parameter = burn_param(weight->tensor);
    field->parameter.id = id_of(g, weight->path);
    weight->tensor = NULL;
  }
  const BurnType type = {
      BURN_TYPE_MODULE, g->type, (total + 1) * sizeof(OnnxField), (uint32_t)total, rows, NULL, 0, NULL};
  const BurnModule module = {&type, fields};
  BurnStatus status = burn_module_status(module);
  if (status == BURN_OK) status = burn_record_to_bytes(module, &config, bytes, count);
  burn_module_release(module);
  return status;
}

/* -- writing --------------------------------------------------------------------------------------------- */

typedef struct File {
  const char *name;
  char *bytes;
  size_t count;
} File;
enum { FILES = 5 };

/* Looks before it writes whether files may exist. Where one cannot be written, those that are new are removed again. */
static BurnStatus write_files(Generator *g, const char *folder, const File *files) {
  const char *paths[FILES];
  bool is_new[FILES];
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < FILES && status == BURN_OK; i++) {
    paths[i] = generate_text(g, "%s/%s", folder, files[i].name);
    is_new[i] = files[i].bytes && burn_file_check_new(paths[i], false) == BURN_OK;
    status = files[i].bytes ? burn_file_check_new(paths[i], g->options->overwrite) : BURN_OK;
    if (status != BURN_OK) return burn_status_annotate(status, "%s", paths[i]);
  }
  for (size_t i = 0; i < FILES; i++) {
    status = files[i].bytes ? burn_file_write(paths[i], files[i].bytes, files[i].count) : BURN_OK;
    if (status == BURN_OK) continue;
    for (size_t k = 0; k < i; k++)
      if (is_new[k]) (void)remove(paths[k]);
    return burn_status_annotate(status, "%s", paths[i]);
  }
  return BURN_OK;
}

BurnStatus generate_files(Generator *g, const char *folder) {
  File files[FILES] = {{generate_text(g, "%s.h", g->prefix), header(g), 0},
                       {generate_text(g, "%s.c", g->prefix), source(g), 0},
                       {"main.c", program_text(g), 0},
                       {"CMakeLists.txt", cmake_text(g), 0},
                       {generate_text(g, "%s.bpk", g->prefix), NULL, 0}};
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < FILES - 1; i++) {
    if (files[i].bytes) files[i].count = strlen(files[i].bytes);
    if (!files[i].bytes) status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for %s", files[i].name);
  }
  uint8_t *bytes = NULL;
  if (status == BURN_OK && g->weights) status = weights(g, &bytes, &files[FILES - 1].count);
  files[FILES - 1].bytes = (char *)bytes;
  if (status == BURN_OK && g->failed) status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for the code");
  if (status == BURN_OK) status = write_files(g, folder, files);
  for (size_t i = 0; i < FILES; i++) free(files[i].bytes);
  return status;
}
