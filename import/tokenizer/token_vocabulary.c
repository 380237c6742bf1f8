/* token_vocabulary.c - texts and their numbers.
 *
 * The trie is made level by level from the sorted texts. A node is where texts part or one ends; the bytes on the way
 * to it are compared with a text below it. So there are at most two nodes for a text, however long what texts share is,
 * and children of a node lie side by side. */
#include "token_vocabulary.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 1024 };

static BurnStatus no_memory(size_t count) {
  return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a vocabulary of %zu tokens", count);
}

static bool id_room(TokenVocabulary *vocabulary, size_t count) {
  size_t room = vocabulary->id_room > 0 ? vocabulary->id_room : FIRST_ROOM;
  while (room < count) room *= 2;
  if (room > vocabulary->id_room) {
    uint32_t *begins = realloc(vocabulary->begins, room * sizeof *begins);
    if (begins != NULL) vocabulary->begins = begins;
    uint32_t *lengths = begins != NULL ? realloc(vocabulary->lengths, room * sizeof *lengths) : NULL;
    if (lengths == NULL) return false;
    vocabulary->lengths = lengths;
    vocabulary->id_room = room;
  }
  for (; vocabulary->count < count; vocabulary->count++) vocabulary->begins[vocabulary->count] = UINT32_MAX;
  return true;
}

static bool text_room(TokenVocabulary *vocabulary, size_t more) {
  size_t room = vocabulary->room > 0 ? vocabulary->room : FIRST_ROOM;
  if (more >= UINT32_MAX - vocabulary->used) return false;
  while (room - vocabulary->used < more) room *= 2;
  char *bytes = room > vocabulary->room ? realloc(vocabulary->bytes, room) : vocabulary->bytes;
  if (bytes == NULL) return false;
  vocabulary->bytes = bytes;
  vocabulary->room = room;
  return true;
}

BurnStatus burn__vocabulary_set(TokenVocabulary *vocabulary, uint64_t id, const char *text, size_t length) {
  if (id >= TOKEN_LIMIT)
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "a token has the number %llu, less than %d expected",
                            (unsigned long long)id, TOKEN_LIMIT);
  if (id >= vocabulary->count && !id_room(vocabulary, (size_t)id + 1)) return no_memory((size_t)id);
  if (!text_room(vocabulary, length + 1)) return no_memory(vocabulary->count);
  vocabulary->begins[id] = (uint32_t)vocabulary->used;
  vocabulary->lengths[id] = (uint32_t)length;
  if (length > 0) memcpy(vocabulary->bytes + vocabulary->used, text, length);
  vocabulary->bytes[vocabulary->used + length] = '\0';
  vocabulary->used += length + 1;
  return BURN_OK;
}

/* -- the trie --------------------------------------------------------------------------------- */

/* A text to be sorted. */
typedef struct Entry {
  const char *text;
  uint32_t length;
  int32_t id;
} Entry;

static int compare_entries(const void *a, const void *b) {
  const Entry *left = a, *right = b;
  const size_t both = left->length < right->length ? left->length : right->length;
  const int order = memcmp(left->text, right->text, both);
  if (order != 0) return order;
  if (left->length != right->length) return left->length < right->length ? -1 : 1;
  return left->id < right->id ? -1 : 1;
}

/* Sorted texts, each once. */
static Entry *sorted_entries(const TokenVocabulary *vocabulary, size_t *count) {
  size_t there = 0, used = 0, kept = 0;
  for (size_t i = 0; i < vocabulary->count; i++) there += vocabulary->begins[i] != UINT32_MAX;
  Entry *entries = malloc((there + 1) * sizeof *entries);
  for (size_t i = 0; entries != NULL && i < vocabulary->count; i++) {
    size_t length = 0;
    const char *text = burn__vocabulary_text(vocabulary, (int64_t)i, &length);
    if (length > 0) entries[used++] = (Entry){text, (uint32_t)length, (int32_t)i};
  }
  if (entries != NULL) qsort(entries, used, sizeof *entries, compare_entries);
  for (size_t i = 0; i < used; i++) {
    const bool again = kept > 0 && entries[kept - 1].length == entries[i].length &&
                       memcmp(entries[kept - 1].text, entries[i].text, entries[i].length) == 0;
    entries[again ? kept - 1 : kept++] = entries[i];
  }
  *count = kept;
  return entries;
}

/* The entries below a node, of which `depth` bytes are known to be the same. */
typedef struct Range {
  uint32_t begin, end, depth;
} Range;

typedef struct Build {
  TokenVocabulary *vocabulary;
  Range *ranges; /* of each node */
  size_t room;
} Build;

static bool add_node(Build *build, uint8_t byte, Range range) {
  TokenVocabulary *vocabulary = build->vocabulary;
  if (vocabulary->node_count == build->room) {
    const size_t room = build->room > 0 ? 2 * build->room : FIRST_ROOM;
    TokenTrieNode *nodes = realloc(vocabulary->nodes, room * sizeof *nodes);
    if (nodes != NULL) vocabulary->nodes = nodes;
    Range *ranges = nodes != NULL ? realloc(build->ranges, room * sizeof *ranges) : NULL;
    if (ranges == NULL) return false;
    build->ranges = ranges;
    build->room = room;
  }
  vocabulary->nodes[vocabulary->node_count] = (TokenTrieNode){.byte = byte, .below = -1, .id = -1};
  build->ranges[vocabulary->node_count++] = range;
  return true;
}

