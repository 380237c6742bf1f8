/* device.h - open a stack of plugins by name.
 *
 * A stack text names decorators and a backend, outermost first, any case:
 *
 *   ndarray    cuda:0    autodiff<ndarray>    autodiff+fusion+cuda:0 trace:format=chrome+ndarray:gemm=builtin,isa=avx2
 *
 * After a name follow, each after a colon, the device number and options as key=value,key=value. The options float= and
 * int= of the backend set the device's default dtypes (f32 and i64).
 *
 * Precedence: the argument; BURN_BACKEND; {"backend": "..."} in burn.json of the working directory, then in
 * $XDG_CONFIG_HOME/burn/burn.json (~/.config), then in /etc/burn/burn.json; else the backend with the highest probe
 * score that opens (burn_plugin_count says how scores are found; burn_device_passed_over, which did not open). The
 * working directory's file takes options only if they are declared harmless (burn backends shows which), and none in
 * privileged programs, which do not read it.
 *
 * After fork, the child can use devices and tensors if no other thread was in a call at that moment. Otherwise all
 * calls in it fail with FAILED_PRECONDITION, as a lock may be held by a thread that it does not have: fork before, or
 * exec. Devices of GPUs belong to the process that opened them: their drivers have threads that the child has not, and
 * may keep it waiting for ever. Open them after the fork. */
#ifndef BURN_DEVICE_H
#define BURN_DEVICE_H

#include <burn/error.h>
#include <burn/plugins.h>
#include <burn/plugin/types.h>

#include <stdio.h>

BURN_EXTERN_C_BEGIN

typedef struct BurnDevice BurnDevice;

/* Opens a stack; `stack` NULL or "" means the precedence above. Always returns a device: one that could not be opened
 * carries its failure, and so does every tensor made on it. The caller closes it. */
BURN_API BURN_USE_RESULT BurnDevice *burn_device_open(const char *stack);

/* The same for programs that train: puts autodiff on top if the text has none. */
BURN_API BURN_USE_RESULT BurnDevice *burn_device_open_training(const char *stack);

/* BURN_OK, or why the device could not be opened. */
BURN_API BURN_USE_RESULT BurnStatus burn_device_status(const BurnDevice *device);

/* Closes a device; NULL is allowed. Tensors that are still alive keep what they need; guards (burn_set_guards) list
 * them on stderr with op, shape and the place in the program that made each, and count BurnGradients that are not
 * dropped. Devices from burn_device_inner go with their owner. */
BURN_API void burn_device_close(BurnDevice *device);

/* "autodiff<ndarray>": the stack as it was built. Lives as long as the device. */
BURN_API const char *burn_device_name(const BurnDevice *device);

/* What computes, in full: plugins, their versions and the options that were given, in the order of the stack, as in
 * "autodiff 0.1.0<ndarray 0.1.0 isa=avx2>". Two devices with the same text run the same code; checkpoints keep it.
 * Lives as long as the device; the name if the device could not be opened. */
BURN_API const char *burn_device_fingerprint(const BurnDevice *device);

/* True if the stack computes gradients. Dropout and batch norm train exactly on such devices, as in Burn. */
BURN_API bool burn_device_is_autodiff(const BurnDevice *device);

/* The device below autodiff, where gradients, optimizer states and validation live; the device itself if it has no
 * autodiff. Borrowed: it lives as long as `device`. */
BURN_API BurnDevice *burn_device_inner(BurnDevice *device);

/* The backends with higher scores that the automatic choice found but could not open, each with its reason, for people:
 * "cuda (score 1000): open 'cuda': ..". "" if there are none, or the stack was named. The log has them as warnings.
 * Borrowed, valid as long as the device. */
BURN_API const char *burn_device_passed_over(const BurnDevice *device);

/* Default dtypes of the device, used where BURN_DTYPE_DEFAULT is given: f32 and i64, unless the stack text
 * ("ndarray:float=bf16") or a call below says otherwise. Positions (argmax ..) are i64 where the int dtype is narrower
 * than i32. */
BURN_API BurnDType burn_device_float_dtype(const BurnDevice *device);
BURN_API BurnDType burn_device_int_dtype(const BurnDevice *device);

/* Other defaults for what is made from now on, on this device and its inner one; tensors that exist stay as they are. A
 * module made afterwards has its parameters in the new dtype. INVALID_DTYPE if it is of the wrong kind or the backend
 * cannot compute in it. Not to be called while other threads make tensors on the device. */
BURN_API BURN_USE_RESULT BurnStatus burn_device_set_float_dtype(BurnDevice *device, BurnDType dtype);
BURN_API BURN_USE_RESULT BurnStatus burn_device_set_int_dtype(BurnDevice *device, BurnDType dtype);

/* Waits for all submitted work; reports its first failure. */
BURN_API BURN_USE_RESULT BurnStatus burn_device_sync(BurnDevice *device);

/* Bytes of live tensors, bytes held with caches, highest bytes so far, and tensors of the backend alive; -1 where
 * unknown. */
typedef struct BurnMemoryStats {
  int64_t bytes_in_use;
  int64_t bytes_reserved;
  int64_t bytes_peak;
  int64_t live_tensors;
} BurnMemoryStats;
BURN_API BurnMemoryStats burn_device_memory(BurnDevice *device);

/* Gives cached memory back to the system. */
BURN_API void burn_device_trim(BurnDevice *device);

/* Random numbers are counter-based (burn/plugin/random.h): the same seed gives the same numbers on every backend. A
 * fresh device has seed 0 and offset 0. Setting the seed sets the offset to 0. */
typedef struct BurnRandomState {
  uint64_t seed;
  uint64_t offset; /* blocks of four numbers used so far */
} BurnRandomState;
BURN_API void burn_device_seed(BurnDevice *device, uint64_t seed);
BURN_API BurnRandomState burn_device_random_state(const BurnDevice *device);
BURN_API void burn_device_set_random_state(BurnDevice *device, BurnRandomState state);

/* Threads for CPU work of the whole process, the caller included: 1 .. 256, else INVALID_ARGUMENT. Default: the CPUs
 * this process may use, or BURN_THREADS. Takes effect before the first parallel work; later calls that would change it
 * are FAILED_PRECONDITION. */
BURN_API BURN_USE_RESULT BurnStatus burn_set_threads(unsigned threads);
BURN_API unsigned burn_threads(void);

/* Guards find misuse of tensors while a program runs, in the whole process. The use of a tensor that was taken fails
 * with both ops and the place of the first ("clone: tensor already taken by relu at gpt.c:41"), a second drop is logged
 * with both places, what is not a tensor is refused, and burn_device_close lists what is alive ("54 x f32 [16,128] made
 * by linear at gpt.c:88"). A taken handle is known again until 4096 further ones were taken. Lines need a program with
 * debug information (-g) and libdw (elfutils); else the place is an address for addr2line. Static builds name ops only.
 *
 * Default: the variable BURN_GUARDS, 1 or 0; without it off, but on in Debug builds of Burn. Takes effect before the
 * first device is opened and the first tensor made, failed ones included, since handles of all devices mix; later calls
 * that would change it are FAILED_PRECONDITION. On, a small op takes about a microsecond longer. */
BURN_API BURN_USE_RESULT BurnStatus burn_set_guards(bool on);
BURN_API bool burn_guards(void);

/* "0.1.0" */
BURN_API const char *burn_version(void);

BURN_EXTERN_C_END

#endif
