/* error.h - statuses and their messages.
 *
 * Values carry errors, verbs report them: functions that return a tensor always return one, failed or not; functions
 * where data leaves or state changes return a BurnStatus. A status is a plain value (see burn/plugin/status.h); nobody
 * frees it.
 *
 * NULL: a handle may be NULL, as where a call before failed: statuses and tensors say so, other results are empty, and
 * functions that end something do nothing. Where a function returns a status or a tensor, or has the status of a chain,
 * the same holds for what its caller fills (configs, descriptions), lists whose count is not 0, callbacks, and places
 * for results that it cannot leave out: INVALID_ARGUMENT, "wav_read: sound is NULL: a BurnWav expected". Functions
 * without a way to tell (void, numbers), and those that a forward pass asks for the value of a BurnParam, BurnBuffer or
 * BurnConstant, trust such pointers, as the C library does: there NULL is undefined, unless they say otherwise. A
 * name that is NULL is one that is found nowhere. */
#ifndef BURN_ERROR_H
#define BURN_ERROR_H

#include <burn/plugin/status.h>

#include <stdbool.h>

BURN_EXTERN_C_BEGIN

/* Marks of declarations: BURN_API what the libraries export, BURN_PRINTF a format and its arguments, BURN_USE_RESULT a
 * result that must not be dropped, BURN_UNUSED what may stay unused, BURN_CHAINS(i) that argument i, a BurnStatus *, is
 * that of a chain. Nothing where the compiler has no such mark.
 *
 * The status of a chain starts as BURN_OK. A function that finds a failure in it does nothing and gives NULL, taking
 * what it takes; its own failure is stored. So calls may follow each other, and one look at the end tells the first
 * that failed. NULL is allowed: nobody wants to know. What could not be made is NULL, and has nothing in it: functions
 * that get it fail and say so. */
#if defined(__GNUC__)
#if defined(_WIN32)
#define BURN_API \
  __declspec(dllexport) /* nothing where the function is only called: a DLL's functions need no mark for that */
#define BURN_PRINTF(text_index, first) __attribute__((format(gnu_printf, text_index, first)))
#else
#define BURN_API __attribute__((visibility("default")))
#define BURN_PRINTF(text_index, first) __attribute__((format(printf, text_index, first)))
#endif
#define BURN_USE_RESULT __attribute__((warn_unused_result))
#define BURN_UNUSED __attribute__((unused))
#else
#define BURN_API
#define BURN_USE_RESULT
#define BURN_PRINTF(text_index, first)
#define BURN_UNUSED
#endif
#if defined(__GNUC__) && __GNUC__ >= 11 && !defined(__clang__) /* which warns of a status that nobody has set */
#define BURN_CHAINS(index) __attribute__((access(read_write, index)))
#else
#define BURN_CHAINS(index)
#endif

/* An unnamed struct value, as either language writes it: BURN_INTERNAL_VALUE(BurnRange, 0, 4, 1). */
#ifdef __cplusplus
#define BURN_INTERNAL_VALUE(Type, ...) (Type{__VA_ARGS__})
#else
#define BURN_INTERNAL_VALUE(Type, ...) ((Type){__VA_ARGS__})
#endif

/* What clang's analyzer is told about ownership (./dev check): BURN_TAKES(i) - argument i is gone after the call;
 * BURN_GIVES - the result belongs to the caller. Nothing in an ordinary build but the warning on an unused result. */
#if defined(__clang_analyzer__)
#define BURN_TAKES(...) __attribute__((ownership_takes(malloc, __VA_ARGS__)))
#if !defined(BURN_ANALYZE_LEAKS) /* 0: only takes are checked; for files with BurnScope or BURN_AUTO, whose drops it \
                                    cannot see */
#define BURN_ANALYZE_LEAKS 1
#endif
#if BURN_ANALYZE_LEAKS
#define BURN_GIVES __attribute__((ownership_returns(malloc))) BURN_USE_RESULT
#else
#define BURN_GIVES BURN_USE_RESULT
#endif
#else
#define BURN_TAKES(...)
#define BURN_GIVES BURN_USE_RESULT
#endif

/* The message of a status: what failed, with the values; "ok" for BURN_OK. With BURN_BACKTRACE=1 in the environment up
 * to 8 lines follow that say where in the program it was made, "\n  at gpt_block (gpt.c:41)", innermost first, without
 * frames of Burn and its plugins; lines need what guards need (burn_set_guards), and only failures are slower. The text
 * stays until 1024 further failures have been made in the process; then it is the text of the code. */
BURN_API const char *burn_status_message(BurnStatus status);

/* The text of a status's code: "invalid shape", "ok". Never expires. */
BURN_API const char *burn_status_text(BurnStatus status);

/* Makes a failed status with a code (BURN_STATUS_*) and a printf-style message; for steps, transforms and callbacks of
 * your own. In C and C++ it is a macro that tells the hook below the caller's file and line. */
BURN_API BurnStatus burn_status_make(uint32_t code, const char *format, ...) BURN_PRINTF(2, 3) BURN_USE_RESULT;
BURN_API BurnStatus burn_status_make_at(uint32_t code, const char *file, int line, const char *format, ...)
    BURN_PRINTF(4, 5) BURN_USE_RESULT;

#if defined(__clang_analyzer__) && !defined(BURN_VERSION)
/* The analyzer cannot see that the function never gives BURN_OK. */
void burn_status_arguments(const char *format, ...);
#define burn_status_make(code, ...) (burn_status_arguments(__VA_ARGS__), (BurnStatus)(code))
#else
#define burn_status_make(code, ...) burn_status_make_at(code, __FILE__, __LINE__, __VA_ARGS__)
#endif

/* "prefix: " put before the message of a failed status; BURN_OK stays BURN_OK. */
BURN_API BurnStatus burn_status_annotate(BurnStatus status, const char *format, ...) BURN_PRINTF(2, 3) BURN_USE_RESULT;

/* Calls `hook` once for every failure, on the thread and at the moment it is made, with the source file and line that
 * found it (of this library, of a plugin, or of your call of burn_status_make; "" and 0 from other languages). The
 * texts are valid during the call. Neither a failure that travels in tensors nor a prefix put before its message calls
 * it again. A breakpoint in the hook stops there; the lines of your program are further up its stack, and in the
 * message with BURN_BACKTRACE=1. A `hook` that is NULL removes the one before. */
typedef void (*BurnErrorHook)(void *context, BurnStatus status, const char *file, int line, const char *message);
BURN_API void burn_error_hook(BurnErrorHook hook, void *context);

BURN_EXTERN_C_END

#endif
