/* kernel_parse.c - declarations: types, structs, templates, functions. Start here; statements and expressions are in
 * kernel_parse_code.c. */
#include "kernel_syntax.h"

#include <string.h>

/* -- tokens ----------------------------------------------------------------------------------- */

bool burn__parser_is(const Parser *parser, KernelPunctuator punctuator) {
  return parser->at->kind == KERNEL_TOKEN_PUNCTUATOR && parser->at->punctuator == (uint16_t)punctuator;
}

bool burn__parser_is_word(const Parser *parser, const char *word) {
  return parser->at->kind == KERNEL_TOKEN_NAME && strcmp(parser->at->name, word) == 0;
}

bool burn__parser_take(Parser *parser, KernelPunctuator punctuator) {
  if (!burn__parser_is(parser, punctuator)) return false;
  parser->at++;
  return true;
}

bool burn__parser_take_word(Parser *parser, const char *word) {
  if (!burn__parser_is_word(parser, word)) return false;
  parser->at++;
  return true;
}

static const char *text_of(const KernelToken *token) {
  if (token->kind == KERNEL_TOKEN_PUNCTUATOR) return burn__kernel_spelling((KernelPunctuator)token->punctuator);
  if (token->kind == KERNEL_TOKEN_END) return "the end";
  return token->name ? token->name : "a number";
}

void burn__parser_want(Parser *parser, KernelPunctuator punctuator) {
  if (!burn__parser_take(parser, punctuator))
    burn__kernel_escape(parser->arena, parser->at->line, "'%s' is expected before '%s'",
                        burn__kernel_spelling(punctuator), text_of(parser->at));
}

const char *burn__parser_name(Parser *parser) {
  if (parser->at->kind != KERNEL_TOKEN_NAME)
    burn__kernel_escape(parser->arena, parser->at->line, "a name is expected before '%s'", text_of(parser->at));
  return (parser->at++)->name;
}

void burn__parser_enter(Parser *parser) {
  if (++parser->depth > MAX_DEPTH)
    burn__kernel_escape(parser->arena, parser->at->line, "more than %d levels", MAX_DEPTH);
}

Node *burn__parser_node(Parser *parser, NodeKind kind) {
  Node *node = burn__kernel_allocate(parser->arena, sizeof *node);
  parser->nodes++;
  node->kind = (uint8_t)kind;
  node->line = parser->at->line;
  return node;
}

/* -- names of types --------------------------------------------------------------------------- */

static const char *const basic_types[] = {"void",  "bool",   "char", "short",  "int",      "long",
                                          "float", "double", "auto", "signed", "unsigned", "size_t"};

static bool is_basic(const char *name) {
  for (size_t i = 0; i < sizeof basic_types / sizeof basic_types[0]; i++)
    if (strcmp(basic_types[i], name) == 0) return true;
  return false;
}

void burn__parser_add_type(Parser *parser, const char *name) {
  if (parser->type_count == MAX_TYPE_NAMES)
    burn__kernel_escape(parser->arena, parser->at->line, "more than %d names of types", MAX_TYPE_NAMES);
  parser->types[parser->type_count++] = name;
}

static bool is_type_name(const Parser *parser, const char *name) {
  for (uint32_t i = parser->type_count; i-- > 0;)
    if (parser->types[i] == name) return true;
  return is_basic(name);
}

bool burn__parser_is_type(const Parser *parser) {
  static const char *const words[] = {"const", "volatile", "typename", "struct"};
  if (parser->at->kind != KERNEL_TOKEN_NAME) return false;
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    if (strcmp(parser->at->name, words[i]) == 0) return true;
  return is_type_name(parser, parser->at->name);
}

/* "unsigned long long int" as one word. */
static const char *basic_name(Parser *parser) {
  bool is_unsigned = false, has_any = false;
  int longs = 0;
  const char *name = "int";
  for (; parser->at->kind == KERNEL_TOKEN_NAME && is_basic(parser->at->name); parser->at++) {
    const char *word = parser->at->name;
    has_any = true;
    if (strcmp(word, "unsigned") == 0)
      is_unsigned = true;
    else if (strcmp(word, "long") == 0)
      longs++;
    else if (strcmp(word, "int") != 0 && strcmp(word, "signed") != 0)
      name = word;
  }
  if (!has_any) return NULL;
  if (longs > 0) return is_unsigned ? "uint64_t" : "int64_t";
  if (strcmp(name, "char") == 0) return is_unsigned ? "uint8_t" : "int8_t";
  if (strcmp(name, "short") == 0) return is_unsigned ? "uint16_t" : "int16_t";
  if (strcmp(name, "size_t") == 0) return "uint64_t";
  if (strcmp(name, "int") == 0) return is_unsigned ? "uint32_t" : "int32_t";
  return name;
}

