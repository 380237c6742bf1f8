/* generate_names.c - identifiers of C made of the names in a file, which may be any bytes. */
#include "generate.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Words of C and C++, and what the code itself uses. */
static const char *const words[] = {
    "NULL",      "alignas",   "alignof",  "and",      "asm",          "auto",    "bool",
    "break",     "case",      "catch",    "char",     "class",        "complex", "compl",
    "const",     "constexpr", "continue", "default",  "delete",       "device",  "do",
    "double",    "else",      "enum",     "errno",    "explicit",     "export",  "extern",
    "false",     "float",     "for",      "friend",   "goto",         "if",      "inline",
    "int",       "linux",     "long",     "m",        "main",         "mutable", "namespace",
    "new",       "noexcept",  "not",      "nullptr",  "operator",     "or",      "private",
    "protected", "public",    "register", "requires", "restrict",     "return",  "short",
    "signed",    "sizeof",    "static",   "stderr",   "stdin",        "stdout",  "static_assert",
    "struct",    "switch",    "template", "this",     "thread_local", "throw",   "true",
    "try",       "typedef",   "typeid",   "typename", "typeof",       "union",   "unix",
    "unsigned",  "using",     "virtual",  "void",     "volatile",     "wchar_t", "while",
    "xor",       "status",    "Sequence",
};

const char *generate_text(Generator *g, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int bytes = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  char *text = bytes < 0 ? NULL : onnx_arena_take(&g->arena, (size_t)bytes + 1, 1);
  g->failed = g->failed || !text;
  if (!text) return "";
  va_start(arguments, format);
  vsnprintf(text, (size_t)bytes + 1, format, arguments);
  va_end(arguments);
  return text;
}

const char *generate_number(Generator *g, double value) {
  if (value != value) return "(double)NAN";
  if (value > 1.7976931348623157e308) return "(double)INFINITY";
  if (value < -1.7976931348623157e308) return "-(double)INFINITY";
  BurnTextBuilder text = BURN_TEXT_BUILDER;
  burn__text_number(&text, value);
  const char *kept = generate_text(g, "%s", text.text ? text.text : "0");
  const size_t length = strlen(kept);
  const bool whole = value < 1e9 && value > -1e9 && length > 2 && strcmp(kept + length - 2, ".0") == 0;
  burn__text_release(&text);
  return whole ? generate_text(g, "%.*s", (int)length - 2, kept) : kept;
}

const char *generate_integer(Generator *g, int64_t value) {
  /* The digits of the least one are no number of C: it has no literals below 0. */
  return value == INT64_MIN ? "INT64_MIN" : generate_text(g, "%lld", (long long)value);
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Where the last bytes of a long text begin, with a part of it rather than within one. */
static const char *tail(const char *text, size_t most) {
  const size_t length = strlen(text);
  if (length <= most) return text;
  const char *cut = text + length - most;
  const size_t inside = strcspn(cut, "./_:");
  return cut[inside] && cut[inside + 1] ? cut + inside + 1 : cut;
}

/* Letters and digits of a text with one _ between the runs of them; the last bytes of a long one. */
static void spell(const char *text, char *to, size_t room) {
  size_t at = 0;
  for (const char *c = tail(text, room - 3); *c; c++) {
    const bool is_part = is_letter(*c) || is_digit(*c);
    if (is_part && at == 0 && is_digit(*c)) to[at++] = 'n';
    if (is_part) to[at++] = *c;
    if (!is_part && at > 0 && to[at - 1] != '_') to[at++] = '_';
  }
  while (at > 0 && to[at - 1] == '_') at--;
  to[at] = 0;
}

/* The functions that may stand before the forward pass. */
static const char *const functions[] = {
#define GENERATE_SUPPORT(name, needs, text) #name,
#include "generate_support.def"
#undef GENERATE_SUPPORT
};

static bool is_word(const char *name) {
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    if (strcmp(functions[i], name) == 0) return true;
  }
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (strcmp(words[i], name) == 0) return true;
  }
  return false;
}

/* Ours begin so. */
static bool is_ours(const char *name) {
  return strncmp(name, "burn", 4) == 0 || strncmp(name, "Burn", 4) == 0 || strncmp(name, "BURN", 4) == 0;
}

const char *generate_name(Generator *g, int scope, const char *text, const char *otherwise) {
  char name[GENERATE_NAME], tried[GENERATE_NAME + 16];
  spell(text, name, sizeof name);
  if (!name[0]) snprintf(name, sizeof name, "%s", otherwise);
  const char *before = is_ours(name) ? "n_" : "";
  snprintf(tried, sizeof tried, "%s%s", before, name);
  for (unsigned k = 2; is_word(tried) || onnx_names_get(&g->taken[scope], tried) != ONNX_NONE; k++)
    snprintf(tried, sizeof tried, "%s%s_%u", before, name, k);
  const char *kept = generate_text(g, "%s", tried);
  g->failed = g->failed || !onnx_names_put(&g->taken[scope], kept, 1);
  return kept;
}

static char upper(char c) { return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c; }
static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

void generate_model_names(Generator *g, const char *text) {
  char name[GENERATE_NAME];
  size_t camel = 0;
  spell(text, name, sizeof name);
  if (!name[0]) snprintf(name, sizeof name, "model");
  char spelled[GENERATE_NAME + 8];
  for (size_t i = 0; name[i]; i++) name[i] = lower(name[i]);
  snprintf(spelled, sizeof spelled, "%s%s", is_word(name) || is_ours(name) ? "the_" : "", name);
  for (size_t i = 0; spelled[i]; i++) {
    const bool starts = i == 0 || spelled[i - 1] == '_';
    if (spelled[i] != '_') g->type[camel++] = starts ? upper(spelled[i]) : spelled[i];
    g->prefix[i] = spelled[i];
    g->macro[i] = upper(spelled[i]);
  }
  snprintf(g->report->name, sizeof g->report->name, "%s", g->type);
}
