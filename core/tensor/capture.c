/* capture.c - regions: from a device to the level of its stack that queues calls (burn/plugin/fusion_statistics.h). */
#include "plugin_internal.h"

#include <burn/capture.h>
#include <burn/plugin/fusion_statistics.h>

#include <stdio.h>

/* Decorators above fusion wrap its tensors, or look on; the calls of a region reach it through all of them. */
static BurnStatus find_fusion(const BurnDevice *device, const char *function, BurnInterface *out) {
  for (const BurnInstance *level = device->top; level; level = level->next) {
    if (!burn__backend_ask(&level->backend, BURN_FUSION_INTERFACE, out)) continue;
    const BurnFusionInterface *fusion = out->table;
    if (BURN_HAS(fusion, BurnFusionInterface, capture_end) && fusion->capture_begin && fusion->capture_end)
      return BURN_OK;
    return BURN_FAIL(UNIMPLEMENTED, "%s: '%s' has no regions; a newer one has", function, level->plugin->name);
  }
  return BURN_FAIL(FAILED_PRECONDITION,
                   "%s: the stack '%s' has nothing that queues calls; put fusion on it, above the backend: fusion<..>",
                   function, burn_device_name(device));
}

static void tell(const BurnFusionRegion *region, BurnCaptureReport *report) {
  BurnCaptureReport all = {.struct_size = (uint32_t)sizeof all,
                           .outcome = region->outcome,
                           .parts = region->parts,
                           .calls = region->calls,
                           .launches = region->launches,
                           .replays = region->replays};
  (void)snprintf(all.reason, sizeof all.reason, "%s", region->reason);
  const uint32_t bytes = report->struct_size;
  burn_struct_copy(report, bytes, &all);
  report->struct_size = bytes;
}

BurnStatus burn_capture_begin(BurnDevice *device) {
  BurnInterface found = {NULL, NULL};
  BurnStatus status = burn__device_status(device);
  if (status != BURN_OK) return status;
  if (!burn__work_enter()) return burn__fork_failure();
  status = find_fusion(device, "capture_begin", &found);
  if (status == BURN_OK) status = ((const BurnFusionInterface *)found.table)->capture_begin(found.self);
  burn__work_leave();
  return status;
}

BurnStatus burn_capture_end(BurnDevice *device, BurnCaptureReport *report) {
  BurnInterface found = {NULL, NULL};
  BurnFusionRegion region = {.struct_size = (uint32_t)sizeof region};
  BurnStatus status = burn__device_status(device);
  if (status != BURN_OK) return status;
  if (!burn__work_enter()) return burn__fork_failure();
  status = find_fusion(device, "capture_end", &found);
  if (status == BURN_OK) status = ((const BurnFusionInterface *)found.table)->capture_end(found.self, &region);
  burn__work_leave();
  if (status == BURN_OK && report) tell(&region, report);
  return status;
}
