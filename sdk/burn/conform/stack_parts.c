/* stack_parts.c - takes stack texts apart: "autodiff<ndarray:isa=avx2>" or "autodiff+ndarray". */
#include "conform.h"

#include <burn/guess.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

bool stack_part(const char *stack, uint32_t i, StackPart *out) {
  const char *at = stack;
  for (; i > 0; i--) {
    at += strcspn(at, "+<>");
    if (*at != '+' && *at != '<') return false;
    at++;
  }
  while (isspace((unsigned char)*at)) at++;
  const size_t length = strcspn(at, "+<>");
  if (length == 0) return false;
  snprintf(out->text, sizeof out->text, "%.*s", (int)length, at);
  size_t name = 0;
  for (; name + 1 < sizeof out->name && (isalnum((unsigned char)at[name]) || at[name] == '_'); name++) {
    out->name[name] = (char)tolower((unsigned char)at[name]);
  }
  out->name[name] = '\0';
  at += length;
  /* Below as a + text, which needs no closing brackets. */
  size_t used = 0;
  if (*at == '+' || *at == '<') {
    for (at++; *at && *at != '>' && used + 1 < sizeof out->below; at++) out->below[used++] = *at == '<' ? '+' : *at;
  }
  out->below[used] = '\0';
  return true;
}

bool stack_is_known(const char *stack) {
  StackPart part;
  for (uint32_t i = 0; stack_part(stack, i, &part); i++) {
    BurnGuess guess = burn_guess(part.name);
    bool is_known = false;
    for (size_t k = 0; k < burn_plugin_count() && !is_known; k++) {
      burn_guess_add(&guess, burn_plugin_info(k)->name);
      is_known = strcmp(burn_plugin_info(k)->name, part.name) == 0;
    }
    if (is_known) continue;
    fprintf(stderr, "burn conform: there is no plugin '%s'.%s 'burn backends' shows those that there are\n", part.name,
            burn_guess_text(&guess));
    return false;
  }
  return true;
}

static const BurnPluginInfo *plugin_named(const char *name) {
  for (size_t i = 0; i < burn_plugin_count(); i++) {
    const BurnPluginInfo *info = burn_plugin_info(i);
    if (info->kind[0] && strcmp(info->name, name) == 0) return info;
  }
  return NULL;
}

static bool is_kind(const BurnPluginInfo *info, const char *kind) { return info && strcmp(info->kind, kind) == 0; }

StackSubject stack_complete(const char *argument, const char *base, char *out, size_t bytes) {
  StackPart part;
  uint32_t last = 0;
  while (stack_part(argument, last + 1, &part)) last++;
  const BurnPluginInfo *info = stack_part(argument, last, &part) ? plugin_named(part.name) : NULL;
  const bool is_pack = last == 0 && is_kind(info, "kernel pack"), needs_base = is_kind(info, "decorator");
  snprintf(out, bytes, needs_base ? "%s+%s" : "%s", is_pack ? base : argument, base);
  if (is_pack || needs_base) return is_pack ? STACK_PACK : STACK_DECORATOR;
  const bool has_first = last > 0 && stack_part(argument, 0, &part);
  return has_first && is_kind(plugin_named(part.name), "kernel pack") ? STACK_UNDER_PACK : STACK_ITSELF;
}
