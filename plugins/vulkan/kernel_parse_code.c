/* kernel_parse_code.c - statements and expressions. */
#include "kernel_syntax.h"

/* -- expressions ------------------------------------------------------------------------------ */

static Node *unary(Parser *parser);

static Node *number(Parser *parser) {
  Node *node = burn__parser_node(parser, parser->at->kind == KERNEL_TOKEN_FLOAT ? NODE_REAL : NODE_INTEGER);
  node->integer = parser->at->integer;
  node->real = parser->at->real;
  node->suffix = parser->at->suffix;
  parser->at++;
  return node;
}

static Node *truth(Parser *parser, bool value) {
  Node *node = burn__parser_node(parser, NODE_INTEGER);
  node->integer = value;
  node->suffix = 0x80; /* a bool */
  parser->at++;
  return node;
}

/* f, f<2>, Element<S>::is_float, or a constant's name. */
static Node *name(Parser *parser) {
  Node *node = burn__parser_node(parser, NODE_NAME);
  const Declaration *declaration = burn__syntax_find(parser->syntax, parser->at->name);
  const bool is_type = burn__parser_is_type(parser);
  if (is_type) {
    const TypeSyntax *type = burn__parse_plain_type(parser);
    if (type->member) {
      node->type = type;
      node->name = type->member;
      return node;
    }
    node->kind = NODE_CAST; /* T(x), T(), T{..} */
    node->type = type;
    if (burn__parser_is(parser, KERNEL_BRACE_OPEN)) {
      node->a = burn__parse_initializer(parser);
      return node;
    }
    burn__parser_want(parser, KERNEL_PAREN_OPEN);
    node->a = burn__parser_is(parser, KERNEL_PAREN_CLOSE) ? burn__parser_node(parser, NODE_LIST)
                                                          : burn__parse_expression(parser);
    burn__parser_want(parser, KERNEL_PAREN_CLOSE);
    return node;
  }
  node->name = burn__parser_name(parser);
  if (declaration && declaration->is_template && burn__parser_is(parser, KERNEL_LESS))
    node->arguments = burn__parse_arguments(parser);
  return node;
}

static Node *within_parentheses(Parser *parser) {
  const bool outer = parser->no_greater;
  parser->no_greater = false;
  Node *node = burn__parse_expression(parser);
  parser->no_greater = outer;
  burn__parser_want(parser, KERNEL_PAREN_CLOSE);
  return node;
}

/* Is the member of a struct that a type's syntax names a value? A parameter of a template is taken to have types. */
static bool names_value(const Parser *parser, const TypeSyntax *type) {
  if (type->form != FORM_NAME || !type->member) return false;
  for (const Declaration *d = burn__syntax_find(parser->syntax, type->name); d; d = d->next)
    for (const Node *node = d->kind == DECLARES_STRUCT ? d->members : NULL; node; node = node->next)
      if (node->name == type->member) return node->kind != NODE_TYPEDEF;
  return false;
}

/* After a parenthesis: an expression, or a type and what is cast. */
static Node *parenthesis_or_cast(Parser *parser) {
  const KernelToken *before = parser->at;
  if (!burn__parser_is_type(parser)) return within_parentheses(parser);
  Node *node = burn__parser_node(parser, NODE_CAST);
  const bool is_value = names_value(parser, burn__parse_plain_type(parser));
  parser->at = before;
  node->type = burn__parse_type(parser);
  const bool has_member = node->type->form == FORM_NAME && node->type->member;
  if (is_value || (has_member && !burn__parser_is(parser, KERNEL_PAREN_CLOSE))) {
    parser->at = before; /* Element<S>::is_float && .. */
    return within_parentheses(parser);
  }
  burn__parser_want(parser, KERNEL_PAREN_CLOSE);
  node->a = unary(parser);
  return node;
}

static Node *size_of(Parser *parser) {
  Node *node = burn__parser_node(parser, NODE_SIZEOF);
  if (!burn__parser_take(parser, KERNEL_PAREN_OPEN)) {
    node->a = unary(parser);
    return node;
  }
  const char *name = NULL;
  if (burn__parser_is_type(parser))
    node->type = burn__parse_declarator(parser, burn__parse_type(parser), &name);
  else
    node->a = burn__parse_expression(parser);
  burn__parser_want(parser, KERNEL_PAREN_CLOSE);
  return node;
}

