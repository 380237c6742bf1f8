/* kernel_macro.c - macros: their definition, the arguments of calls, and what is read in place of them. As in C, an
 * argument is expanded before it is put in, except beside # and ##; what comes out is read again, and the macro's own
 * name in it stays. */
#include "kernel_pieces.h"

#include <string.h>

/* -- reading ---------------------------------------------------------------------------------- */

static bool push(KernelReader *reader, const KernelPiece *pieces, size_t count, KernelMacro *macro, bool has_space) {
  if (reader->depth == KERNEL_DEPTH)
    return burn__kernel_fail(reader, "macros lie deeper than %d in each other", KERNEL_DEPTH);
  const KernelPiece *end = count > 0 ? pieces + count : pieces; /* of nothing, which may be NULL */
  reader->contexts[reader->depth++] = (KernelContext){pieces, end, macro, true, has_space};
  if (macro) macro->is_busy = true;
  return true;
}

static void pop(KernelReader *reader) {
  KernelMacro *macro = reader->contexts[--reader->depth].macro;
  if (macro) macro->is_busy = false;
}

static void take_of(KernelReader *reader, KernelContext *context, KernelPiece *out) {
  *out = *context->at++;
  out->line = reader->line;
  if (context->is_fresh)
    out->flags = (uint8_t)((out->flags & ~PIECE_AFTER_SPACE) | (context->has_space ? PIECE_AFTER_SPACE : 0));
  context->is_fresh = false;
  if (out->kind == PIECE_NAME && out->name->macro && out->name->macro->is_busy) out->flags |= PIECE_IS_PAINTED;
}

void burn__kernel_next_raw(KernelReader *reader, KernelPiece *out) {
  if (++reader->steps > KERNEL_STEPS)
    (void)burn__kernel_fail(reader, "macros make more than %d words and signs", KERNEL_STEPS);
  while (!reader->has_failed && reader->depth > reader->base) {
    KernelContext *top = &reader->contexts[reader->depth - 1];
    if (top->at < top->end) {
      take_of(reader, top, out);
      return;
    }
    pop(reader);
  }
  *out = (KernelPiece){.kind = PIECE_END, .line = reader->line};
  if (!reader->has_failed && !reader->is_closed) burn__kernel_scan(reader, out);
}

/* Whether a parenthesis is next, which is then read. */
static bool opens_call(KernelReader *reader) {
  KernelPiece piece;
  while (reader->depth > reader->base) {
    KernelContext *top = &reader->contexts[reader->depth - 1];
    if (top->at < top->end) return burn__kernel_is(top->at, KERNEL_PAREN_OPEN) && top->at++;
    pop(reader);
  }
  if (reader->is_closed) return false;
  const KernelScanner before = reader->scanner;
  const uint32_t line = reader->line;
  burn__kernel_scan(reader, &piece);
  if (burn__kernel_is(&piece, KERNEL_PAREN_OPEN)) return true;
  if (!reader->has_failed) reader->scanner = before;
  reader->line = line;
  return false;
}

/* -- arguments -------------------------------------------------------------------------------- */

typedef struct Argument {
  size_t first, count; /* of the pieces of the call */
  KernelPieces expanded;
  bool is_expanded;
} Argument;

typedef struct Call {
  KernelReader *reader;
  KernelMacro *macro;
  KernelName *name;
  KernelPieces pieces; /* of all arguments, as they are written */
  Argument *arguments;
  uint32_t count;
} Call;

static bool begin_argument(Call *call) {
  const uint32_t most = call->macro->parameter_count;
  if (call->count == (most ? most : 1))
    return burn__kernel_fail(call->reader, "%s takes %u arguments and is given more", call->name->text, most);
  call->arguments[call->count++] = (Argument){.first = call->pieces.count};
  return true;
}

