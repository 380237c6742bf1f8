/* fake_memory.c - memory and buffers. New memory is full of 0xff (BURN_FAKE_VULKAN_FILL has another byte) and has a
 * guard past its end, which is looked at when it is freed: what a kernel or the host writes beyond shows. Limits of the
 * pretended device are kept. */
#include "fake_vulkan.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD_BYTES = 65536, GUARD = 0xa5 };

typedef struct Memory {
  struct Memory *next;
  VkDeviceMemory handle;
  uint64_t bytes;
  uint32_t type;
  unsigned char *seen; /* by this library, as long as it lives; NULL where the host sees nothing */
  bool is_mapped;      /* by the program */
  VkBuffer buffer;     /* the last one that was bound to it */
  bool is_copied;      /* a copy used that */
} Memory;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static Memory *memories;
static uint64_t used_bytes;

/* -- the list --------------------------------------------------------------------------------- */

static Memory *find(VkDeviceMemory handle) {
  (void)pthread_mutex_lock(&mutex);
  Memory *memory = memories;
  while (memory && memory->handle != handle) memory = memory->next;
  (void)pthread_mutex_unlock(&mutex);
  return memory;
}

static void add(Memory *memory) {
  (void)pthread_mutex_lock(&mutex);
  memory->next = memories;
  memories = memory;
  used_bytes += memory->bytes;
  (void)pthread_mutex_unlock(&mutex);
}

static void take_out(Memory *memory) {
  (void)pthread_mutex_lock(&mutex);
  Memory **at = &memories;
  while (*at != memory) at = &(*at)->next;
  *at = memory->next;
  used_bytes -= memory->bytes;
  (void)pthread_mutex_unlock(&mutex);
}

uint64_t fake_memory_used(void) {
  (void)pthread_mutex_lock(&mutex);
  const uint64_t bytes = used_bytes;
  (void)pthread_mutex_unlock(&mutex);
  return bytes;
}

/* -- what uses it ----------------------------------------------------------------------------- */

/* With the mutex. */
static Memory *memory_of(VkBuffer buffer) {
  Memory *memory = memories;
  while (memory && memory->buffer != buffer) memory = memory->next;
  return memory;
}

void fake_see_copy(VkBuffer buffer) {
  (void)pthread_mutex_lock(&mutex);
  Memory *memory = memory_of(buffer);
  if (memory) memory->is_copied = true;
  (void)pthread_mutex_unlock(&mutex);
}

bool fake_is_staging(FakeKind kind, uint64_t handle) {
  (void)pthread_mutex_lock(&mutex);
  const Memory *memory = memories;
  while (memory && handle != (kind == FAKE_Buffer ? FAKE_HANDLE(memory->buffer) : FAKE_HANDLE(memory->handle)))
    memory = memory->next;
  const bool is_staging = memory && memory->is_mapped && memory->is_copied;
  (void)pthread_mutex_unlock(&mutex);
  return is_staging;
}

/* -- making and freeing ----------------------------------------------------------------------- */

static bool has_room(const VkMemoryAllocateInfo *info) {
  const FakeDevice *pretended = fake_device();
  if (pretended->allocation > 0 && info->allocationSize > pretended->allocation) return false;
  return pretended->heap == 0 || fake_memory_used() + info->allocationSize <= pretended->heap;
}

/* Fresh memory and its guard. */
static VkResult fill(VkDevice device, Memory *memory) {
  const char *wanted = getenv("BURN_FAKE_VULKAN_FILL");
  const int byte = wanted && wanted[0] ? atoi(wanted) : 0xff;
  void *seen = NULL;
  const VkResult result = fake_real.device.MapMemory(device, memory->handle, 0, VK_WHOLE_SIZE, 0, &seen);
  if (result != VK_SUCCESS) return result;
  memory->seen = seen;
  memset(memory->seen, byte, memory->bytes);
  memset(memory->seen + memory->bytes, GUARD, GUARD_BYTES);
  return VK_SUCCESS;
}

static VkResult VKAPI_CALL allocate(VkDevice device, const VkMemoryAllocateInfo *info, const VkAllocationCallbacks *how,
                                    VkDeviceMemory *out) {
  const FakeType *type = fake_type(info->memoryTypeIndex);
  VkMemoryAllocateInfo changed = *info;
  FAKE_FAILS("AllocateMemory", device);
  if (!type) fake_complain("there is no memory type %u", info->memoryTypeIndex);
  if (!type || !has_room(info)) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  Memory *memory = calloc(1, sizeof *memory);
  if (!memory) return VK_ERROR_OUT_OF_HOST_MEMORY;
  changed.allocationSize += GUARD_BYTES;
  changed.memoryTypeIndex = type->real;
  VkResult result = fake_real.device.AllocateMemory(device, &changed, how, &memory->handle);
  memory->bytes = info->allocationSize;
  memory->type = info->memoryTypeIndex;
  if (result == VK_SUCCESS && type->can_map) result = fill(device, memory);
  if (result != VK_SUCCESS) {
    if (memory->handle) fake_real.device.FreeMemory(device, memory->handle, how);
    free(memory);
    return result;
  }
  *out = memory->handle;
  add(memory);
  fake_made(FAKE_DeviceMemory, FAKE_HANDLE(*out), device);
  return VK_SUCCESS;
}

