/* kernel_scan.c - the characters of a source as pieces; comments and blanks between them become flags. */
#include "kernel_pieces.h"

#include <string.h>

static const struct {
  const char *text;
  uint8_t length;
} punctuators[] = {
#define KERNEL_PUNCTUATOR(KEY, spelling) {spelling, sizeof spelling - 1},
    KERNEL_PUNCTUATORS(KERNEL_PUNCTUATOR)
#undef KERNEL_PUNCTUATOR
};

const char *burn__kernel_spelling(KernelPunctuator punctuator) {
  return punctuator < KERNEL_PUNCTUATOR_COUNT ? punctuators[punctuator].text : "?";
}

/* Chains of what begins with the same character, in the order of the list. */
void burn__kernel_scan_begin(KernelReader *reader) {
  for (uint32_t i = KERNEL_PUNCTUATOR_COUNT; i-- > 0;) {
    const unsigned char first = (unsigned char)punctuators[i].text[0];
    reader->next[i] = reader->first[first];
    reader->first[first] = (uint8_t)(i + 1);
  }
}

/* -- characters ------------------------------------------------------------------------------- */

enum { LETTER = 1, DIGIT = 2 };

static const uint8_t classes[256] = {
    ['0'] = DIGIT,  ['1'] = DIGIT,  ['2'] = DIGIT,  ['3'] = DIGIT,  ['4'] = DIGIT,  ['5'] = DIGIT,  ['6'] = DIGIT,
    ['7'] = DIGIT,  ['8'] = DIGIT,  ['9'] = DIGIT,  ['a'] = LETTER, ['b'] = LETTER, ['c'] = LETTER, ['d'] = LETTER,
    ['e'] = LETTER, ['f'] = LETTER, ['g'] = LETTER, ['h'] = LETTER, ['i'] = LETTER, ['j'] = LETTER, ['k'] = LETTER,
    ['l'] = LETTER, ['m'] = LETTER, ['n'] = LETTER, ['o'] = LETTER, ['p'] = LETTER, ['q'] = LETTER, ['r'] = LETTER,
    ['s'] = LETTER, ['t'] = LETTER, ['u'] = LETTER, ['v'] = LETTER, ['w'] = LETTER, ['x'] = LETTER, ['y'] = LETTER,
    ['z'] = LETTER, ['A'] = LETTER, ['B'] = LETTER, ['C'] = LETTER, ['D'] = LETTER, ['E'] = LETTER, ['F'] = LETTER,
    ['G'] = LETTER, ['H'] = LETTER, ['I'] = LETTER, ['J'] = LETTER, ['K'] = LETTER, ['L'] = LETTER, ['M'] = LETTER,
    ['N'] = LETTER, ['O'] = LETTER, ['P'] = LETTER, ['Q'] = LETTER, ['R'] = LETTER, ['S'] = LETTER, ['T'] = LETTER,
    ['U'] = LETTER, ['V'] = LETTER, ['W'] = LETTER, ['X'] = LETTER, ['Y'] = LETTER, ['Z'] = LETTER, ['_'] = LETTER,
};

static uint8_t class_of(char c) { return classes[(unsigned char)c]; }

/* Bytes of a backslash at the end of a line, with the end; 0: none is here. */
static size_t joint_at(const char *at) {
  return at[0] != '\\' ? 0 : at[1] == '\n' ? 2 : at[1] == '\r' && at[2] == '\n' ? 3 : 0;
}

/* A copy in which continued lines are one. The ends that go come after it as empty lines, so later ones keep their
 * numbers. */
char *burn__kernel_join_lines(KernelReader *reader, const char *source, size_t bytes) {
  char *text = burn__kernel_take(reader, bytes + 1), *to = text;
  size_t ends = 0, joint = 0;
  if (!text) return NULL;
  for (const char *at = source;;) {
    const size_t plain = strcspn(at, ends > 0 ? "\\\n" : "\\");
    memcpy(to, at, plain);
    at += plain, to += plain;
    if (*at == '\0') break;
    joint = joint_at(at);
    if (joint > 0) {
      at += joint, ends++;
      continue;
    }
    if (*at == '\n')
      for (; ends > 0; ends--) *to++ = '\n';
    *to++ = *at++;
  }
  *to = '\0';
  return text;
}

/* -- between pieces --------------------------------------------------------------------------- */

/* `at` is at its second character. */
static void skip_comment(KernelReader *reader) {
  KernelScanner *scanner = &reader->scanner;
  const uint32_t line = scanner->line;
  const char *at = scanner->at + 1;
  for (; at[0] != '\0' && (at[0] != '*' || at[1] != '/'); at++) scanner->line += *at == '\n';
  scanner->at = at[0] ? at + 2 : at;
  reader->line = line;
  if (!at[0]) (void)burn__kernel_fail(reader, "a comment is not closed");
}