static void skip_qualifiers(Parser *parser, bool *is_const) {
  for (;;) {
    if (burn__parser_take_word(parser, "const"))
      *is_const = true;
    else if (!burn__parser_take_word(parser, "volatile") && !burn__parser_take_word(parser, "typename") &&
             !burn__parser_take_word(parser, "__restrict__") && !burn__parser_take_word(parser, "struct"))
      return;
  }
}

static TypeSyntax *new_type(Parser *parser, TypeForm form, const TypeSyntax *of) {
  TypeSyntax *type = burn__kernel_allocate(parser->arena, sizeof *type);
  type->form = (uint8_t)form;
  type->line = parser->at->line;
  type->of = of;
  return type;
}

const Argument *burn__parse_arguments(Parser *parser) {
  Argument *first = NULL, **last = &first;
  const bool outer = parser->no_greater;
  burn__parser_enter(parser);
  burn__parser_want(parser, KERNEL_LESS);
  parser->no_greater = true;
  while (!burn__parser_is(parser, KERNEL_GREATER)) {
    Argument *argument = burn__kernel_allocate(parser->arena, sizeof *argument);
    if (burn__parser_is_type(parser))
      argument->type = burn__parse_type(parser);
    else
      argument->value = burn__parse_assignment(parser);
    *last = argument;
    last = &argument->next;
    if (!burn__parser_take(parser, KERNEL_COMMA)) break;
  }
  parser->no_greater = outer;
  burn__parser_want(parser, KERNEL_GREATER);
  parser->depth--;
  return first;
}

static bool is_template(const Parser *parser, const char *name) {
  const Declaration *declaration = burn__syntax_find(parser->syntax, name);
  return declaration && declaration->is_template;
}

const TypeSyntax *burn__parse_plain_type(Parser *parser) {
  TypeSyntax *type = new_type(parser, FORM_NAME, NULL);
  skip_qualifiers(parser, &type->is_const);
  type->name = basic_name(parser);
  if (type->name) type->name = burn__kernel_intern(parser->syntax->tokens, type->name);
  if (!type->name) type->name = burn__parser_name(parser);
  if (is_template(parser, type->name) && burn__parser_is(parser, KERNEL_LESS))
    type->arguments = burn__parse_arguments(parser);
  if (burn__parser_take(parser, KERNEL_SCOPE)) type->member = burn__parser_name(parser);
  skip_qualifiers(parser, &type->is_const);
  return type;
}

static const TypeSyntax *with_stars(Parser *parser, const TypeSyntax *type) {
  bool is_const = false;
  uint32_t stars = 0;
  while (burn__parser_take(parser, KERNEL_STAR)) {
    if (++stars > MAX_STARS) burn__kernel_escape(parser->arena, parser->at->line, "more than %d '*'", MAX_STARS);
    type = new_type(parser, FORM_POINTER, type);
    skip_qualifiers(parser, &is_const);
  }
  return type;
}

const TypeSyntax *burn__parse_type(Parser *parser) { return with_stars(parser, burn__parse_plain_type(parser)); }

/* The dimensions after a name; the first is the outermost. */
static const TypeSyntax *with_dimensions(Parser *parser, const TypeSyntax *type) {
  if (!burn__parser_take(parser, KERNEL_BRACKET_OPEN)) return type;
  burn__parser_enter(parser);
  const bool is_open = burn__parser_is(parser, KERNEL_BRACKET_CLOSE);
  const bool outer = parser->no_greater;
  parser->no_greater = false;
  const Node *count = is_open ? NULL : burn__parse_expression(parser);
  parser->no_greater = outer;
  burn__parser_want(parser, KERNEL_BRACKET_CLOSE);
  TypeSyntax *array = new_type(parser, FORM_ARRAY, with_dimensions(parser, type));
  array->count = count;
  parser->depth--;
  return array;
}

