/* trace_device.c - see trace_device.h. */
#include "trace_device.h"

/* A difference of two times keeps its digits when they are near each other: the origin follows. */
#define ORIGIN_SECONDS 1.0

bool burn__trace_device_open(TraceDevice *device, const BurnBackend *next, TraceDeviceTime tell, void *context) {
  BurnInterface found;
  if (!burn_common_ask(next, BURN_DEVICE_INTERFACE_NAME, &found)) return false;
  const BurnDeviceInterface *table = found.table;
  if (!BURN_HAS(table, BurnDeviceInterface, event_elapsed) || !table->timed_event_record || !table->event_elapsed)
    return false;
  burn_struct_copy(&device->table, sizeof device->table, table);
  device->self = found.self;
  device->tell = tell;
  device->context = context;
  device->origin = burn__trace_device_mark(device);
  if (!device->origin) device->table.struct_size = 0;
  return device->origin != NULL;
}

BurnEvent *burn__trace_device_mark(const TraceDevice *device) {
  BurnEvent *event = NULL;
  if (device->table.struct_size == 0) return NULL;
  const BurnStatus status = device->table.timed_event_record(device->self, &event);
  return status == BURN_OK ? event : NULL;
}

static void release(const TraceDevice *device, BurnEvent *event) { device->table.event_release(device->self, event); }

/* Tells about the oldest call, whose events are done, and ends them. */
static void tell_first(TraceDevice *device) {
  const BurnDeviceInterface *t = &device->table;
  const TracePending done = device->pending[device->first];
  double begin = 0, seconds = 0;
  device->first = (device->first + 1) % TRACE_PENDING;
  device->count--;
  BurnStatus status = t->event_elapsed(device->self, device->origin, done.begin, &begin);
  if (status == BURN_OK) status = t->event_elapsed(device->self, done.begin, done.end, &seconds);
  if (status == BURN_OK) device->tell(device->context, done.op, device->origin_at + begin, seconds);
  release(device, done.end);
  if (status != BURN_OK || begin < ORIGIN_SECONDS) {
    release(device, done.begin);
    return;
  }
  release(device, device->origin);
  device->origin = done.begin;
  device->origin_at += begin;
}

static bool first_is_done(const TraceDevice *device) {
  int32_t done = 0;
  const BurnStatus status = device->table.event_query(device->self, device->pending[device->first].end, &done);
  return status == BURN_OK && done;
}

void burn__trace_device_add(TraceDevice *device, uint32_t op, BurnEvent *begin, BurnEvent *end) {
  if (device->table.struct_size == 0) return;
  while (device->count > 0 && first_is_done(device)) tell_first(device);
  if (!begin || !end || device->count == TRACE_PENDING) {
    release(device, begin);
    release(device, end);
    device->lost++;
    return;
  }
  device->pending[(device->first + device->count++) % TRACE_PENDING] = (TracePending){op, begin, end};
}

void burn__trace_device_close(TraceDevice *device) {
  if (device->table.struct_size == 0) return;
  while (device->count > 0) {
    /* A failure of the device was told to the program; times that are not known are left out. */
    (void)device->table.event_wait(device->self, device->pending[device->first].end);
    tell_first(device);
  }
  release(device, device->origin);
}
