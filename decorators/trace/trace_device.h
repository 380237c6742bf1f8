/* trace_device.h - what calls take on the device: events around each, looked at later, so that a traced run waits no
 * more than another. */
#ifndef BURN_TRACE_DEVICE_H
#define BURN_TRACE_DEVICE_H

#include <burn/common/given.h>
#include <burn/plugin/device.h>

#include <stdbool.h>

enum { TRACE_PENDING = 4096 };

/* A call whose events may not be done yet. */
typedef struct TracePending {
  uint32_t op;
  BurnEvent *begin, *end;
} TracePending;

/* Gets the time of a call: when it began, after the device was opened, and how long it took. */
typedef void (*TraceDeviceTime)(void *context, uint32_t op, double begin, double seconds);

/* Not safe for several threads: its owner has a mutex, under which all but burn__trace_device_mark are called. */
typedef struct TraceDevice {
  BurnDeviceInterface table; /* struct_size 0: the level below keeps no times */
  void *self;
  TraceDeviceTime tell;
  void *context;
  BurnEvent *origin; /* begins are counted from here .. */
  double origin_at;  /* .. which is so many seconds after the start */
  TracePending pending[TRACE_PENDING];
  uint32_t first, count;
  uint64_t lost; /* calls without a time, as too many were under way */
} TraceDevice;

/* Looks for a device with times below; false if there is none. */
bool burn__trace_device_open(TraceDevice *device, const BurnBackend *next, TraceDeviceTime tell, void *context);

/* An event at this point of the queue; NULL where there are no times. */
BurnEvent *burn__trace_device_mark(const TraceDevice *device);

/* A call lay between two marks, which are taken. Tells about those that are done. */
void burn__trace_device_add(TraceDevice *device, uint32_t op, BurnEvent *begin, BurnEvent *end);

/* Waits for what is left, tells about it and ends the marks. */
void burn__trace_device_close(TraceDevice *device);

#endif
