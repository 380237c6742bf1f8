/* kernel_tokens.h - a source in the kernels' language (the CUDA C of the kernels) as tokens, preprocessed.
 *
 * The preprocessor is that of C: macros with and without arguments, `#` and `##`, __VA_ARGS__, conditions of 64-bit
 * integers, #error. There are no files, so #include is an error. `#pragma unroll N` and _Pragma("unroll N") become a
 * token; other pragmas mean nothing here. What a source may ask for has limits, which are errors with words: sources of
 * kernel packs come through here. */
#ifndef BURN_VULKAN_KERNEL_TOKENS_H
#define BURN_VULKAN_KERNEL_TOKENS_H

#include <stddef.h>
#include <stdint.h>

typedef enum KernelTokenKind {
  KERNEL_TOKEN_END,
  KERNEL_TOKEN_NAME, /* keywords are names */
  KERNEL_TOKEN_INTEGER,
  KERNEL_TOKEN_FLOAT,
  KERNEL_TOKEN_STRING,
  KERNEL_TOKEN_PUNCTUATOR,
  KERNEL_TOKEN_UNROLL,
} KernelTokenKind;

/* KERNEL_PUNCTUATOR(KEY, spelling): the longer ones stand before those that they begin with. */
#define KERNEL_PUNCTUATORS(KERNEL_PUNCTUATOR)  \
  KERNEL_PUNCTUATOR(ELLIPSIS, "...")           \
  KERNEL_PUNCTUATOR(SHIFT_LEFT_ASSIGN, "<<=")  \
  KERNEL_PUNCTUATOR(SHIFT_RIGHT_ASSIGN, ">>=") \
  KERNEL_PUNCTUATOR(SHIFT_LEFT, "<<")          \
  KERNEL_PUNCTUATOR(SHIFT_RIGHT, ">>")         \
  KERNEL_PUNCTUATOR(LESS_EQUAL, "<=")          \
  KERNEL_PUNCTUATOR(GREATER_EQUAL, ">=")       \
  KERNEL_PUNCTUATOR(EQUAL, "==")               \
  KERNEL_PUNCTUATOR(NOT_EQUAL, "!=")           \
  KERNEL_PUNCTUATOR(LOGICAL_AND, "&&")         \
  KERNEL_PUNCTUATOR(LOGICAL_OR, "||")          \
  KERNEL_PUNCTUATOR(INCREMENT, "++")           \
  KERNEL_PUNCTUATOR(DECREMENT, "--")           \
  KERNEL_PUNCTUATOR(PLUS_ASSIGN, "+=")         \
  KERNEL_PUNCTUATOR(MINUS_ASSIGN, "-=")        \
  KERNEL_PUNCTUATOR(STAR_ASSIGN, "*=")         \
  KERNEL_PUNCTUATOR(SLASH_ASSIGN, "/=")        \
  KERNEL_PUNCTUATOR(PERCENT_ASSIGN, "%=")      \
  KERNEL_PUNCTUATOR(AND_ASSIGN, "&=")          \
  KERNEL_PUNCTUATOR(OR_ASSIGN, "|=")           \
  KERNEL_PUNCTUATOR(XOR_ASSIGN, "^=")          \
  KERNEL_PUNCTUATOR(ARROW, "->")               \
  KERNEL_PUNCTUATOR(SCOPE, "::")               \
  KERNEL_PUNCTUATOR(HASH_HASH, "##")           \
  KERNEL_PUNCTUATOR(HASH, "#")                 \
  KERNEL_PUNCTUATOR(PAREN_OPEN, "(")           \
  KERNEL_PUNCTUATOR(PAREN_CLOSE, ")")          \
  KERNEL_PUNCTUATOR(BRACKET_OPEN, "[")         \
  KERNEL_PUNCTUATOR(BRACKET_CLOSE, "]")        \
  KERNEL_PUNCTUATOR(BRACE_OPEN, "{")           \
  KERNEL_PUNCTUATOR(BRACE_CLOSE, "}")          \
  KERNEL_PUNCTUATOR(COMMA, ",")                \
  KERNEL_PUNCTUATOR(SEMICOLON, ";")            \
  KERNEL_PUNCTUATOR(DOT, ".")                  \
  KERNEL_PUNCTUATOR(COLON, ":")                \
  KERNEL_PUNCTUATOR(QUESTION, "?")             \
  KERNEL_PUNCTUATOR(ASSIGN, "=")               \
  KERNEL_PUNCTUATOR(LESS, "<")                 \
  KERNEL_PUNCTUATOR(GREATER, ">")              \
  KERNEL_PUNCTUATOR(PLUS, "+")                 \
  KERNEL_PUNCTUATOR(MINUS, "-")                \
  KERNEL_PUNCTUATOR(STAR, "*")                 \
  KERNEL_PUNCTUATOR(SLASH, "/")                \
  KERNEL_PUNCTUATOR(PERCENT, "%")              \
  KERNEL_PUNCTUATOR(AND, "&")                  \
  KERNEL_PUNCTUATOR(OR, "|")                   \
  KERNEL_PUNCTUATOR(XOR, "^")                  \
  KERNEL_PUNCTUATOR(NOT, "!")                  \
  KERNEL_PUNCTUATOR(COMPLEMENT, "~")

typedef enum KernelPunctuator {
#define KERNEL_PUNCTUATOR(KEY, spelling) KERNEL_##KEY,
  KERNEL_PUNCTUATORS(KERNEL_PUNCTUATOR)
#undef KERNEL_PUNCTUATOR
      KERNEL_PUNCTUATOR_COUNT
} KernelPunctuator;

/* KernelToken.suffix. KERNEL_SUFFIX_OTHER_BASE: not decimal, so what does not fit an int may be an unsigned int without
 * a suffix. */
enum { KERNEL_SUFFIX_UNSIGNED = 1, KERNEL_SUFFIX_LONG = 2, KERNEL_SUFFIX_FLOAT = 4, KERNEL_SUFFIX_OTHER_BASE = 8 };

/* One token after preprocessing. */
typedef struct KernelToken {
  uint8_t kind;        /* KernelTokenKind */
  uint8_t suffix;      /* of numbers: KERNEL_SUFFIX_..; LONG is L or LL, 64 bits; FLOAT is f */
  uint16_t punctuator; /* of punctuators: KernelPunctuator */
  uint32_t line;       /* of the source, from 1; what a macro makes lies where it is called */
  const char *name; /* of names and strings (without quotes): equal ones have equal pointers; of UNROLL by a constant */
  uint64_t integer; /* of integers; of UNROLL its number, 0: all, or what `name` says */
  double real;      /* of floats; with KERNEL_SUFFIX_FLOAT rounded once, to f32 */
} KernelToken;

typedef struct KernelTokens KernelTokens; /* owns tokens and names */

/* The tokens of a source in which the names of `defined` (ends with NULL, may be NULL) are 1. NULL with words in
 * `why` ("line 12: #if without #endif"). */
KernelTokens *burn__kernel_tokens(const char *source, const char *const *defined, char *why, size_t why_bytes);

/* Ends with KERNEL_TOKEN_END. */
const KernelToken *burn__kernel_tokens_at(const KernelTokens *tokens);

/* The pointer that tokens of that name have; NULL without memory. */
const char *burn__kernel_intern(KernelTokens *tokens, const char *name);

/* How a punctuator is written. */
const char *burn__kernel_spelling(KernelPunctuator punctuator);

void burn__kernel_tokens_free(KernelTokens *tokens); /* may be NULL */

#endif