static Node *primary(Parser *parser) {
  const uint8_t kind = parser->at->kind;
  if (kind == KERNEL_TOKEN_INTEGER || kind == KERNEL_TOKEN_FLOAT) return number(parser);
  if (burn__parser_take(parser, KERNEL_PAREN_OPEN)) return parenthesis_or_cast(parser);
  if (burn__parser_is_word(parser, "true")) return truth(parser, true);
  if (burn__parser_is_word(parser, "false")) return truth(parser, false);
  if (burn__parser_take_word(parser, "sizeof")) return size_of(parser);
  return name(parser);
}

static Node *arguments_of_call(Parser *parser) {
  Node *first = NULL, **last = &first;
  const bool outer = parser->no_greater;
  parser->no_greater = false;
  while (!burn__parser_is(parser, KERNEL_PAREN_CLOSE)) {
    *last = burn__parse_initializer(parser);
    last = &(*last)->next;
    if (!burn__parser_take(parser, KERNEL_COMMA)) break;
  }
  parser->no_greater = outer;
  burn__parser_want(parser, KERNEL_PAREN_CLOSE);
  return first;
}

static Node *around(Parser *parser, NodeKind kind, Node *a) {
  Node *node = burn__parser_node(parser, kind);
  node->a = a;
  return node;
}

static Node *dereference(Parser *parser, Node *a) {
  Node *node = around(parser, NODE_UNARY, a);
  node->op = KERNEL_STAR;
  return node;
}

static Node *postfix(Parser *parser) {
  const uint32_t depth = parser->depth;
  Node *node = primary(parser);
  for (;;) {
    burn__parser_enter(parser);
    if (burn__parser_take(parser, KERNEL_PAREN_OPEN)) {
      node = around(parser, NODE_CALL, node);
      node->b = arguments_of_call(parser);
    } else if (burn__parser_take(parser, KERNEL_BRACKET_OPEN)) {
      const bool outer = parser->no_greater;
      parser->no_greater = false;
      node = around(parser, NODE_INDEX, node);
      node->b = burn__parse_expression(parser);
      parser->no_greater = outer;
      burn__parser_want(parser, KERNEL_BRACKET_CLOSE);
    } else if (burn__parser_is(parser, KERNEL_DOT) || burn__parser_is(parser, KERNEL_ARROW)) {
      const bool is_arrow = burn__parser_take(parser, KERNEL_ARROW);
      if (!is_arrow) parser->at++;
      node = around(parser, NODE_MEMBER, is_arrow ? dereference(parser, node) : node);
      node->name = burn__parser_name(parser);
    } else if (burn__parser_is(parser, KERNEL_INCREMENT) || burn__parser_is(parser, KERNEL_DECREMENT)) {
      node = around(parser, NODE_POSTFIX, node);
      node->op = (parser->at++)->punctuator;
    } else {
      parser->depth = depth;
      return node;
    }
  }
}

static bool is_unary(const Parser *parser) {
  static const KernelPunctuator operators[] = {KERNEL_PLUS, KERNEL_MINUS, KERNEL_NOT,       KERNEL_COMPLEMENT,
                                               KERNEL_STAR, KERNEL_AND,   KERNEL_INCREMENT, KERNEL_DECREMENT};
  for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++)
    if (burn__parser_is(parser, operators[i])) return true;
  return false;
}

static Node *unary(Parser *parser) {
  if (!is_unary(parser)) {
    burn__parser_enter(parser);
    Node *node = postfix(parser);
    parser->depth--;
    return node;
  }
  burn__parser_enter(parser);
  Node *node = burn__parser_node(parser, NODE_UNARY);
  node->op = (parser->at++)->punctuator;
  node->a = unary(parser);
  parser->depth--;
  return node;
}

