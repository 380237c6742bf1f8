/* async_describe.c - cases of the check "async" about the table of "burn.device" and what the device says of itself. */
#include "async.h"

#include <burn/text.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

const char *async_table_is_complete(AsyncSubject *s) {
  const BurnDeviceInterface *t = s->table;
  if (t->version < 1) return async_fault("the table has version %u; the first one is 1", t->version);
  const struct {
    bool there;
    const char *name;
  } slots[] = {{t->describe != NULL, "describe"},          {t->create_async != NULL, "create_async"},
               {t->read_async != NULL, "read_async"},      {t->event_record != NULL, "event_record"},
               {t->event_query != NULL, "event_query"},    {t->event_wait != NULL, "event_wait"},
               {t->event_release != NULL, "event_release"}};
  for (size_t i = 0; i < sizeof slots / sizeof slots[0]; i++) {
    if (!slots[i].there) return async_fault("%s is NULL, and it is not optional", slots[i].name);
  }
  return NULL;
}

static const char *text_is_good(const char *text, size_t bytes, const char *name) {
  if (!memchr(text, '\0', bytes))
    return async_fault("describe: %s has no terminating zero within its %zu bytes: '%.*s..'", name, bytes, 20, text);
  const size_t valid = burn_text_utf8_bytes(text);
  if (text[valid])
    return async_fault("describe: %s is not UTF-8: its byte %zu is 0x%02x", name, valid,
                       (unsigned)(unsigned char)text[valid]);
  return NULL;
}

static const char *description_is_good(const BurnDeviceDescription *about) {
  if (about->struct_size != sizeof *about)
    return async_fault("describe changes struct_size from %zu to %u", sizeof *about, about->struct_size);
  if (about->kind > BURN_DEVICE_KIND_ACCELERATOR) return async_fault("describe: there is no kind %u", about->kind);
  if (about->memory_bytes < 0 || about->free_bytes < 0 ||
      (about->memory_bytes > 0 && about->free_bytes > about->memory_bytes))
    return async_fault("describe: %lld of %lld bytes of memory are free", (long long)about->free_bytes,
                       (long long)about->memory_bytes);
  const char *wrong = text_is_good(about->name, sizeof about->name, "name");
  if (!wrong) wrong = text_is_good(about->driver, sizeof about->driver, "driver");
  if (!wrong) wrong = text_is_good(about->architecture, sizeof about->architecture, "architecture");
  if (!wrong) wrong = text_is_good(about->pci_address, sizeof about->pci_address, "pci_address");
  if (!wrong && !about->name[0]) wrong = async_fault("describe leaves the name empty");
  return wrong;
}

/* A struct of which only the first `size` bytes are the callee's: the bytes after them stay. */
static const char *describe_in(const AsyncSubject *s, size_t size, BurnDeviceDescription *full) {
  enum { TAIL = 64, NOISE = 0xC3 };
  union {
    BurnDeviceDescription about;
    unsigned char bytes[sizeof(BurnDeviceDescription) + TAIL];
  } room;
  memset(room.bytes, NOISE, sizeof room.bytes);
  memset(room.bytes, 0, size);
  room.about.struct_size = (uint32_t)size;
  const char *wrong = async_failed(s->table->describe(s->self, &room.about), "describe");
  for (size_t i = size; i < sizeof room.bytes && !wrong; i++) {
    if (room.bytes[i] != NOISE)
      wrong = async_fault("describe writes byte %zu of a struct whose struct_size is %zu", i, size);
  }
  *full = room.about;
  return wrong;
}

const char *async_describes_itself(AsyncSubject *s) {
  static const size_t sizes[] = {BURN_BYTES_THROUGH(BurnDeviceDescription, kind),
                                 BURN_BYTES_THROUGH(BurnDeviceDescription, free_bytes),
                                 BURN_BYTES_THROUGH(BurnDeviceDescription, pci_address),
                                 BURN_BYTES_THROUGH(BurnDeviceDescription, name), sizeof(BurnDeviceDescription)};
  BurnDeviceDescription about;
  const char *wrong = NULL;
  for (size_t i = sizeof sizes / sizeof sizes[0]; i-- > 0 && !wrong;) {
    wrong = describe_in(s, sizes[i], &about);
    if (!wrong && sizes[i] == sizeof about) wrong = description_is_good(&about);
  }
  return wrong;
}