const TypeSyntax *burn__parse_declarator(Parser *parser, const TypeSyntax *base, const char **name) {
  const TypeSyntax *type = with_stars(parser, base);
  *name = NULL;
  if (burn__parser_take(parser, KERNEL_PAREN_OPEN)) { /* (&name)[N] */
    burn__parser_want(parser, KERNEL_AND);
    if (parser->at->kind == KERNEL_TOKEN_NAME) *name = burn__parser_name(parser);
    burn__parser_want(parser, KERNEL_PAREN_CLOSE);
    return new_type(parser, FORM_REFERENCE, with_dimensions(parser, type));
  }
  const bool is_reference = burn__parser_take(parser, KERNEL_AND);
  if (parser->at->kind == KERNEL_TOKEN_NAME) *name = burn__parser_name(parser);
  type = with_dimensions(parser, type);
  return is_reference ? new_type(parser, FORM_REFERENCE, type) : type;
}

/* -- declarations by name --------------------------------------------------------------------- */

static uint32_t first_slot(const Syntax *syntax, const char *name) {
  return (uint32_t)((uint64_t)(uintptr_t)name * UINT64_C(0x9e3779b97f4a7c15) >> 40) % syntax->slot_count;
}

Declaration *burn__syntax_find(const Syntax *syntax, const char *name) {
  if (syntax->slot_count == 0) return NULL;
  for (uint32_t i = first_slot(syntax, name);; i = (i + 1) % syntax->slot_count) {
    if (!syntax->slots[i].name) return NULL;
    if (syntax->slots[i].name == name) return syntax->slots[i].first;
  }
}

static void grow(Syntax *syntax) {
  const struct SyntaxSlot *old = syntax->slots;
  const uint32_t count = syntax->slot_count;
  syntax->slot_count = count ? 2 * count : 1024;
  syntax->slots = burn__kernel_allocate(syntax->arena, syntax->slot_count * sizeof *syntax->slots);
  for (uint32_t k = 0; k < count; k++) {
    if (!old[k].name) continue;
    uint32_t i = first_slot(syntax, old[k].name);
    while (syntax->slots[i].name) i = (i + 1) % syntax->slot_count;
    syntax->slots[i] = old[k];
  }
}

static void add(Syntax *syntax, Declaration *declaration) {
  uint32_t others = 0;
  if (2 * syntax->used >= syntax->slot_count) grow(syntax);
  uint32_t i = first_slot(syntax, declaration->name);
  while (syntax->slots[i].name && syntax->slots[i].name != declaration->name) i = (i + 1) % syntax->slot_count;
  if (!syntax->slots[i].name) syntax->used++;
  syntax->slots[i].name = declaration->name;
  Declaration **last = &syntax->slots[i].first;
  for (; *last; others++) last = &(*last)->next;
  if (others == MAX_OVERLOADS)
    burn__kernel_escape(syntax->arena, declaration->line, "more than %d declarations of '%s'", MAX_OVERLOADS,
                        declaration->name);
  *last = declaration;
}

static Declaration *declare(Parser *parser, DeclarationKind kind) {
  Declaration *declaration = burn__kernel_allocate(parser->arena, sizeof *declaration);
  declaration->kind = (uint8_t)kind;
  declaration->line = parser->at->line;
  return declaration;
}

/* -- structs ---------------------------------------------------------------------------------- */

Node *burn__parse_typedef(Parser *parser) {
  Node *node = burn__parser_node(parser, NODE_TYPEDEF);
  node->type = burn__parse_declarator(parser, burn__parse_type(parser), &node->name);
  if (!node->name) burn__kernel_escape(parser->arena, node->line, "a typedef has no name");
  burn__parser_want(parser, KERNEL_SEMICOLON);
  burn__parser_add_type(parser, node->name);
  return node;
}

static const Node *read_members(Parser *parser) {
  Node *first = NULL, **last = &first;
  burn__parser_want(parser, KERNEL_BRACE_OPEN);
  while (!burn__parser_take(parser, KERNEL_BRACE_CLOSE)) {
    const bool is_static = burn__parser_take_word(parser, "static");
    if (burn__parser_take_word(parser, "typedef"))
      *last = burn__parse_typedef(parser);
    else
      *last = burn__parse_variables(parser, is_static)->a;
    if (burn__parser_is(parser, KERNEL_BRACE_OPEN))
      burn__kernel_escape(parser->arena, parser->at->line, "a struct has no functions here");
    while (*last) last = &(*last)->next;
  }
  return first;
}

