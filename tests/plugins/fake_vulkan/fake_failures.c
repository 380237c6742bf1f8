/* fake_failures.c - the n-th call fails: BURN_FAKE_VULKAN_FAIL=17, 17+ (and all after it), vkAllocateMemory:3,
 * vkQueueSubmit2:1+; with BURN_FAKE_VULKAN_RESULT. */
#include "fake_vulkan.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Which call, and how. */
typedef struct Failure {
  char name[64]; /* "": of all */
  int number;    /* 0: none */
  bool and_after;
  VkResult result;
} Failure;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static Failure failure;
static bool is_read;
static int all_calls, named_calls;

/* -- what is asked for ------------------------------------------------------------------------ */

#define RESULTS(X)                  \
  X(VK_TIMEOUT)                     \
  X(VK_INCOMPLETE)                  \
  X(VK_ERROR_OUT_OF_HOST_MEMORY)    \
  X(VK_ERROR_OUT_OF_DEVICE_MEMORY)  \
  X(VK_ERROR_INITIALIZATION_FAILED) \
  X(VK_ERROR_DEVICE_LOST)           \
  X(VK_ERROR_MEMORY_MAP_FAILED)     \
  X(VK_ERROR_UNKNOWN)               \
  X(VK_ERROR_EXTENSION_NOT_PRESENT) \
  X(VK_ERROR_FEATURE_NOT_PRESENT)   \
  X(VK_ERROR_INCOMPATIBLE_DRIVER)   \
  X(VK_ERROR_TOO_MANY_OBJECTS)

/* By its name; VK_ERROR_OUT_OF_DEVICE_MEMORY where none is given. */
static VkResult result_of(const char *name) {
#define RESULT(result) \
  if (name && strcmp(name, #result) == 0) return result;
  RESULTS(RESULT)
  if (name && name[0]) fake_complain("BURN_FAKE_VULKAN_RESULT=%s is not known", name);
  return VK_ERROR_OUT_OF_DEVICE_MEMORY;
}

/* With the mutex. */
static void read_failure(const char *which, const char *result) {
  const char *colon = which ? strchr(which, ':') : NULL;
  const char *number = colon ? colon + 1 : which;
  failure = (Failure){.result = result_of(result)};
  is_read = true;
  if (!which || !which[0]) return;
  if (colon) (void)snprintf(failure.name, sizeof failure.name, "%.*s", (int)(colon - which), which);
  failure.number = atoi(number);
  failure.and_after = strchr(number, '+') != NULL;
  if (failure.number <= 0) fake_complain("BURN_FAKE_VULKAN_FAIL=%s is not a call", which);
}

void fake_vulkan_fail(const char *which, const char *result) {
  (void)pthread_mutex_lock(&mutex);
  read_failure(which, result);
  all_calls = named_calls = 0;
  (void)pthread_mutex_unlock(&mutex);
}

int fake_vulkan_calls(void) {
  (void)pthread_mutex_lock(&mutex);
  const int count = all_calls;
  (void)pthread_mutex_unlock(&mutex);
  return count;
}

/* With the mutex. */
static void read_once(void) {
  if (!is_read) read_failure(getenv("BURN_FAKE_VULKAN_FAIL"), getenv("BURN_FAKE_VULKAN_RESULT"));
}

VkResult fake_result(void) {
  (void)pthread_mutex_lock(&mutex);
  read_once();
  const VkResult result = failure.result;
  (void)pthread_mutex_unlock(&mutex);
  return result;
}

/* -- counting --------------------------------------------------------------------------------- */

/* With the mutex. */
static bool is_its_turn(const char *name) {
  all_calls++;
  if (failure.name[0] && strcmp(failure.name, name) != 0) return false;
  named_calls++;
  return failure.number > 0 && (failure.and_after ? named_calls >= failure.number : named_calls == failure.number);
}

VkResult fake_next(const char *name, const void *handle) {
  (void)pthread_mutex_lock(&mutex);
  read_once();
  const bool fails = is_its_turn(name);
  const VkResult result = failure.result;
  (void)pthread_mutex_unlock(&mutex);
  fake_note(name, handle);
  if (fake_is_lost(handle)) return VK_ERROR_DEVICE_LOST;
  if (!fails) return VK_SUCCESS;
  if (getenv("BURN_FAKE_VULKAN_SAY")) (void)fprintf(stderr, "%s is failed\n", name);
  if (result == VK_ERROR_DEVICE_LOST) fake_lose(handle);
  if (result == VK_TIMEOUT) fake_time_out();
  return result;
}