/* Past blanks and comments; the flags of what comes then. */
static uint8_t skip_blanks(KernelReader *reader) {
  KernelScanner *scanner = &reader->scanner;
  uint8_t flags = scanner->flags;
  scanner->flags = 0;
  for (;; flags |= PIECE_AFTER_SPACE) {
    const char c = *scanner->at;
    if (c == '\n') {
      if (scanner->in_directive) return flags;
      flags |= PIECE_BEGINS_LINE;
      scanner->line++;
      scanner->at++;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f') {
      scanner->at++;
    } else if (c == '/' && scanner->at[1] == '/') {
      scanner->at += strcspn(scanner->at, "\n");
    } else if (c == '/' && scanner->at[1] == '*') {
      scanner->at++;
      skip_comment(reader);
    } else {
      return flags;
    }
  }
}

/* -- pieces ----------------------------------------------------------------------------------- */

static size_t name_length(const char *at) {
  size_t length = 1;
  while (class_of(at[length])) length++;
  return length;
}

/* A preprocessing number: whatever looks like one, 0x1p-3 and 1.5e+3f as well as 1x2. */
static size_t number_length(const char *at) {
  size_t length = 1;
  for (;; length++) {
    const char c = at[length], before = (char)(at[length - 1] | 0x20);
    const bool is_sign = (c == '+' || c == '-') && (before == 'p' || (before == 'e' && (at[1] | 0x20) != 'x'));
    if (!class_of(c) && c != '.' && !is_sign) return length;
  }
}

/* Up to the same quote; 0: it is not on this line. */
static size_t string_length(const char *at) {
  for (size_t length = 1; at[length] && at[length] != '\n'; length++) {
    if (at[length] == at[0]) return length + 1;
    if (at[length] == '\\' && at[length + 1] && at[length + 1] != '\n') length++;
  }
  return 0;
}

static void scan_punctuator(const KernelReader *reader, KernelPiece *out) {
  const unsigned char first = (unsigned char)*out->text;
  uint32_t at = first < sizeof reader->first ? reader->first[first] : 0;
  for (; at > 0; at = reader->next[at - 1])
    if (strncmp(out->text, punctuators[at - 1].text, punctuators[at - 1].length) == 0) break;
  out->kind = at > 0 ? PIECE_PUNCTUATOR : PIECE_OTHER;
  out->index = at > 0 ? (uint16_t)(at - 1) : 0;
  out->length = at > 0 ? punctuators[at - 1].length : 1;
}

static void scan_string(KernelPiece *out) {
  const size_t length = string_length(out->text);
  out->kind = length == 0 ? PIECE_OTHER : *out->text == '"' ? PIECE_STRING : PIECE_CHARACTER;
  out->length = length ? (uint32_t)length : 1;
}

void burn__kernel_scan(KernelReader *reader, KernelPiece *out) {
  const uint8_t flags = skip_blanks(reader);
  const char *at = reader->scanner.at;
  *out = (KernelPiece){.text = at, .line = reader->scanner.line, .flags = flags};
  reader->line = reader->scanner.line;
  const uint8_t class = class_of(*at);
  if (class == LETTER) {
    out->kind = PIECE_NAME;
    out->length = (uint32_t)name_length(at);
    out->name = burn__kernel_name(reader, at, out->length);
    if (!out->name) out->kind = PIECE_END;
  } else if (class == DIGIT || (*at == '.' && class_of(at[1]) == DIGIT)) {
    out->kind = PIECE_NUMBER;
    out->length = (uint32_t)number_length(at);
  } else if (*at == '"' || *at == '\'') {
    scan_string(out);
  } else if (*at != '\0' && *at != '\n') {
    scan_punctuator(reader, out);
  }
  reader->scanner.at += reader->has_failed ? 0 : out->length;
}

/* -- what a condition leaves out -------------------------------------------------------------- */

static void skip_line(KernelReader *reader) {
  KernelScanner *scanner = &reader->scanner;
  for (;;) {
    scanner->at += strcspn(scanner->at, "\n/\"");
    if (*scanner->at == '\0' || *scanner->at == '\n') return;
    const size_t string = *scanner->at == '"' ? string_length(scanner->at) : 0;
    const bool is_comment = *scanner->at == '/' && scanner->at[1] == '*';
    if (*scanner->at == '/' && scanner->at[1] == '/') {
      scanner->at += strcspn(scanner->at, "\n");
      return;
    }
    scanner->at += string ? string : 1;
    if (is_comment) skip_comment(reader);
  }
}

bool burn__kernel_skip_to_directive(KernelReader *reader) {
  KernelScanner *scanner = &reader->scanner;
  scanner->in_directive = true; /* blanks end with the line */
  for (;;) {
    skip_line(reader);
    if (*scanner->at == '\0') return false;
    scanner->at++;
    scanner->line++;
    (void)skip_blanks(reader);
    if (*scanner->at != '#') continue;
    scanner->at++;
    return true;
  }
}
