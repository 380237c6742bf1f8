/* loggers.c - several loggers as one. */
#include <burn/train/logger.h>

static BurnStatus log_to_all(void *context, const BurnLogEntry *entry) {
  const BurnLoggerList *list = *(const BurnLoggerList *const *)&context;
  BurnStatus first = BURN_OK;
  for (size_t i = 0; i < list->count; i++) {
    const BurnLogger *logger = &list->items[i];
    const BurnStatus status = logger->log ? logger->log(logger->context, entry) : BURN_OK;
    if (first == BURN_OK) first = status;
  }
  return first;
}

BurnLogger burn_loggers(const BurnLoggerList *list) { return (BurnLogger){log_to_all, (void *)(uintptr_t)list}; }
