/* abi.h - version of the plugin ABI and the few macros every other header needs.
 *
 * Rules for everything in this folder: C99 and C++-clean; only fixed-width integers, pointers and double cross the
 * boundary (no enum, bool, long, size_t, bit field, varargs or returned struct); every struct that may grow starts with
 * its size, and grows only at its end. The reasons stand in plugin-api/README.md.
 *
 * With BURN_NO_INLINE defined there are no function bodies, only declarations in plain C99, for tools that translate
 * headers into other languages (bindgen, cffi). Enums have names for them; fields that hold such a number are uint32_t
 * all the same, because the size of an enum is the compiler's business. */
#ifndef BURN_PLUGIN_ABI_H
#define BURN_PLUGIN_ABI_H

#include <stddef.h>
#include <stdint.h>
#if !defined(BURN_NO_INLINE)
#include <string.h>
#endif

/* The version of these headers. The major is part of the entry symbol's name. A host serves plugins that target
 * BURN_ABI_OLDEST_MINOR .. BURN_ABI_MINOR. */
#define BURN_ABI_MAJOR 0u
#define BURN_ABI_MINOR 6u
#define BURN_ABI_OLDEST_MINOR 4u

/* The oldest host that a plugin wants to run on, by its minor; the plugin keeps to the meanings of that version. Define
 * it before the first include (burn_add_plugin of CMake: TARGET_MINOR) to build with newer headers for older hosts.
 * What came after it is then not declared, so that nothing can be used by accident that such a host does not have. */
#if !defined(BURN_TARGET_MINOR)
#define BURN_TARGET_MINOR BURN_ABI_MINOR
#endif
#if BURN_TARGET_MINOR < 4 || BURN_TARGET_MINOR > 6 /* BURN_ABI_OLDEST_MINOR .. BURN_ABI_MINOR */
#error "BURN_TARGET_MINOR is outside what these headers can target, 4 to 6 (BURN_ABI_OLDEST_MINOR to BURN_ABI_MINOR)"
#endif

/* BURN_SINCE_4(x) is x where the target has it, else nothing; one for every minor. */
#define BURN_SINCE_4(...) __VA_ARGS__
#if BURN_TARGET_MINOR >= 5
#define BURN_SINCE_5(...) __VA_ARGS__
#else
#define BURN_SINCE_5(...)
#endif
#if BURN_TARGET_MINOR >= 6
#define BURN_SINCE_6(...) __VA_ARGS__
#else
#define BURN_SINCE_6(...)
#endif

/* Structs that start with `struct_size` grow at their end, each new member inside `#if BURN_TARGET_MINOR >= N`. Whoever
 * gets one from the other side of the boundary may read a member only if it lies within struct_size: members of the
 * struct's first version always do (the least size of each, BURN_..._MIN_BYTES, is checked once), for later ones ask
 * BURN_HAS. */
#define BURN_BYTES_THROUGH(Type, member) ((uint32_t)(offsetof(Type, member) + sizeof(((Type *)0)->member)))
#define BURN_HAS(pointer, Type, member) ((pointer)->struct_size >= BURN_BYTES_THROUGH(Type, member))

/* Calling convention of every function pointer of the ABI. */
#if defined(_WIN32) && !defined(_WIN64)
#define BURN_API_CALL __cdecl
#else
#define BURN_API_CALL
#endif

/* Marks the one symbol a plugin exports. */
#if defined(_WIN32)
#define BURN_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define BURN_EXPORT __attribute__((visibility("default")))
#else
#define BURN_EXPORT
#endif

/* C linkage where C++ includes a header: for one declaration, or between begin and end. */
#ifdef __cplusplus
#define BURN_EXTERN_C extern "C"
#define BURN_EXTERN_C_BEGIN extern "C" {
#define BURN_EXTERN_C_END }
#else
#define BURN_EXTERN_C
#define BURN_EXTERN_C_BEGIN
#define BURN_EXTERN_C_END
#endif

/* Most axes a tensor can have; fixed for the life of a major. */
#define BURN_MAX_RANK 8u

/* Most inputs and outputs of an op with a fixed arity (list ops such as cat take any number of inputs), and most
 * attributes; fixed for the life of a major. */
#define BURN_MAX_FIXED_INPUTS 16u
#define BURN_MAX_OUTPUTS 8u
#define BURN_MAX_ATTRS 32u

#if !defined(BURN_NO_INLINE)
/* Copies a struct that starts with its size into one of `to_bytes`, whose struct_size becomes the number of bytes that
 * came across; the rest is zero. So a struct of older or newer headers can be used as if it were of these. */
static inline void burn_struct_copy(void *to, uint32_t to_bytes, const void *from) {
  uint32_t from_bytes;
  memcpy(&from_bytes, from, sizeof from_bytes);
  if (from_bytes > to_bytes) from_bytes = to_bytes;
  memset(to, 0, to_bytes);
  memcpy(to, from, from_bytes);
  memcpy(to, &from_bytes, sizeof from_bytes);
}
#endif

/* The head of an extension: a struct that hangs on a call by its `next` and says more about it. Whoever knows the name
 * reads it as the struct of that name; everybody else passes the chain on unread. Names are "burn.*", or those of a
 * plugin with its name in front. Borrowed like the call. The layout of this head is frozen. No extension is defined
 * yet. */
typedef struct BurnExtension {
  uint32_t struct_size; /* of the whole struct */
  uint32_t reserved;
  const char *name;
  const struct BurnExtension *next; /* NULL: the last */
} BurnExtension;

#if !defined(BURN_NO_INLINE)
/* The extension of a name in a chain, or NULL. */
static inline const BurnExtension *burn_extension_find(const BurnExtension *chain, const char *name) {
  while (chain && strcmp(chain->name, name) != 0) chain = chain->next;
  return chain;
}
#endif

#endif
