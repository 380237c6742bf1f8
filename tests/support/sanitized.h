/* sanitized.h - defines SANITIZED in builds whose malloc belongs to a sanitizer. */
#ifndef BURN_TEST_SANITIZED_H
#define BURN_TEST_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED_LEAKS 1
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#endif