/* After the word struct. Returns what it declares, which may have no name. */
static Declaration *read_struct(Parser *parser) {
  Declaration *declaration = declare(parser, DECLARES_STRUCT);
  if (burn__parser_take_word(parser, "alignas")) {
    burn__parser_want(parser, KERNEL_PAREN_OPEN);
    declaration->alignment = burn__parse_expression(parser);
    burn__parser_want(parser, KERNEL_PAREN_CLOSE);
  }
  if (parser->at->kind == KERNEL_TOKEN_NAME) declaration->name = burn__parser_name(parser);
  if (declaration->name && burn__parser_is(parser, KERNEL_LESS))
    declaration->specialised = burn__parse_arguments(parser);
  if (declaration->name) burn__parser_add_type(parser, declaration->name);
  const uint32_t types = parser->type_count;
  declaration->members = read_members(parser);
  parser->type_count = types;
  return declaration;
}

static void read_typedef(Parser *parser) {
  if (!burn__parser_take_word(parser, "struct")) {
    Declaration *declaration = declare(parser, DECLARES_TYPE);
    const Node *node = burn__parse_typedef(parser);
    declaration->name = node->name;
    declaration->type = node->type;
    add(parser->syntax, declaration);
    return;
  }
  Declaration *declaration = read_struct(parser);
  const char *name = burn__parser_name(parser);
  burn__parser_want(parser, KERNEL_SEMICOLON);
  declaration->name = name;
  burn__parser_add_type(parser, name);
  add(parser->syntax, declaration);
}

/* -- functions -------------------------------------------------------------------------------- */

static const Node *read_inputs(Parser *parser) {
  Node *first = NULL, **last = &first;
  burn__parser_want(parser, KERNEL_PAREN_OPEN);
  while (!burn__parser_is(parser, KERNEL_PAREN_CLOSE)) {
    Node *input = burn__parser_node(parser, NODE_VARIABLE);
    input->type = burn__parse_declarator(parser, burn__parse_type(parser), &input->name);
    if (burn__parser_is(parser, KERNEL_ASSIGN))
      burn__kernel_escape(parser->arena, parser->at->line, "an argument has no default here");
    *last = input;
    last = &input->next;
    if (!burn__parser_take(parser, KERNEL_COMMA)) break;
  }
  burn__parser_want(parser, KERNEL_PAREN_CLOSE);
  return first;
}

typedef struct Specifiers {
  bool is_kernel, is_static;
  const Node *threads;
} Specifiers;

/* Words before and after the type of a function. */
static void read_specifiers(Parser *parser, Specifiers *specifiers) {
  static const char *const ignored[] = {"__device__", "inline", "__forceinline__", "__noinline__", "constexpr"};
  for (bool found = true; found;) {
    found = false;
    if (burn__parser_take_word(parser, "static")) found = specifiers->is_static = true;
    if (burn__parser_take_word(parser, "__global__")) found = specifiers->is_kernel = true;
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
      if (burn__parser_take_word(parser, ignored[i])) found = true;
    if (burn__parser_take_word(parser, "extern")) {
      found = true;
      if (parser->at->kind == KERNEL_TOKEN_STRING) parser->at++;
    }
    if (burn__parser_take_word(parser, "__launch_bounds__")) {
      found = true;
      burn__parser_want(parser, KERNEL_PAREN_OPEN);
      specifiers->threads = burn__parse_assignment(parser);
      if (burn__parser_take(parser, KERNEL_COMMA)) (void)burn__parse_assignment(parser);
      burn__parser_want(parser, KERNEL_PAREN_CLOSE);
    }
  }
}