/* A piece of an argument, or the comma after it. */
static bool take_piece(Call *call, KernelPiece *piece, uint32_t nesting) {
  const KernelMacro *macro = call->macro;
  const bool is_rest = macro->is_variadic && call->count == macro->parameter_count;
  if (burn__kernel_is(piece, KERNEL_COMMA) && nesting == 0 && !is_rest) return begin_argument(call);
  if (burn__kernel_is(piece, KERNEL_HASH) && (piece->flags & PIECE_BEGINS_LINE))
    return burn__kernel_fail(call->reader, "a directive lies within the arguments of %s", call->name->text);
  piece->flags &= (uint8_t)~PIECE_BEGINS_LINE;
  call->arguments[call->count - 1].count++;
  return burn__kernel_append(call->reader, &call->pieces, piece);
}

static bool check_count(Call *call) {
  const uint32_t needed = call->macro->parameter_count;
  const bool is_empty = call->count == 1 && call->pieces.count == 0;
  if (call->count == needed) return true;
  if (needed == 0 && is_empty) return true;
  if (call->macro->is_variadic && call->count + 1 == needed) {
    call->arguments[call->count++] = (Argument){.first = call->pieces.count};
    return true;
  }
  return burn__kernel_fail(call->reader, "%s takes %u arguments and is given %u", call->name->text, needed,
                           needed == 0 || is_empty ? (uint32_t)!is_empty : call->count);
}

/* Up to the parenthesis that closes the call. Messages and what comes of it have the line where it begins. */
static bool read_arguments(Call *call) {
  KernelReader *reader = call->reader;
  const uint32_t line = reader->line;
  KernelPiece piece;
  call->arguments = burn__kernel_take(reader, (call->macro->parameter_count + 1) * sizeof *call->arguments);
  if (!call->arguments || !begin_argument(call)) return false;
  for (uint32_t nesting = 0;;) {
    burn__kernel_next_raw(reader, &piece);
    if (piece.kind == PIECE_END) {
      reader->line = line;
      return burn__kernel_fail(reader, "the call of %s is not closed", call->name->text);
    }
    if (burn__kernel_is(&piece, KERNEL_PAREN_CLOSE) && nesting-- == 0) break;
    if (burn__kernel_is(&piece, KERNEL_PAREN_OPEN)) nesting++;
    if (!take_piece(call, &piece, nesting)) return false;
  }
  reader->line = line;
  return check_count(call);
}

/* Expands an argument by itself: what follows the call is not looked at. */
static bool expand(Call *call, Argument *argument) {
  KernelReader *reader = call->reader;
  const uint32_t base = reader->base;
  const bool was_closed = reader->is_closed;
  KernelPiece piece;
  if (argument->is_expanded) return true;
  reader->base = reader->depth;
  reader->is_closed = true;
  argument->is_expanded = true;
  bool fine = argument->count == 0 || push(reader, call->pieces.at + argument->first, argument->count, NULL, false);
  while (fine) {
    burn__kernel_next(reader, &piece);
    if (piece.kind == PIECE_END) break;
    fine = burn__kernel_append(reader, &argument->expanded, &piece);
  }
  reader->base = base;
  reader->is_closed = was_closed;
  return !reader->has_failed;
}

/* -- # and ## --------------------------------------------------------------------------------- */

static void put_quoted(char **to, const KernelPiece *piece) {
  const bool escapes = piece->kind == PIECE_STRING || piece->kind == PIECE_CHARACTER;
  for (uint32_t i = 0; i < piece->length; i++) {
    if (escapes && (piece->text[i] == '"' || piece->text[i] == '\\')) *(*to)++ = '\\';
    *(*to)++ = piece->text[i];
  }
}

