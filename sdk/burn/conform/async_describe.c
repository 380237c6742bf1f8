/* async_describe.c - cases of the check "async" about the table of "burn.device" and what the device says of itself. */
#include "async.h"

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

/* Bytes of the UTF-8 character there; 0 if it is none, an overlong form or a surrogate. */
static uint32_t utf8_character(const unsigned char *at) {
  static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
  if (*at < 0x80) return 1;
  if (*at < 0xC2 || *at > 0xF4) return 0;
  const uint32_t more = *at < 0xE0 ? 1 : *at < 0xF0 ? 2 : 3;
  uint32_t code = *at & (0x3Fu >> more);
  for (uint32_t i = 1; i <= more; i++) {
    if ((at[i] & 0xC0) != 0x80) return 0; /* the terminating zero as well */
    code = code << 6 | (at[i] & 0x3Fu);
  }
  return code < least[more] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000) ? 0 : more + 1;
}

static const char *text_is_good(const char *text, size_t bytes, const char *name) {
  if (!memchr(text, '\0', bytes))
    return async_fault("describe: %s has no terminating zero within its %zu bytes: '%.*s..'", name, bytes, 20, text);
  const unsigned char *at = (const unsigned char *)text;
  while (*at) {
    const uint32_t length = utf8_character(at);
    if (length == 0)
      return async_fault("describe: %s is no UTF-8: its byte %zu is 0x%02x", name, (size_t)((const char *)at - text),
                         (unsigned)*at);
    at += length;
  }
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