static void check_guard(const Memory *memory) {
  size_t at = 0;
  while (memory->seen && at < GUARD_BYTES && memory->seen[memory->bytes + at] == GUARD) at++;
  if (memory->seen && at < GUARD_BYTES)
    fake_complain("%zu bytes beyond the end of memory of %llu bytes were written to", at + 1,
                  (unsigned long long)memory->bytes);
}

static void VKAPI_CALL free_memory(VkDevice device, VkDeviceMemory handle, const VkAllocationCallbacks *how) {
  if (!handle || !fake_ends(FAKE_DeviceMemory, FAKE_HANDLE(handle), device)) return;
  Memory *memory = find(handle);
  check_guard(memory);
  take_out(memory);
  fake_real.device.FreeMemory(device, handle, how);
  free(memory);
}

/* -- mapping ---------------------------------------------------------------------------------- */

static VkResult VKAPI_CALL map(VkDevice device, VkDeviceMemory handle, VkDeviceSize offset, VkDeviceSize bytes,
                               VkMemoryMapFlags flags, void **out) {
  (void)flags;
  FAKE_FAILS("MapMemory", device);
  Memory *memory = find(handle);
  if (!memory || memory->is_mapped) fake_complain("memory that is %s is mapped", memory ? "mapped already" : "none");
  if (!memory) return VK_ERROR_MEMORY_MAP_FAILED;
  if (!(fake_type(memory->type)->flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) || !memory->seen) {
    fake_complain("memory of type %u is mapped, which the host does not see", memory->type);
    return VK_ERROR_MEMORY_MAP_FAILED;
  }
  if (offset >= memory->bytes || (bytes != VK_WHOLE_SIZE && bytes > memory->bytes - offset))
    fake_complain("memory is mapped beyond its end");
  memory->is_mapped = true;
  *out = memory->seen + offset;
  return VK_SUCCESS;
}

/* -- buffers ---------------------------------------------------------------------------------- */

static VkResult VKAPI_CALL create_buffer(VkDevice device, const VkBufferCreateInfo *info,
                                         const VkAllocationCallbacks *how, VkBuffer *out) {
  const uint64_t most = fake_device()->buffer;
  FAKE_FAILS("CreateBuffer", device);
  if (info->size == 0 || (most > 0 && info->size > most))
    fake_complain("a buffer of %llu bytes", (unsigned long long)info->size);
  const VkResult result = fake_real.device.CreateBuffer(device, info, how, out);
  if (result == VK_SUCCESS) fake_made(FAKE_Buffer, FAKE_HANDLE(*out), device);
  return result;
}

static void VKAPI_CALL destroy_buffer(VkDevice device, VkBuffer buffer, const VkAllocationCallbacks *how) {
  if (!buffer || !fake_ends(FAKE_Buffer, FAKE_HANDLE(buffer), device)) return;
  fake_real.device.DestroyBuffer(device, buffer, how);
}

/* Any of the types that are shown will do. */
static void VKAPI_CALL get_requirements(VkDevice device, const VkBufferMemoryRequirementsInfo2 *info,
                                        VkMemoryRequirements2 *out) {
  fake_note("vkGetBufferMemoryRequirements2", device);
  fake_real.device.GetBufferMemoryRequirements2(device, info, out);
  uint32_t *bits = &out->memoryRequirements.memoryTypeBits, shown = 0;
  for (uint32_t i = 0; i < fake_type_count(); i++)
    if (*bits >> fake_type(i)->real & 1u) shown |= UINT32_C(1) << i;
  *bits = shown;
}

static VkResult VKAPI_CALL bind(VkDevice device, uint32_t count, const VkBindBufferMemoryInfo *infos) {
  FAKE_FAILS("BindBufferMemory2", device);
  for (uint32_t i = 0; i < count; i++) {
    Memory *memory = find(infos[i].memory);
    if (memory) memory->buffer = infos[i].buffer;
  }
  return fake_real.device.BindBufferMemory2(device, count, infos);
}

/* 0 is its way to fail, and it says nothing of the device. */
static VkDeviceAddress VKAPI_CALL get_address(VkDevice device, const VkBufferDeviceAddressInfo *info) {
  fake_note("vkGetBufferDeviceAddress", device);
  if (fake_next("vkGetBufferDeviceAddress", NULL) != VK_SUCCESS) return 0;
  return fake_real.device.GetBufferDeviceAddress(device, info);
}

void fake_offer_memory(VulkanCalls *calls) {
  calls->AllocateMemory = allocate;
  calls->FreeMemory = free_memory;
  calls->MapMemory = map;
  calls->CreateBuffer = create_buffer;
  calls->DestroyBuffer = destroy_buffer;
  calls->GetBufferMemoryRequirements2 = get_requirements;
  calls->BindBufferMemory2 = bind;
  calls->GetBufferDeviceAddress = get_address;
}