/* An argument as a string. */
static bool quote(Call *call, const Argument *argument, KernelPiece *out) {
  const KernelPiece *pieces = argument->count ? call->pieces.at + argument->first : NULL;
  size_t bytes = 3;
  for (size_t i = 0; i < argument->count; i++) bytes += 2 * (size_t)pieces[i].length + 1;
  char *text = burn__kernel_take(call->reader, bytes), *to = text;
  if (!text) return false;
  *to++ = '"';
  for (size_t i = 0; i < argument->count; i++) {
    if (i > 0 && (pieces[i].flags & PIECE_AFTER_SPACE)) *to++ = ' ';
    put_quoted(&to, &pieces[i]);
  }
  *to++ = '"';
  *out = (KernelPiece){.text = text, .length = (uint32_t)(to - text), .kind = PIECE_STRING};
  return true;
}

/* left ## right, in left. */
static bool paste(KernelReader *reader, KernelPiece *left, const KernelPiece *right) {
  const KernelScanner before = reader->scanner;
  const uint8_t space = left->flags & PIECE_AFTER_SPACE;
  const uint32_t line = reader->line;
  if (right->kind == PIECE_NOTHING) return true;
  if (left->kind == PIECE_NOTHING) {
    *left = *right;
    return true;
  }
  const size_t bytes = (size_t)left->length + right->length;
  char *text = burn__kernel_take(reader, bytes + 1);
  if (!text) return false;
  memcpy(text, left->text, left->length);
  memcpy(text + left->length, right->text, right->length);
  text[bytes] = '\0';
  reader->scanner = (KernelScanner){.at = text, .line = line, .in_directive = true};
  burn__kernel_scan(reader, left);
  if (reader->has_failed) return false;
  reader->scanner = before;
  if (left->kind == PIECE_END || left->kind == PIECE_OTHER || left->length != bytes)
    return burn__kernel_fail(reader, "## makes \"%.60s\", which is not one token", text);
  left->flags = space;
  return true;
}

/* -- what stands for a call ------------------------------------------------------------------- */

static bool append_all(KernelReader *reader, KernelPieces *out, const KernelPiece *pieces, size_t count,
                       uint8_t space) {
  for (size_t i = 0; i < count; i++) {
    KernelPiece piece = pieces[i];
    if (i == 0) piece.flags = (uint8_t)((piece.flags & ~PIECE_AFTER_SPACE) | space);
    if (!burn__kernel_append(reader, out, &piece)) return false;
  }
  return true;
}

/* A piece of the body. Beside ## an argument comes as it is written. */
static bool put_in(Call *call, const KernelPiece *piece, bool is_pasted, KernelPieces *out) {
  static const KernelPiece nothing = {.kind = PIECE_NOTHING};
  const uint8_t space = piece->flags & PIECE_AFTER_SPACE;
  KernelReader *reader = call->reader;
  if (piece->kind != PIECE_PARAMETER) return append_all(reader, out, piece, 1, space);
  Argument *argument = &call->arguments[piece->index];
  if (piece->flags & PIECE_IS_QUOTED) {
    KernelPiece string;
    return quote(call, argument, &string) && append_all(reader, out, &string, 1, space);
  }
  if (!is_pasted && !(piece->flags & PIECE_IS_PASTED))
    return expand(call, argument) && append_all(reader, out, argument->expanded.at, argument->expanded.count, space);
  if (argument->count == 0) return burn__kernel_append(reader, out, &nothing);
  return append_all(reader, out, call->pieces.at + argument->first, argument->count, space);
}

/* `, ## __VA_ARGS__`: without arguments the comma goes, with some there is nothing to paste. */
static bool is_rest_after_comma(const Call *call, const KernelPiece *piece, const KernelPieces *out) {
  return call->macro->is_variadic && piece->kind == PIECE_PARAMETER &&
         piece->index + 1u == call->macro->parameter_count && !(piece->flags & PIECE_IS_QUOTED) && out->count > 0 &&
         burn__kernel_is(&out->at[out->count - 1], KERNEL_COMMA);
}

