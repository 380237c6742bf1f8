/* seen_decorator.c - a decorator that leaves everything to the level below and keeps the last calls that came through
 * it, for decorator_forward_test. The interface "seen.calls" hands them out. */
#include "seen_decorator.h"
#include "decorator_entry.h"

#include <burn/plugin/fusion_statistics.h>

typedef struct Seen {
  const BurnHost *host;
  const BurnBackend *next;
  SeenCalls calls;
} Seen;

static BurnStatus BURN_API_CALL seen_submit(void *self, const BurnOpCall *call) {
  Seen *seen = self;
  if (seen->calls.count < SEEN_MAX) {
    seen->calls.calls[seen->calls.count++] = (SeenCall){call->op, call->origin, call->flags, call->donate, call->next};
  }
  return seen->host->invoke(seen->next, call);
}

static int32_t BURN_API_CALL seen_get_interface(void *self, const char *name, uint32_t min_version,
                                                BurnInterface *out) {
  Seen *seen = self;
  if (seen->calls.fusion && strcmp(name, BURN_FUSION_INTERFACE) == 0) {
    *out = (BurnInterface){seen->calls.fusion, seen};
    return 1;
  }
  if (strcmp(name, SEEN_INTERFACE) != 0) return seen->next->get_interface(seen->next->self, name, min_version, out);
  *out = (BurnInterface){&seen->calls, seen};
  return 1;
}

static void BURN_API_CALL seen_close(void *self) {
  Seen *seen = self;
  seen->host->free(seen, sizeof *seen);
}

static BurnStatus BURN_API_CALL seen_open(const BurnHost *host, const BurnBackend *next, const BurnOptions *options,
                                          uint32_t owner, BurnBackend *out) {
  const BurnStatus checked = burn_plugin_check_open(host, out, PLUGIN_NAME);
  (void)options;
  (void)owner;
  if (checked != BURN_OK) return checked;
  Seen *seen = host->allocate(sizeof *seen);
  if (!seen) return host->fail(BURN_STATUS_OUT_OF_MEMORY, __FILE__, __LINE__, PLUGIN_NAME ": no memory");
  *seen = (Seen){.host = host, .next = next};
  out->self = seen;
  out->name = PLUGIN_NAME;
  out->submit = seen_submit;
  out->get_interface = seen_get_interface;
  out->close = seen_close;
  return BURN_OK;
}

TEST_DECORATOR(seen_open, "keeps the calls that pass")