/* A static constant, or a function. */
static void read_value(Parser *parser, const TemplateParameter *parameters, bool is_template) {
  Specifiers specifiers = {false, false, NULL};
  const char *name = NULL;
  read_specifiers(parser, &specifiers);
  const TypeSyntax *base = burn__parse_type(parser);
  read_specifiers(parser, &specifiers);
  const TypeSyntax *type = burn__parse_declarator(parser, base, &name);
  const bool is_function = burn__parser_is(parser, KERNEL_PAREN_OPEN);
  Declaration *declaration = declare(parser, is_function ? DECLARES_FUNCTION : DECLARES_CONSTANT);
  if (!name) burn__kernel_escape(parser->arena, parser->at->line, "a declaration has no name");
  declaration->name = name;
  declaration->type = type;
  declaration->is_template = is_template;
  declaration->parameters = parameters;
  declaration->is_kernel = specifiers.is_kernel;
  declaration->threads = specifiers.threads;
  if (is_function) {
    add(parser->syntax, declaration);
    declaration->inputs = read_inputs(parser);
    if (burn__parser_take(parser, KERNEL_SEMICOLON)) return; /* the body comes later */
    const uint32_t before = parser->nodes;
    declaration->body = burn__parse_block(parser);
    declaration->nodes = parser->nodes - before;
    return;
  }
  Node *node = burn__parser_node(parser, NODE_VARIABLE);
  burn__parser_want(parser, KERNEL_ASSIGN);
  node->name = name;
  node->type = type;
  node->a = burn__parse_initializer(parser);
  declaration->node = node;
  burn__parser_want(parser, KERNEL_SEMICOLON);
  add(parser->syntax, declaration);
}

static void read_enum(Parser *parser) {
  for (Node *node = burn__parse_enum(parser); node; node = node->next) {
    Declaration *declaration = declare(parser, DECLARES_CONSTANT);
    declaration->name = node->name;
    declaration->node = node;
    add(parser->syntax, declaration);
  }
  burn__parser_want(parser, KERNEL_SEMICOLON);
}

static const TemplateParameter *read_parameters(Parser *parser) {
  TemplateParameter *first = NULL, **last = &first;
  burn__parser_want(parser, KERNEL_LESS);
  while (!burn__parser_is(parser, KERNEL_GREATER)) {
    TemplateParameter *parameter = burn__kernel_allocate(parser->arena, sizeof *parameter);
    parameter->is_type = burn__parser_take_word(parser, "class") || burn__parser_take_word(parser, "typename");
    if (!parameter->is_type) parameter->type = burn__parse_type(parser);
    parameter->name = burn__parser_name(parser);
    if (parameter->is_type) burn__parser_add_type(parser, parameter->name);
    *last = parameter;
    last = &parameter->next;
    if (!burn__parser_take(parser, KERNEL_COMMA)) break;
  }
  burn__parser_want(parser, KERNEL_GREATER);
  return first;
}

static void read_template(Parser *parser) {
  const uint32_t types = parser->type_count;
  const TemplateParameter *parameters = read_parameters(parser);
  if (!burn__parser_take_word(parser, "struct")) {
    read_value(parser, parameters, true);
    parser->type_count = types;
    return;
  }
  Declaration *declaration = read_struct(parser);
  if (!declaration->name) burn__kernel_escape(parser->arena, declaration->line, "a template has no name");
  declaration->is_template = true;
  declaration->parameters = parameters;
  burn__parser_want(parser, KERNEL_SEMICOLON);
  parser->type_count = types;
  burn__parser_add_type(parser, declaration->name);
  add(parser->syntax, declaration);
}

static void read_declaration(Parser *parser) {
  if (burn__parser_take(parser, KERNEL_SEMICOLON)) return;
  if (burn__parser_take_word(parser, "template")) {
    read_template(parser);
  } else if (burn__parser_take_word(parser, "typedef")) {
    read_typedef(parser);
  } else if (burn__parser_take_word(parser, "enum")) {
    read_enum(parser);
  } else if (burn__parser_take_word(parser, "struct")) {
    Declaration *declaration = read_struct(parser);
    if (!declaration->name) burn__kernel_escape(parser->arena, declaration->line, "a struct has no name");
    burn__parser_want(parser, KERNEL_SEMICOLON);
    add(parser->syntax, declaration);
  } else {
    read_value(parser, NULL, false);
  }
}

void burn__syntax_read(Syntax *syntax) {
  Parser *parser = burn__kernel_allocate(syntax->arena, sizeof *parser);
  parser->syntax = syntax;
  parser->arena = syntax->arena;
  parser->at = burn__kernel_tokens_at(syntax->tokens);
  while (parser->at->kind != KERNEL_TOKEN_END) read_declaration(parser);
}
