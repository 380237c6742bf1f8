/* token_decode.c - tokens to texts, all at once or one after the other; the tokenizer as one for loaders. */
#include "tokenizer_private.h"

#include "token_unicode.h"

#include <stdlib.h>
#include <string.h>

/* The texts of the tokens, each ended. */
static BurnStatus take_tokens(const BurnTextTokenizer *tokenizer, const int64_t *ids, size_t count, bool skip_special,
                              TokenParts *parts) {
  for (size_t i = 0; i < count && parts->status == BURN_OK; i++) {
    size_t length = 0;
    const char *text = burn__tokenizer_text(tokenizer, ids[i], &length);
    if (text == NULL)
      return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "tokenizer: token %zu is %lld, none of the %zu that there are",
                              i, (long long)ids[i], burn_text_tokenizer_vocabulary(tokenizer));
    if (skip_special && burn_text_tokenizer_is_special(tokenizer, ids[i])) continue;
    if (tokenizer->unknown_surface != NULL && ids[i] == tokenizer->model.unknown) {
      text = tokenizer->unknown_surface;
      length = strlen(text);
    }
    if (tokenizer->joins_with_spaces && parts->used > 0) burn__parts_put(parts, " ", 1, 0, 0);
    burn__parts_put(parts, text, length, 0, 0);
    burn__parts_end(parts);
  }
  return parts->status;
}

BurnStatus burn_text_tokenizer_decode(const BurnTextTokenizer *tokenizer, const int64_t *ids, size_t count,
                                      bool skip_special, char **text, size_t *length) {
  if (tokenizer == NULL) return burn__no_tokenizer();
  TokenParts parts = {.status = BURN_OK}, spare = {.status = BURN_OK}, valid = {.status = BURN_OK};
  BurnStatus status = take_tokens(tokenizer, ids, count, skip_special, &parts);
  if (status == BURN_OK) status = burn__steps_decode(&tokenizer->decoders, &parts, &spare);
  if (status == BURN_OK) burn__parts_take_text(&valid, parts.used > 0 ? parts.bytes : "", parts.used);
  if (status == BURN_OK) status = valid.status;
  char *made = status == BURN_OK ? malloc(valid.used + 1) : NULL;
  if (status == BURN_OK && made == NULL)
    status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "tokenizer: no memory for %zu bytes", valid.used);
  if (status == BURN_OK) {
    if (valid.used > 0) memcpy(made, valid.bytes, valid.used);
    made[valid.used] = '\0';
    *text = made;
    *length = valid.used;
  }
  burn__parts_release(&parts);
  burn__parts_release(&spare);
  burn__parts_release(&valid);
  return status;
}

/* -- one after the other ---------------------------------------------------------------------- */

static bool ends_within_character(const char *text, size_t length) {
  return length >= 3 && memcmp(text + length - 3, "\xef\xbf\xbd", 3) == 0;
}

/* The text of tokens `first` on; `rest` tokens of it are needed for what follows. Older ones are dropped. */
static void forget(BurnDecodeStream *stream) {
  const size_t kept = stream->tokens.count - stream->first;
  memmove(stream->tokens.ids, stream->tokens.ids + stream->first, kept * sizeof *stream->tokens.ids);
  stream->tokens.count = kept;
  stream->first = kept;
}

/* The text that the tokens had before the last, and the one that they have now: what is new is given. Spaces at the
 * beginning depend on the token before, so one piece of text stays in front. */
BurnStatus burn_decode_stream_next(const BurnTextTokenizer *tokenizer, BurnDecodeStream *stream, int64_t id,
                                   char **text, size_t *length) {
  char *before = NULL, *now = NULL;
  size_t before_length = 0, now_length = 0;
  BurnStatus status = burn_token_list_add(&stream->tokens, id);
  if (status != BURN_OK) return status;
  status = burn_text_tokenizer_decode(tokenizer, stream->tokens.ids, stream->first, true, &before, &before_length);
  if (status == BURN_OK)
    status = burn_text_tokenizer_decode(tokenizer, stream->tokens.ids, stream->tokens.count, true, &now, &now_length);
  free(before);
  if (status != BURN_OK) {
    stream->tokens.count--;
    return status;
  }
  const bool waits = now_length <= before_length || ends_within_character(now, now_length);
  const size_t added = waits ? 0 : now_length - before_length;
  memmove(now, now + (waits ? 0 : before_length), added);
  now[added] = '\0';
  *text = now;
  *length = added;
  if (!waits) forget(stream);
  return BURN_OK;
}

void burn_decode_stream_release(BurnDecodeStream *stream) {
  if (!stream) return;
  burn_token_list_release(&stream->tokens);
  *stream = (BurnDecodeStream){.first = 0};
}

/* -- for loaders ------------------------------------------------------------------------------ */

static BurnStatus encode_list(void *context, const char *text, size_t length, BurnTokenList *tokens) {
  BurnEncoding encoding = {.count = 0};
  const BurnEncodeOptions options = {.no_special = true};
  BurnStatus status = burn_text_tokenizer_encode(context, text, length, &options, &encoding);
  for (size_t i = 0; i < encoding.count && status == BURN_OK; i++)
    status = burn_token_list_add(tokens, encoding.ids[i]);
  burn_encoding_release(&encoding);
  return status;
}

static const char *token_text(void *context, int64_t id, size_t *length) {
  const char *text = burn_text_tokenizer_token(context, id, length);
  return text != NULL ? text : "";
}

static BurnStatus decode_list(void *context, const int64_t *ids, size_t count, char **text, size_t *length) {
  return burn_text_tokenizer_decode(context, ids, count, true, text, length);
}

static void destroy(void *context) { burn_text_tokenizer_destroy(context); }

BurnTokenizer *burn_text_tokenizer_as_tokenizer(BurnTextTokenizer *tokenizer, BurnStatus *status) {
  if (tokenizer == NULL && status != NULL && *status == BURN_OK) *status = burn__no_tokenizer();
  const BurnTokenizerInterface interface = {.vocabulary = burn_text_tokenizer_vocabulary(tokenizer),
                                            .encode = encode_list,
                                            .token = token_text,
                                            .decode = decode_list,
                                            .destroy = destroy,
                                            .context = tokenizer};
  return burn_tokenizer_create(&interface, status);
}