/* How tightly binary operators bind; 0: it is none. */
static int strength(const Parser *parser) {
  if (parser->at->kind != KERNEL_TOKEN_PUNCTUATOR) return 0;
  switch (parser->at->punctuator) {
    case KERNEL_STAR:
    case KERNEL_SLASH:
    case KERNEL_PERCENT:
      return 10;
    case KERNEL_PLUS:
    case KERNEL_MINUS:
      return 9;
    case KERNEL_SHIFT_LEFT:
      return 8;
    case KERNEL_SHIFT_RIGHT:
      return parser->no_greater ? 0 : 8;
    case KERNEL_LESS:
    case KERNEL_LESS_EQUAL:
    case KERNEL_GREATER_EQUAL:
      return 7;
    case KERNEL_GREATER:
      return parser->no_greater ? 0 : 7;
    case KERNEL_EQUAL:
    case KERNEL_NOT_EQUAL:
      return 6;
    case KERNEL_AND:
      return 5;
    case KERNEL_XOR:
      return 4;
    case KERNEL_OR:
      return 3;
    case KERNEL_LOGICAL_AND:
      return 2;
    case KERNEL_LOGICAL_OR:
      return 1;
    default:
      return 0;
  }
}

/* A chain makes its tree deeper with each operator. */
static Node *binary(Parser *parser, int least) {
  const uint32_t depth = parser->depth;
  Node *left = unary(parser);
  for (int here = strength(parser); here >= least && here > 0; here = strength(parser)) {
    Node *node = burn__parser_node(parser, NODE_BINARY);
    burn__parser_enter(parser);
    node->op = (parser->at++)->punctuator;
    node->a = left;
    node->b = binary(parser, here + 1);
    left = node;
  }
  parser->depth = depth;
  return left;
}

static Node *condition(Parser *parser) {
  Node *chosen_by = binary(parser, 1);
  if (!burn__parser_is(parser, KERNEL_QUESTION)) return chosen_by;
  burn__parser_enter(parser);
  Node *node = burn__parser_node(parser, NODE_CONDITION);
  parser->at++;
  node->a = chosen_by;
  node->b = burn__parse_expression(parser);
  burn__parser_want(parser, KERNEL_COLON);
  node->c = burn__parse_assignment(parser);
  parser->depth--;
  return node;
}

