/* emulated_module.h - what a compiled kernel text and the driver that runs it know of each other: the texts are C++
 * without headers of the system, so this one has none either. */
#ifndef BURN_EMULATED_MODULE_H
#define BURN_EMULATED_MODULE_H

#define EMULATED_WARP 32
#define EMULATED_DYNAMIC_BYTES 232448 /* of shared memory: what sm_90 gives a block at most */
#define EMULATED_STATIC_BYTES 49152   /* what a block has without asking */

/* uint3 and dim3. */
typedef struct EmulatedIndex {
  unsigned x, y, z;
} EmulatedIndex;

/* What the driver does for a running thread. */
typedef struct EmulatedRuntime {
  void (*barrier)(void);                                        /* all threads of the block */
  void (*warp_barrier)(unsigned mask);                          /* those lanes of the warp */
  unsigned (*exchange)(unsigned mask, unsigned long long *all); /* gives mine, takes those of 32 lanes; who came */
} EmulatedRuntime;

/* What every text exports as burn_emulated_module. */
typedef struct EmulatedModule {
  EmulatedIndex *thread, *block, *block_size, *grid_size;
  const EmulatedRuntime **runtime;
  char *shared, *shared_end; /* static shared memory */
  char *dynamic;             /* EMULATED_DYNAMIC_BYTES */
  const char *barriers;      /* NULL: no thread waits for another, so they run one after the other */
} EmulatedModule;

/* The current thread alone; all of the block, from the first or from the last on. */
enum { EMULATED_ONE, EMULATED_FORWARD, EMULATED_BACKWARD };

/* What every text exports as burn_emulated_kernel_<name>. */
typedef struct EmulatedKernel {
  void (*run)(const char *parameters, int how);    /* EMULATED_ONE.. */
  unsigned (*pack)(void **each, char *parameters); /* as the driver's buffer; NULL: only tells the bytes */
  unsigned most_threads;                           /* of a block */
} EmulatedKernel;

/* An image: this, then a shared library. */
typedef struct EmulatedImage {
  char magic[8];
  unsigned long long bytes;
} EmulatedImage;
#define EMULATED_MAGIC "BURNEMU1"

#endif
