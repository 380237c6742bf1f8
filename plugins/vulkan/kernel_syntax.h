/* kernel_syntax.h - what a source says, as trees: declarations by name, types and statements as they are written.
 * Nothing is resolved yet, as templates decide what a name means. */
#ifndef BURN_VULKAN_KERNEL_SYNTAX_H
#define BURN_VULKAN_KERNEL_SYNTAX_H

#include "kernel_arena.h"
#include "kernel_tokens.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct Node Node;
typedef struct TypeSyntax TypeSyntax;
typedef struct Declaration Declaration;

/* An argument of a template: a type or a number. */
typedef struct Argument {
  struct Argument *next;
  const TypeSyntax *type; /* NULL: a number */
  const Node *value;
} Argument;

typedef enum TypeForm { FORM_NAME, FORM_POINTER, FORM_REFERENCE, FORM_ARRAY } TypeForm;

struct TypeSyntax {
  uint8_t form; /* TypeForm */
  bool is_const;
  uint32_t line;
  const char *name;          /* of a name, one word also for "unsigned long long" */
  const Argument *arguments; /* NULL: none */
  const char *member;        /* Element<S>::C; else NULL */
  const TypeSyntax *of;      /* of the other forms */
  const Node *count;         /* of an array */
};

typedef enum NodeKind {
  /* expressions: a, b and c are operands */
  NODE_INTEGER,
  NODE_REAL,
  NODE_NAME,      /* with arguments, or type: Element<S>::is_float */
  NODE_MEMBER,    /* a.name */
  NODE_INDEX,     /* a[b] */
  NODE_CALL,      /* a(list b) */
  NODE_UNARY,     /* op a: + - ! ~ * & ++ -- */
  NODE_POSTFIX,   /* a op: ++ -- */
  NODE_BINARY,    /* a op b, also && || and the comma */
  NODE_ASSIGN,    /* a op b */
  NODE_CONDITION, /* a ? b : c */
  NODE_CAST,      /* (type) a */
  NODE_SIZEOF,    /* of type, or of a */
  NODE_LIST,      /* { list a } */
  /* statements */
  NODE_BLOCK,    /* list a */
  NODE_VARIABLE, /* type name = a; a declaration of several is a list of them in NODE_DECLARE */
  NODE_DECLARE,  /* list a */
  NODE_TYPEDEF,
  NODE_CONSTANT, /* name = a, of an enum; b: the constant before it */
  NODE_IF,       /* if (a) b else c */
  NODE_FOR,      /* for (a; b; c) d */
  NODE_RETURN,   /* a, or NULL */
  NODE_BREAK,
  NODE_CONTINUE,
  NODE_EXPRESSION, /* a */
  NODE_EMPTY
} NodeKind;

struct Node {
  uint8_t kind; /* NodeKind */
  bool is_shared, is_static;
  uint8_t suffix; /* of numbers, as in KernelToken */
  uint16_t op;    /* KernelPunctuator */
  bool is_unrolled;
  uint32_t line;
  const char *name;
  const TypeSyntax *type;
  const Argument *arguments;
  Node *a, *b, *c, *d;
  Node *next; /* in a list */
  uint64_t integer;
  double real;
};

typedef struct TemplateParameter {
  struct TemplateParameter *next;
  const char *name;
  bool is_type;
  const TypeSyntax *type; /* of a number */
} TemplateParameter;

typedef enum DeclarationKind {
  DECLARES_TYPE,     /* type */
  DECLARES_STRUCT,   /* members: variables, typedefs and static constants */
  DECLARES_CONSTANT, /* node: NODE_CONSTANT, or NODE_VARIABLE of a static const */
  DECLARES_FUNCTION  /* type is that of the result */
} DeclarationKind;

struct Declaration {
  Declaration *next; /* of the same name, the first one first */
  uint8_t kind;
  bool is_template, is_kernel;
  uint32_t line;
  const char *name;
  const TemplateParameter *parameters; /* of a template */
  const Argument *specialised;         /* template <> struct X<these> */
  const TypeSyntax *type;
  const Node *node;
  const Node *members, *alignment; /* of a struct */
  const Node *inputs;              /* of a function: NODE_VARIABLE */
  const Node *body, *threads;
  uint32_t nodes; /* of the body, about */
};

/* The declarations of a source by name. */
typedef struct Syntax {
  KernelArena *arena;
  KernelTokens *tokens;
  struct SyntaxSlot {
    const char *name; /* NULL: free */
    Declaration *first;
  } * slots;
  uint32_t slot_count, used;
} Syntax;

/* The first declaration of a name, or NULL. */
Declaration *burn__syntax_find(const Syntax *syntax, const char *name);

/* Reads the tokens; escapes where they make no sense. */
void burn__syntax_read(Syntax *syntax);

/* -- between the files of the parser ---------------------------------------------------------- */

enum { MAX_TYPE_NAMES = 512, MAX_DEPTH = 400, MAX_STARS = 8, MAX_OVERLOADS = 1000 };

typedef struct Parser {
  Syntax *syntax;
  KernelArena *arena;
  const KernelToken *at;
  uint32_t depth;  /* of what nests, so that a hostile source does not use up the stack */
  uint32_t nodes;  /* that were made */
  bool no_greater; /* within the arguments of a template */
  uint32_t type_count;
  const char *types[MAX_TYPE_NAMES]; /* names that are types here, the innermost last */
} Parser;

bool burn__parser_is(const Parser *parser, KernelPunctuator punctuator);
bool burn__parser_is_word(const Parser *parser, const char *word);
bool burn__parser_take(Parser *parser, KernelPunctuator punctuator);
bool burn__parser_take_word(Parser *parser, const char *word);
void burn__parser_want(Parser *parser, KernelPunctuator punctuator);
const char *burn__parser_name(Parser *parser);
void burn__parser_add_type(Parser *parser, const char *name);
bool burn__parser_is_type(const Parser *parser);
void burn__parser_enter(Parser *parser); /* one level deeper */
Node *burn__parser_node(Parser *parser, NodeKind kind);

const TypeSyntax *burn__parse_type(Parser *parser);       /* with its stars, without a declarator */
const TypeSyntax *burn__parse_plain_type(Parser *parser); /* without stars */
const Argument *burn__parse_arguments(Parser *parser);
/* "*name[3]" after a base type; *name is NULL where there is none. */
const TypeSyntax *burn__parse_declarator(Parser *parser, const TypeSyntax *base, const char **name);
Node *burn__parse_expression(Parser *parser);
Node *burn__parse_assignment(Parser *parser); /* without a comma */
Node *burn__parse_initializer(Parser *parser);
Node *burn__parse_block(Parser *parser);
Node *burn__parse_enum(Parser *parser); /* a list of NODE_CONSTANT */
Node *burn__parse_typedef(Parser *parser);
Node *burn__parse_variables(Parser *parser, bool is_static);

#endif
