/* kernel_pieces.h - between the files of the preprocessor (kernel_tokens.h): pieces of a source before they are tokens,
 * macros, and the reader that both come from.
 *
 *   kernel_tokens.c      memory, names, pieces as tokens
 *   kernel_scan.c        the characters of a source as pieces
 *   kernel_macro.c       macros: definition, arguments, expansion
 *   kernel_condition.c   expressions of #if
 *   kernel_directive.c   lines that begin with #
 *
 * The first failure is the one that is reported. After it every read gives PIECE_END, so loops end and need no
 * checks. */
#ifndef BURN_VULKAN_KERNEL_PIECES_H
#define BURN_VULKAN_KERNEL_PIECES_H

#include "kernel_tokens.h"

#include <stdbool.h>

/* What a source may ask for. */
enum {
  KERNEL_SOURCE_BYTES = 16 << 20,
  KERNEL_MEMORY_BYTES = 256 << 20,
  KERNEL_STEPS = 1 << 24, /* pieces read, with those that macros make */
  KERNEL_TOKENS = 1 << 20,
  KERNEL_NAME_BYTES = 1000,
  KERNEL_NUMBER_BYTES = 200,
  KERNEL_PARAMETERS = 127, /* of a macro */
  KERNEL_DEPTH = 200,      /* of macros in macros, of #if in #if, of parentheses in a condition */
};

typedef enum PieceKind {
  PIECE_END, /* of the source, of a directive's line, of an argument */
  PIECE_NAME,
  PIECE_NUMBER,
  PIECE_STRING,    /* with its quotes */
  PIECE_CHARACTER, /* 'c' */
  PIECE_PUNCTUATOR,
  PIECE_OTHER,     /* a character that begins nothing */
  PIECE_PARAMETER, /* in the body of a macro */
  PIECE_NOTHING,   /* an argument without pieces beside ## */
} PieceKind;

enum {
  PIECE_AFTER_SPACE = 1,
  PIECE_BEGINS_LINE = 2,
  PIECE_IS_PAINTED = 4, /* the name of a macro within that macro, never expanded again */
  PIECE_IS_PASTED = 8,  /* in a body: ## follows */
  PIECE_IS_QUOTED = 16, /* in a body: # stands before it */
};

typedef struct KernelMacro KernelMacro;

typedef struct KernelName {
  KernelMacro *macro;
  uint32_t hash, length;
  char text[];
} KernelName;

typedef struct KernelPiece {
  const char *text;
  uint32_t length, line;
  uint8_t kind, flags;
  uint16_t index;   /* of a punctuator: KernelPunctuator; of a parameter: which */
  KernelName *name; /* of names */
} KernelPiece;

typedef struct KernelPieces {
  KernelPiece *at;
  size_t count, room;
} KernelPieces;

struct KernelMacro {
  const KernelPiece *body;
  uint32_t count, parameter_count; /* with __VA_ARGS__ */
  bool has_parentheses, is_variadic;
  bool is_plain; /* its body stands as it is: no parameters, no ## */
  bool is_busy;  /* its pieces are being read */
};

typedef struct KernelScanner {
  const char *at;
  uint32_t line;
  bool in_directive; /* a line's end is the end */
  uint8_t flags;     /* of the next piece */
} KernelScanner;

/* Pieces that are read before the source: of a macro, or of an argument (no macro). */
typedef struct KernelContext {
  const KernelPiece *at, *end;
  KernelMacro *macro;
  bool is_fresh, has_space;
} KernelContext;

typedef struct KernelGroup {
  uint32_t line; /* of its #if */
  bool has_else;
} KernelGroup;

typedef struct KernelReader {
  KernelTokens *tokens;
  KernelScanner scanner;
  KernelContext contexts[KERNEL_DEPTH];
  KernelGroup groups[KERNEL_DEPTH]; /* #if that are open */
  uint32_t depth, base;             /* contexts, and those that are not read now */
  bool is_closed;                   /* nothing is read beyond `base` */
  bool has_failed;
  uint32_t group_count, steps;
  uint32_t line;                                     /* of what was read last, for messages and for what macros make */
  uint8_t first[128], next[KERNEL_PUNCTUATOR_COUNT]; /* punctuators by their first character, plus 1 */
  const char *defined, *pragma, *variable;           /* names: defined, _Pragma, __VA_ARGS__ */
  char *why;
  size_t why_bytes;
} KernelReader;

/* -- kernel_tokens.c -------------------------------------------------------------------------- */

/* "line 12: .."; only the first counts. Returns false. */
#if defined(__MINGW32__)
__attribute__((format(gnu_printf, 2, 3)))
#elif defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
bool burn__kernel_fail(KernelReader *reader, const char *format, ...);
void *burn__kernel_take(KernelReader *reader, size_t bytes); /* lives as long as the tokens; NULL: has failed */
KernelName *burn__kernel_name(KernelReader *reader, const char *text, size_t length); /* NULL: has failed */
bool burn__kernel_append(KernelReader *reader, KernelPieces *pieces, const KernelPiece *piece);
bool burn__kernel_add(KernelReader *reader, const KernelToken *token);
bool burn__kernel_number(KernelReader *reader, const KernelPiece *piece, KernelToken *out);

/* -- kernel_scan.c ---------------------------------------------------------------------------- */

void burn__kernel_scan_begin(KernelReader *reader);
char *burn__kernel_join_lines(KernelReader *reader, const char *source, size_t bytes); /* NULL: has failed */
void burn__kernel_scan(KernelReader *reader, KernelPiece *out);
/* To the next # that begins a line, after it; false: there is none. */
bool burn__kernel_skip_to_directive(KernelReader *reader);

static inline bool burn__kernel_is(const KernelPiece *piece, KernelPunctuator punctuator) {
  return piece->kind == PIECE_PUNCTUATOR && piece->index == punctuator;
}

/* -- kernel_macro.c --------------------------------------------------------------------------- */

void burn__kernel_define(KernelReader *reader); /* the rest of the line of #define */
bool burn__kernel_define_as_1(KernelReader *reader, const char *name);
void burn__kernel_next_raw(KernelReader *reader, KernelPiece *out); /* without expansion */
void burn__kernel_next(KernelReader *reader, KernelPiece *out);

/* -- kernel_condition.c ----------------------------------------------------------------------- */

bool burn__kernel_condition(KernelReader *reader);                                /* the rest of the line of #if */
uint64_t burn__kernel_evaluate(KernelReader *reader, const KernelPieces *pieces); /* expanded; ends with PIECE_END */

/* -- kernel_directive.c ----------------------------------------------------------------------- */

void burn__kernel_directive(KernelReader *reader);       /* after the # of a line */
void burn__kernel_pragma(KernelReader *reader);          /* the rest of its line */
void burn__kernel_pragma_operator(KernelReader *reader); /* after _Pragma */

#endif