static bool substitute(Call *call, KernelPieces *out) {
  bool is_pasted = false;
  for (uint32_t i = 0; i < call->macro->count; i++) {
    const KernelPiece *piece = &call->macro->body[i];
    const bool is_rest = is_pasted && is_rest_after_comma(call, piece, out);
    const size_t before = out->count;
    if (is_rest && call->arguments[piece->index].count == 0) out->at[before - 1].kind = PIECE_NOTHING;
    if (!put_in(call, piece, is_pasted && !is_rest, out)) return false;
    if (is_pasted && !is_rest) {
      if (!paste(call->reader, &out->at[before - 1], &out->at[before])) return false;
      memmove(out->at + before, out->at + before + 1, (--out->count - before) * sizeof *out->at);
    }
    is_pasted = (piece->flags & PIECE_IS_PASTED) != 0;
  }
  size_t kept = 0;
  for (size_t i = 0; i < out->count; i++)
    if (out->at[i].kind != PIECE_NOTHING) {
      out->at[kept] = out->at[i];
      out->at[kept++].flags &= PIECE_AFTER_SPACE | PIECE_IS_PAINTED;
    }
  out->count = kept;
  return true;
}

/* Puts what stands for a name before what is read. */
static bool enter(KernelReader *reader, const KernelPiece *name) {
  KernelMacro *macro = name->name->macro;
  const bool has_space = (name->flags & PIECE_AFTER_SPACE) != 0;
  Call call = {.reader = reader, .macro = macro, .name = name->name};
  KernelPieces out = {0};
  if (macro->is_plain) return push(reader, macro->body, macro->count, macro, has_space);
  if (macro->has_parentheses && !read_arguments(&call)) return false;
  return substitute(&call, &out) && push(reader, out.at, out.count, macro, has_space);
}

void burn__kernel_next(KernelReader *reader, KernelPiece *out) {
  for (;;) {
    burn__kernel_next_raw(reader, out);
    if (out->kind != PIECE_NAME || !out->name->macro || (out->flags & PIECE_IS_PAINTED)) return;
    if (out->name->macro->has_parentheses && !opens_call(reader)) return;
    if (!enter(reader, out)) {
      *out = (KernelPiece){.kind = PIECE_END, .line = reader->line};
      return;
    }
  }
}

/* -- #define ---------------------------------------------------------------------------------- */

typedef struct Definition {
  KernelReader *reader;
  const char *name;
  const KernelName *parameters[KERNEL_PARAMETERS];
  KernelMacro macro;
  KernelPieces body;
} Definition;

static bool add_parameter(Definition *definition, const KernelPiece *piece) {
  KernelMacro *macro = &definition->macro;
  KernelReader *reader = definition->reader;
  macro->is_variadic = burn__kernel_is(piece, KERNEL_ELLIPSIS);
  const KernelName *name = macro->is_variadic ? burn__kernel_name(reader, "__VA_ARGS__", 11) : piece->name;
  if (!name || (!macro->is_variadic && piece->kind != PIECE_NAME))
    return burn__kernel_fail(reader, "#define %s: a parameter is not a name", definition->name);
  for (uint32_t i = 0; i < macro->parameter_count; i++)
    if (definition->parameters[i] == name)
      return burn__kernel_fail(reader, "#define %s: two parameters are called %s", definition->name, name->text);
  if (macro->parameter_count == KERNEL_PARAMETERS)
    return burn__kernel_fail(reader, "#define %s: more than %d parameters", definition->name, KERNEL_PARAMETERS);
  definition->parameters[macro->parameter_count++] = name;
  return true;
}

/* After the parenthesis that opens, up to the one that closes. */
static bool read_parameters(Definition *definition) {
  KernelReader *reader = definition->reader;
  KernelPiece piece;
  definition->macro.has_parentheses = true;
  burn__kernel_scan(reader, &piece);
  if (burn__kernel_is(&piece, KERNEL_PAREN_CLOSE)) return true;
  for (;;) {
    if (!add_parameter(definition, &piece)) return false;
    burn__kernel_scan(reader, &piece);
    if (burn__kernel_is(&piece, KERNEL_PAREN_CLOSE)) return true;
    if (definition->macro.is_variadic || !burn__kernel_is(&piece, KERNEL_COMMA))
      return burn__kernel_fail(reader, "#define %s: the parameters are not closed", definition->name);
    burn__kernel_scan(reader, &piece);
  }
}