/* Bytes that two texts, of which `depth` are known to be the same, begin with. */
static uint32_t common_bytes(const Entry *first, const Entry *last, uint32_t depth) {
  const uint32_t both = first->length < last->length ? first->length : last->length;
  while (depth < both && first->text[depth] == last->text[depth]) depth++;
  return depth;
}

/* The children of a node, a range of entries per next byte. All begin as the first and the last of them do. */
static bool expand(Build *build, size_t index, const Entry *entries) {
  TokenVocabulary *vocabulary = build->vocabulary;
  Range range = build->ranges[index];
  TokenTrieNode *node = &vocabulary->nodes[index];
  if (index > 0) {
    const Entry *first = &entries[range.begin];
    range.depth = common_bytes(first, &entries[range.end - 1], range.depth);
    node->depth = range.depth;
    node->below = first->id;
    if (first->length == range.depth) {
      node->id = first->id;
      range.begin++;
    }
  }
  node->children = (uint32_t)vocabulary->node_count;
  for (uint32_t i = range.begin; i < range.end;) {
    const uint8_t byte = (uint8_t)entries[i].text[range.depth];
    uint32_t end = i + 1;
    while (end < range.end && (uint8_t)entries[end].text[range.depth] == byte) end++;
    if (!add_node(build, byte, (Range){i, end, range.depth + 1})) return false;
    vocabulary->nodes[index].count++;
    i = end;
  }
  return true;
}

BurnStatus burn__vocabulary_finish(TokenVocabulary *vocabulary) {
  size_t count = 0;
  Entry *entries = sorted_entries(vocabulary, &count);
  Build build = {vocabulary, NULL, 0};
  bool made = entries != NULL && add_node(&build, 0, (Range){0, (uint32_t)count, 0});
  for (size_t i = 0; made && i < vocabulary->node_count; i++) made = expand(&build, i, entries);
  free(entries);
  free(build.ranges);
  return made ? BURN_OK : no_memory(vocabulary->count);
}

void burn__vocabulary_release(TokenVocabulary *vocabulary) {
  free(vocabulary->bytes);
  free(vocabulary->begins);
  free(vocabulary->lengths);
  free(vocabulary->nodes);
  *vocabulary = (TokenVocabulary){.bytes = NULL};
}

/* -- searching -------------------------------------------------------------------------------- */

/* The child that a byte leads to; 0, which is the root, if there is none. */
static uint32_t child_of(const TokenVocabulary *vocabulary, const TokenTrieNode *node, uint8_t byte) {
  uint32_t low = node->children, high = node->children + node->count;
  const uint32_t end = high;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (vocabulary->nodes[middle].byte < byte)
      low = middle + 1;
    else
      high = middle;
  }
  return low < end && vocabulary->nodes[low].byte == byte ? low : 0;
}

/* Whether the text has all bytes of the node, of which `depth` are known. */
static bool has_bytes(const TokenVocabulary *vocabulary, const TokenTrieNode *node, const char *text, size_t length,
                      size_t depth) {
  if (node->depth > length) return false;
  if (node->depth == depth) return true;
  const char *below = vocabulary->bytes + vocabulary->begins[node->below];
  return memcmp(text + depth, below + depth, node->depth - depth) == 0;
}

size_t burn__vocabulary_next(const TokenVocabulary *vocabulary, TokenSearch *search, const char *text, size_t length,
                             int32_t *id) {
  while (!search->is_over && search->depth < length && vocabulary->node_count > 0) {
    search->node = child_of(vocabulary, &vocabulary->nodes[search->node], (uint8_t)text[search->depth]);
    if (search->node == 0) break;
    const TokenTrieNode *node = &vocabulary->nodes[search->node];
    if (!has_bytes(vocabulary, node, text, length, search->depth + 1)) break;
    search->depth = node->depth;
    search->is_over = node->count == 0;
    if (node->id < 0) continue;
    *id = node->id;
    return node->depth;
  }
  search->is_over = true;
  return 0;
}

int32_t burn__vocabulary_find(const TokenVocabulary *vocabulary, const char *text, size_t length) {
  TokenSearch search = {0, 0, false};
  int32_t id = -1;
  for (size_t found = 1; found > 0;) {
    found = burn__vocabulary_next(vocabulary, &search, text, length, &id);
    if (found == length && found > 0) return id;
  }
  return -1;
}

size_t burn__vocabulary_longest(const TokenVocabulary *vocabulary, const char *text, size_t length, int32_t *id) {
  TokenSearch search = {0, 0, false};
  int32_t seen = -1;
  size_t longest = 0;
  for (size_t found = burn__vocabulary_next(vocabulary, &search, text, length, &seen); found > 0;
       found = burn__vocabulary_next(vocabulary, &search, text, length, &seen)) {
    if (!burn__is_boundary(text, length, found)) continue;
    longest = found;
    *id = seen;
  }
  return longest;
}
