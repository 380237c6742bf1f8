/* kernel_directive.c - lines that begin with #: definitions, conditions, pragmas. */
#include "kernel_pieces.h"

#include <string.h>

/* -- conditions ------------------------------------------------------------------------------- */

static bool is_named(const KernelPiece *piece, const char *name) {
  return piece->kind == PIECE_NAME && strcmp(piece->name->text, name) == 0;
}

static bool is_if(const KernelPiece *piece) {
  return is_named(piece, "if") || is_named(piece, "ifdef") || is_named(piece, "ifndef");
}

/* To the directive that ends a group whose condition is false: its #elif, #else or #endif. */
static void skip_group(KernelReader *reader, KernelPiece *directive) {
  for (uint64_t nesting = 0;;) {
    if (!burn__kernel_skip_to_directive(reader)) {
      *directive = (KernelPiece){.kind = PIECE_END};
      return;
    }
    burn__kernel_scan(reader, directive);
    const bool is_end = is_named(directive, "endif");
    const bool is_other = is_named(directive, "elif") || is_named(directive, "else");
    if (nesting == 0 && (is_end || is_other)) return;
    if (is_if(directive)) nesting++;
    if (is_end) nesting--;
  }
}

static bool enter_else(KernelReader *reader, bool is_else) {
  KernelGroup *group = &reader->groups[reader->group_count - 1];
  if (group->has_else)
    return burn__kernel_fail(reader, "#%s after the #else of line %u", is_else ? "else" : "elif", group->line);
  if (is_else) group->has_else = true;
  return true;
}

/* From a condition that is false to the group that is read, or past #endif. `takes_none`: one has been read. */
static void choose_group(KernelReader *reader, bool takes_none) {
  const uint32_t line = reader->groups[reader->group_count - 1].line;
  KernelPiece directive;
  while (!reader->has_failed) {
    skip_group(reader, &directive);
    if (directive.kind == PIECE_END) { /* told by the end of the source */
      reader->line = line;
      (void)burn__kernel_fail(reader, "#if without #endif");
      return;
    }
    if (is_named(&directive, "endif")) {
      reader->group_count--;
      return;
    }
    const bool is_else = is_named(&directive, "else");
    if (!enter_else(reader, is_else)) return;
    if (!takes_none && (is_else || burn__kernel_condition(reader))) return;
  }
}

static bool is_true(KernelReader *reader, const KernelPiece *directive) {
  KernelPiece name;
  if (is_named(directive, "if")) return burn__kernel_condition(reader);
  burn__kernel_scan(reader, &name);
  if (name.kind != PIECE_NAME) return burn__kernel_fail(reader, "#%s needs a name", directive->name->text);
  return (name.name->macro != NULL) == is_named(directive, "ifdef");
}

static void begin_group(KernelReader *reader, const KernelPiece *directive) {
  if (reader->group_count == KERNEL_DEPTH) {
    (void)burn__kernel_fail(reader, "more than %d #if within each other", KERNEL_DEPTH);
    return;
  }
  reader->groups[reader->group_count++] = (KernelGroup){.line = directive->line};
  if (!is_true(reader, directive)) choose_group(reader, false);
}

static void end_group(KernelReader *reader, const KernelPiece *directive) {
  if (reader->group_count == 0) {
    (void)burn__kernel_fail(reader, "#%s without #if", directive->name->text);
  } else if (is_named(directive, "endif")) {
    reader->group_count--;
  } else if (enter_else(reader, is_named(directive, "else"))) {
    choose_group(reader, true);
  }
}

/* -- pragmas ---------------------------------------------------------------------------------- */

/* Without the parentheses around it: a constant's name stays, other than in a condition. */
static const char *only_name(const KernelPieces *pieces) {
  size_t first = 0, count = pieces->count - 1; /* without the end */
  if (count == 3 && burn__kernel_is(&pieces->at[0], KERNEL_PAREN_OPEN) &&
      burn__kernel_is(&pieces->at[2], KERNEL_PAREN_CLOSE))
    first = count = 1;
  return count == 1 && pieces->at[first].kind == PIECE_NAME ? pieces->at[first].name->text : NULL;
}