/* The operator of +=, for = KERNEL_ASSIGN itself; KERNEL_PUNCTUATOR_COUNT where it is not an assignment. */
static KernelPunctuator assignment_operator(const Parser *parser) {
  static const struct {
    KernelPunctuator written, op;
  } rows[] = {{KERNEL_ASSIGN, KERNEL_ASSIGN},
              {KERNEL_PLUS_ASSIGN, KERNEL_PLUS},
              {KERNEL_MINUS_ASSIGN, KERNEL_MINUS},
              {KERNEL_STAR_ASSIGN, KERNEL_STAR},
              {KERNEL_SLASH_ASSIGN, KERNEL_SLASH},
              {KERNEL_PERCENT_ASSIGN, KERNEL_PERCENT},
              {KERNEL_AND_ASSIGN, KERNEL_AND},
              {KERNEL_OR_ASSIGN, KERNEL_OR},
              {KERNEL_XOR_ASSIGN, KERNEL_XOR},
              {KERNEL_SHIFT_LEFT_ASSIGN, KERNEL_SHIFT_LEFT},
              {KERNEL_SHIFT_RIGHT_ASSIGN, KERNEL_SHIFT_RIGHT}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if (burn__parser_is(parser, rows[i].written)) return rows[i].op;
  return KERNEL_PUNCTUATOR_COUNT;
}

Node *burn__parse_assignment(Parser *parser) {
  Node *left = condition(parser);
  const KernelPunctuator op = assignment_operator(parser);
  if (op == KERNEL_PUNCTUATOR_COUNT) return left;
  burn__parser_enter(parser);
  Node *node = burn__parser_node(parser, NODE_ASSIGN);
  parser->at++;
  node->op = (uint16_t)op;
  node->a = left;
  node->b = burn__parse_initializer(parser);
  parser->depth--;
  return node;
}

Node *burn__parse_expression(Parser *parser) {
  const uint32_t depth = parser->depth;
  Node *left = burn__parse_assignment(parser);
  while (burn__parser_is(parser, KERNEL_COMMA)) {
    Node *node = burn__parser_node(parser, NODE_BINARY);
    burn__parser_enter(parser);
    node->op = (parser->at++)->punctuator;
    node->a = left;
    node->b = burn__parse_assignment(parser);
    left = node;
  }
  parser->depth = depth;
  return left;
}

Node *burn__parse_initializer(Parser *parser) {
  if (!burn__parser_is(parser, KERNEL_BRACE_OPEN)) return burn__parse_assignment(parser);
  burn__parser_enter(parser);
  Node *node = burn__parser_node(parser, NODE_LIST), **last = &node->a;
  parser->at++;
  while (!burn__parser_is(parser, KERNEL_BRACE_CLOSE)) {
    *last = burn__parse_initializer(parser);
    last = &(*last)->next;
    if (!burn__parser_take(parser, KERNEL_COMMA)) break;
  }
  burn__parser_want(parser, KERNEL_BRACE_CLOSE);
  parser->depth--;
  return node;
}

/* -- statements ------------------------------------------------------------------------------- */

Node *burn__parse_enum(Parser *parser) {
  Node *first = NULL, *before = NULL, **last = &first;
  if (parser->at->kind == KERNEL_TOKEN_NAME) burn__parser_add_type(parser, burn__parser_name(parser));
  burn__parser_want(parser, KERNEL_BRACE_OPEN);
  while (!burn__parser_is(parser, KERNEL_BRACE_CLOSE)) {
    Node *node = burn__parser_node(parser, NODE_CONSTANT);
    node->name = burn__parser_name(parser);
    if (burn__parser_take(parser, KERNEL_ASSIGN)) node->a = burn__parse_assignment(parser);
    node->b = before;
    before = *last = node;
    last = &node->next;
    if (!burn__parser_take(parser, KERNEL_COMMA)) break;
  }
  burn__parser_want(parser, KERNEL_BRACE_CLOSE);
  return first;
}

/* int a = 1, b[2]; as NODE_DECLARE */
Node *burn__parse_variables(Parser *parser, bool is_static) {
  Node *declare = burn__parser_node(parser, NODE_DECLARE), **last = &declare->a;
  bool is_shared = false;
  while (burn__parser_is_word(parser, "__shared__") || burn__parser_is_word(parser, "static")) {
    is_shared = is_shared || burn__parser_is_word(parser, "__shared__");
    is_static = is_static || burn__parser_is_word(parser, "static");
    parser->at++;
  }
  const TypeSyntax *base = burn__parse_type(parser);
  const TypeSyntax *plain = base;
  while (plain->form == FORM_POINTER) plain = plain->of;
  for (bool is_first = true;; is_first = false) {
    Node *variable = burn__parser_node(parser, NODE_VARIABLE);
    variable->type = burn__parse_declarator(parser, is_first ? base : plain, &variable->name);
    variable->is_shared = is_shared;
    variable->is_static = is_static;
    if (!variable->name) burn__kernel_escape(parser->arena, variable->line, "a declaration has no name");
    if (burn__parser_is(parser, KERNEL_PAREN_OPEN))
      burn__kernel_escape(parser->arena, variable->line, "'%s' cannot be a function here", variable->name);
    if (burn__parser_take(parser, KERNEL_ASSIGN)) variable->a = burn__parse_initializer(parser);
    *last = variable;
    last = &variable->next;
    if (!burn__parser_take(parser, KERNEL_COMMA)) break;
  }
  burn__parser_want(parser, KERNEL_SEMICOLON);
  return declare;
}

static Node *statement(Parser *parser);

static Node *if_statement(Parser *parser) {
  Node *node = burn__parser_node(parser, NODE_IF);
  (void)burn__parser_take_word(parser, "constexpr");
  burn__parser_want(parser, KERNEL_PAREN_OPEN);
  node->a = within_parentheses(parser);
  node->b = statement(parser);
  if (burn__parser_take_word(parser, "else")) node->c = statement(parser);
  return node;
}

static Node *simple_statement(Parser *parser) {
  Node *node = burn__parser_node(parser, NODE_EXPRESSION);
  node->a = burn__parse_expression(parser);
  burn__parser_want(parser, KERNEL_SEMICOLON);
  return node;
}

static Node *for_statement(Parser *parser, bool is_unrolled) {
  Node *node = burn__parser_node(parser, NODE_FOR);
  node->is_unrolled = is_unrolled;
  burn__parser_want(parser, KERNEL_PAREN_OPEN);
  if (!burn__parser_take(parser, KERNEL_SEMICOLON))
    node->a = burn__parser_is_type(parser) ? burn__parse_variables(parser, false) : simple_statement(parser);
  if (!burn__parser_is(parser, KERNEL_SEMICOLON)) node->b = burn__parse_expression(parser);
  burn__parser_want(parser, KERNEL_SEMICOLON);
  if (!burn__parser_is(parser, KERNEL_PAREN_CLOSE)) node->c = burn__parse_expression(parser);
  burn__parser_want(parser, KERNEL_PAREN_CLOSE);
  node->d = statement(parser);
  return node;
}

static Node *while_statement(Parser *parser) {
  Node *node = burn__parser_node(parser, NODE_FOR);
  burn__parser_want(parser, KERNEL_PAREN_OPEN);
  node->b = within_parentheses(parser);
  node->d = statement(parser);
  return node;
}

static Node *jump(Parser *parser, NodeKind kind) {
  Node *node = burn__parser_node(parser, kind);
  if (kind == NODE_RETURN && !burn__parser_is(parser, KERNEL_SEMICOLON)) node->a = burn__parse_initializer(parser);
  burn__parser_want(parser, KERNEL_SEMICOLON);
  return node;
}

static Node *enum_statement(Parser *parser) {
  Node *node = burn__parser_node(parser, NODE_DECLARE);
  node->a = burn__parse_enum(parser);
  burn__parser_want(parser, KERNEL_SEMICOLON);
  return node;
}

static Node *plain_statement(Parser *parser) {
  bool is_unrolled = false;
  while (parser->at->kind == KERNEL_TOKEN_UNROLL) {
    is_unrolled = parser->at->integer == 0;
    parser->at++;
  }
  if (burn__parser_is(parser, KERNEL_BRACE_OPEN)) return burn__parse_block(parser);
  if (burn__parser_take(parser, KERNEL_SEMICOLON)) return burn__parser_node(parser, NODE_EMPTY);
  if (burn__parser_take_word(parser, "if")) return if_statement(parser);
  if (burn__parser_take_word(parser, "for")) return for_statement(parser, is_unrolled);
  if (burn__parser_take_word(parser, "while")) return while_statement(parser);
  if (burn__parser_take_word(parser, "return")) return jump(parser, NODE_RETURN);
  if (burn__parser_take_word(parser, "break")) return jump(parser, NODE_BREAK);
  if (burn__parser_take_word(parser, "continue")) return jump(parser, NODE_CONTINUE);
  if (burn__parser_take_word(parser, "typedef")) return burn__parse_typedef(parser);
  if (burn__parser_take_word(parser, "enum")) return enum_statement(parser);
  if (burn__parser_is_word(parser, "__shared__") || burn__parser_is_word(parser, "static") ||
      burn__parser_is_type(parser))
    return burn__parse_variables(parser, false);
  return simple_statement(parser);
}

static Node *statement(Parser *parser) {
  burn__parser_enter(parser);
  Node *node = plain_statement(parser);
  parser->depth--;
  return node;
}

Node *burn__parse_block(Parser *parser) {
  Node *node = burn__parser_node(parser, NODE_BLOCK), **last = &node->a;
  const uint32_t types = parser->type_count;
  burn__parser_want(parser, KERNEL_BRACE_OPEN);
  while (!burn__parser_take(parser, KERNEL_BRACE_CLOSE)) {
    *last = statement(parser);
    last = &(*last)->next;
  }
  parser->type_count = types;
  return node;
}