static void name_parameter(const Definition *definition, KernelPiece *piece) {
  if (piece->kind != PIECE_NAME) return;
  for (uint32_t i = 0; i < definition->macro.parameter_count; i++)
    if (definition->parameters[i] == piece->name) {
      piece->kind = PIECE_PARAMETER;
      piece->index = (uint16_t)i;
      return;
    }
}

/* The rest of the line; # and ## become flags of their neighbours. */
static bool read_body(Definition *definition, KernelPiece *piece) {
  KernelReader *reader = definition->reader;
  KernelPieces *body = &definition->body;
  for (bool is_after_paste = false;; burn__kernel_scan(reader, piece)) {
    const bool is_end = piece->kind == PIECE_END, is_paste = burn__kernel_is(piece, KERNEL_HASH_HASH);
    if (is_after_paste ? is_end || is_paste : is_paste && body->count == 0)
      return burn__kernel_fail(reader, "#define %s: ## stands at an end", definition->name);
    if (is_end) return !reader->has_failed;
    is_after_paste = is_paste;
    if (is_paste) {
      body->at[body->count - 1].flags |= PIECE_IS_PASTED;
      continue;
    }
    const bool is_quote = definition->macro.has_parentheses && burn__kernel_is(piece, KERNEL_HASH);
    const uint8_t space = piece->flags & PIECE_AFTER_SPACE;
    if (is_quote) burn__kernel_scan(reader, piece);
    name_parameter(definition, piece);
    if (is_quote && piece->kind != PIECE_PARAMETER)
      return burn__kernel_fail(reader, "#define %s: # stands before no parameter", definition->name);
    piece->flags = (uint8_t)(space | (is_quote ? PIECE_IS_QUOTED : 0));
    if (!burn__kernel_append(reader, body, piece)) return false;
  }
}

static bool is_plain(const Definition *definition) {
  if (definition->macro.has_parentheses) return false;
  for (size_t i = 0; i < definition->body.count; i++)
    if (definition->body.at[i].flags & PIECE_IS_PASTED) return false;
  return true;
}

/* A macro that is defined already is another from here on, as the CUDA compiler has it. */
void burn__kernel_define(KernelReader *reader) {
  KernelPiece name, piece;
  burn__kernel_scan(reader, &name);
  if (name.kind != PIECE_NAME || name.name->text == reader->defined || name.name->text == reader->variable) {
    (void)burn__kernel_fail(reader, "#define needs a name");
    return;
  }
  Definition definition = {.reader = reader, .name = name.name->text};
  burn__kernel_scan(reader, &piece);
  if (burn__kernel_is(&piece, KERNEL_PAREN_OPEN) && !(piece.flags & PIECE_AFTER_SPACE)) {
    if (!read_parameters(&definition)) return;
    burn__kernel_scan(reader, &piece);
  }
  if (!read_body(&definition, &piece)) return;
  KernelMacro *macro = burn__kernel_take(reader, sizeof *macro);
  if (!macro) return;
  *macro = definition.macro;
  macro->body = definition.body.at;
  macro->count = (uint32_t)definition.body.count;
  macro->is_plain = is_plain(&definition);
  name.name->macro = macro;
}

bool burn__kernel_define_as_1(KernelReader *reader, const char *text) {
  static const KernelPiece one = {.text = "1", .length = 1, .kind = PIECE_NUMBER};
  KernelName *name = burn__kernel_name(reader, text, strlen(text));
  KernelMacro *macro = burn__kernel_take(reader, sizeof *macro);
  if (!name || !macro) return false;
  *macro = (KernelMacro){.body = &one, .count = 1, .is_plain = true};
  name->macro = macro;
  return true;
}