void burn__kernel_pragma(KernelReader *reader) {
  KernelToken token = {.kind = KERNEL_TOKEN_UNROLL, .line = reader->line};
  KernelPieces pieces = {0};
  KernelPiece piece;
  burn__kernel_next_raw(reader, &piece);
  if (!is_named(&piece, "unroll")) return;
  do {
    burn__kernel_next(reader, &piece);
    if (!burn__kernel_append(reader, &pieces, &piece)) return;
  } while (piece.kind != PIECE_END);
  token.name = only_name(&pieces);
  if (!token.name && pieces.count > 1) {
    token.integer = burn__kernel_evaluate(reader, &pieces);
    if (token.integer - 1 >= INT32_MAX)
      (void)burn__kernel_fail(reader, "#pragma unroll needs a number from 1 to %d", INT32_MAX);
  }
  (void)burn__kernel_add(reader, &token);
}

/* The text of a string, without quotes and the backslashes that protect them. */
static char *text_of(KernelReader *reader, const KernelPiece *string) {
  char *text = burn__kernel_take(reader, string->length), *to = text;
  if (!text) return NULL;
  for (uint32_t i = 1; i + 1 < string->length; i++) {
    const char next = string->text[i + 1];
    if (string->text[i] == '\\' && (next == '"' || next == '\\')) i++;
    *to++ = string->text[i];
  }
  *to = '\0';
  return text;
}

void burn__kernel_pragma_operator(KernelReader *reader) {
  KernelPiece open, string, close;
  burn__kernel_next(reader, &open);
  burn__kernel_next(reader, &string);
  burn__kernel_next(reader, &close);
  if (!burn__kernel_is(&open, KERNEL_PAREN_OPEN) || string.kind != PIECE_STRING ||
      !burn__kernel_is(&close, KERNEL_PAREN_CLOSE)) {
    (void)burn__kernel_fail(reader, "_Pragma needs a string in parentheses");
    return;
  }
  const KernelScanner before = reader->scanner;
  const uint32_t base = reader->base;
  const char *text = text_of(reader, &string);
  if (!text) return;
  reader->scanner = (KernelScanner){.at = text, .line = reader->line, .in_directive = true};
  reader->base = reader->depth;
  burn__kernel_pragma(reader);
  if (reader->has_failed) return;
  reader->base = base;
  reader->scanner = before;
}

/* -- lines ------------------------------------------------------------------------------------ */

static void undefine(KernelReader *reader) {
  KernelPiece name;
  burn__kernel_scan(reader, &name);
  if (name.kind == PIECE_NAME) {
    name.name->macro = NULL;
  } else {
    (void)burn__kernel_fail(reader, "#undef needs a name");
  }
}

static void tell_error(KernelReader *reader) {
  const char *text = reader->scanner.at + strspn(reader->scanner.at, " \t");
  (void)burn__kernel_fail(reader, "#error %.*s", (int)strcspn(text, "\r\n"), text);
}

static void read_directive(KernelReader *reader) {
  KernelPiece directive;
  burn__kernel_scan(reader, &directive);
  if (directive.kind == PIECE_END) return;
  if (is_named(&directive, "define")) {
    burn__kernel_define(reader);
  } else if (is_named(&directive, "undef")) {
    undefine(reader);
  } else if (is_if(&directive)) {
    begin_group(reader, &directive);
  } else if (is_named(&directive, "elif") || is_named(&directive, "else") || is_named(&directive, "endif")) {
    end_group(reader, &directive);
  } else if (is_named(&directive, "pragma")) {
    burn__kernel_pragma(reader);
  } else if (is_named(&directive, "error")) {
    tell_error(reader);
  } else if (is_named(&directive, "include")) {
    (void)burn__kernel_fail(reader, "#include: a kernel's source has no files");
  } else if (!is_named(&directive, "line") && !is_named(&directive, "warning")) {
    const int length = directive.length < 60 ? (int)directive.length : 60;
    (void)burn__kernel_fail(reader, "#%.*s is not a directive", length, directive.text);
  }
}

/* What is left of its line means nothing, as for other compilers. */
void burn__kernel_directive(KernelReader *reader) {
  KernelPiece rest;
  reader->scanner.in_directive = true;
  read_directive(reader);
  do {
    burn__kernel_scan(reader, &rest);
  } while (rest.kind != PIECE_END && !reader->has_failed);
  reader->scanner.in_directive = false;
}
