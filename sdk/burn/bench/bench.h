/* bench.h - what the files of `burn bench` share: cases, kinds of work, peers, limits, results. See README.md for the
 * reading order. */
#ifndef BURN_BENCH_H
#define BURN_BENCH_H

#include "../system.h"

#include <burn/burn.h>
#include <burn/nn.h>
#include <burn/train.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
  MAX_ARGS = 10,
  MAX_ROUNDS = 101,
  MAX_STACKS = 8,
  MAX_PEERS = 6,
  MAX_TENSORS = 8,
  MODEL_BYTES = 4096,
  STACK_BYTES = 1024
};

/* -- cases and kinds -------------------------------------------------------------------------- */

/* Sizes; what they mean, the kind says. */
typedef struct Args {
  int count;
  int64_t at[MAX_ARGS];
} Args;
#define ARGS(...)                                                              \
  {                                                                            \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), { __VA_ARGS__ } \
  }

/* What a case works on while it is measured. */
typedef struct Subject {
  BurnDevice *device;
  const int64_t *args;
  BurnDType dtype;  /* of what the kind makes of floats */
  bool leaves_work; /* a repetition leaves its work in the queue; subject_settle waits for that of many */
  bool defers;      /* there are decorators that may leave out what nobody looks at */
  BurnTensor *last; /* of models that leave work: the loss that subject_settle reads */
  BurnTensor *t[MAX_TENSORS];
  BurnOptimizer *optimizer; /* models only, as are the rest */
  const struct Network *network;
  union {
    char bytes[MODEL_BYTES];
    double align;
  } model, valid; /* valid: the copy for inference */
  bool infers;    /* it has `valid` */
  double loss;    /* of the last step; NaN for what has none */
} Subject;

/* A kind of work: the peer knows it by the same name and gives the same arguments the same meaning. */
typedef struct Kind {
  const char *name;
  bool tracked; /* needs a stack with autodiff */
  BurnStatus (*prepare)(Subject *s);
  BurnStatus (*run)(Subject *s); /* one repetition: ends with subject_finish */
  bool host_only;                /* the clock stands while the device is waited for */
} Kind;

/* A run can be restricted to one. A quick run leaves out convolutions and large models; the sizes for GPUs are run only
 * if they are asked for. */
typedef enum Group {
  GROUP_OP,
  GROUP_OVERHEAD,
  GROUP_CONVOLUTION,
  GROUP_MODEL,
  GROUP_LARGE,
  GROUP_GPU,
  GROUP_COUNT
} Group;
extern const char *const group_names[];

/* One line of the suite. Bytes and operations are those that must move, whoever computes. */
typedef struct Case {
  BurnDType dtype; /* of floats */
  Group group;
  const char *name;
  const char *kind;
  Args args;
  double repeats; /* what one repetition does so often; times are told by one of them */
  double read_bytes, write_bytes, flops;
} Case;
extern const Case bench_cases[];
extern const size_t bench_case_count;

/* NULL: unknown. */
const Kind *kind_find(const char *name);
extern const Kind op_kinds[];
extern const size_t op_kind_count;

/* Device and tensors of a case, in f32. After a failure too the subject must be ended. */
BurnStatus subject_begin(Subject *s, const Kind *kind, const int64_t *args, BurnDType dtype, const char *stack);
void subject_end(Subject *s);
/* The end of a repetition: all is done, or (leaves_work) on its way. */
BurnStatus subject_finish(const Subject *s);
/* The end of a group of repetitions: all is done, and the loss of the last is known. */
BurnStatus subject_settle(Subject *s);

/* -- models ----------------------------------------------------------------------------------- */

/* A network with its data. args[0] is the batch size; the others are the model's own. */
typedef struct Network {
  const char *name;
  const BurnType *(*type)(void);
  void (*init)(void *model, const int64_t *args, BurnDevice *device);
  BurnTensor *(*inputs)(const int64_t *args, BurnDevice *device);
  int64_t (*target_count)(const int64_t *args); /* NULL, as is classes: it is not trained */
  int64_t (*classes)(const int64_t *args);
  BurnTensor *(*forward)(const void *model, BurnTensor *x); /* -> [target_count, classes] */
} Network;
extern const Network guide_network, lenet_network, mlp_network, gpt_network, lstm_network, resnet_network;
extern const Network resnet50_network, vit_network, unet_network, bert_network, lstm_language_network;
extern const Network llama_network, wgan_network;

/* Those that are trained, ended by NULL, and what `burn bench curves` trains: small sizes and those of the suite. */
typedef struct NetworkSizes {
  const Network *network;
  int64_t small[MAX_ARGS], full[MAX_ARGS];
} NetworkSizes;
extern const NetworkSizes bench_networks[];
extern const Kind network_kinds[];
extern const size_t network_kind_count;

/* A model with optimizer and one batch; then steps, each of which puts the loss into s->loss, or leaves it to
 * subject_settle. */
BurnStatus network_prepare(Subject *s, const Network *model);
BurnStatus network_step(Subject *s);
BurnStatus network_infer(Subject *s);
/* Writes the model of a subject that infers as `model.onnx` into a folder, its input and its output as `input.npy` and
 * `output.npy`. */
BurnStatus network_export(const Subject *s, const char *folder);
/* The steps of WGAN-GP, which have losses of their own. */
BurnStatus wgan_critic_step(Subject *s);
BurnStatus wgan_generator_step(Subject *s);
/* One token of Llama's block. */
BurnStatus llama_decode(Subject *s);
/* The end of a step whose status so far is given: takes `loss`, into s->loss or s->last. */
BurnStatus network_tell(Subject *s, BurnTensor *loss, BurnStatus status);

/* -- time ------------------------------------------------------------------------------------- */

/* Median and quartiles of the samples, which are sorted. */
typedef struct Spread {
  double median, low, high;
} Spread;
Spread spread_of(double *samples, size_t count);
/* Half the distance of the quartiles, by the median: the `+-` of tables. */
double spread_noise(const Spread *time);

/* -- peers ------------------------------------------------------------------------------------ */

/* A child process that measures the same kinds; see peer.c for the lines that are exchanged. */
typedef struct Peer Peer;

/* A way to run PyTorch, or another program, as --peer has it: its word, what the peer is told, and how its figures are
 * called: in the table, in the guide's tables, in JSON and in columns. */
typedef struct PeerWay {
  const char *word, *mode, *label, *heading, *name;
  const char *suffix; /* of "ratio" and "peer" in JSON */
  const char *script; /* that is installed */
  bool tuned_malloc;
  bool reads_models; /* it runs what we export, so it has inference only */
} PeerWay;
enum { PEER_EAGER, PEER_TUNED, PEER_COMPILED, PEER_GRAPHS, PEER_ONEDNN, PEER_ONNX, PEER_WAYS };
extern const PeerWay peer_ways[PEER_WAYS];

/* What runs a peer, and where and how it computes: "cpu" or "cuda:0"; a word of --peer-precision. */
typedef struct PeerSetup {
  const char *python, *script, *device, *precision;
} PeerSetup;
/* *absent is the reason, in the peer, where the program runs and lacks what it is to measure; else NULL. */
BurnStatus peer_open(Peer **out, const PeerSetup *setup, int way, const char **absent);
void peer_close(Peer *peer); /* NULL is allowed */
int peer_way(const Peer *peer);
const char *peer_label(const Peer *peer);
const char *peer_version(const Peer *peer);
/* Where a peer that reads models finds the one of a case; NULL for other peers. */
const char *peer_folder(const Peer *peer);
/* Prepares a case; side->known is false if the peer has no such kind, or cannot and says why (side->problem).
 * side->first_loss is NaN for what has none. */
struct Side;
BurnStatus peer_case(Peer *peer, const struct Case *c, struct Side *side);
/* Runs for about so many seconds: seconds of one repetition. */
BurnStatus peer_run(Peer *peer, double seconds, double *sample, double *loss);
/* The most bytes of tensors that it had; -1 where it does not tell. */
BurnStatus peer_end(Peer *peer, int64_t *bytes_peak);

/* The process of a peer, for what it uses. */
long peer_process(const Peer *peer);

/* -- the machine's limits --------------------------------------------------------------------- */

BurnStatus limits_open(void);
void limits_close(void);
/* The time in which that can be moved, in the proportion of reads and writes, or computed (an FMA being two), at best;
 * 0 for nothing. One sample of some milliseconds. */
double limits_move_seconds(double read_bytes, double write_bytes);
double limits_compute_seconds(double flops);
/* The time below which a case cannot be done; models do not move what they move while they compute, so there both add
 * up. */
double limits_case_seconds(const Case *c);

/* -- measuring and telling -------------------------------------------------------------------- */

/* The device of the first stack. */
typedef struct BenchDevice {
  bool is_gpu;
  int64_t memory;   /* bytes */
  char text[320];   /* what it is, and its driver */
  double copy;      /* GB/s read and written by an op that changes each element of 1 GiB; NaN where it cannot */
  double peer_copy; /* the same of the first peer, NaN without one */
} BenchDevice;

typedef struct Bench {
  char stack_text[STACK_BYTES]; /* what `stacks` point into */
  const char *stacks[MAX_STACKS];
  size_t stack_count;
  Peer *peers[MAX_PEERS];
  size_t peer_count;
  size_t rounds;
  double seconds;   /* of a sample */
  bool keeps_quiet; /* figures are kept, and only those of a quiet machine */
  BenchDevice device;
} Bench;

/* One side's figures. Without them (`known` is false) a stack of ours says why: it lacks an op or a dtype, or it
 * failed. */
typedef struct Side {
  bool known, lacks;
  char problem[256];
  double samples[MAX_ROUNDS];
  Spread time; /* seconds of one op, step or repetition */
  double first_loss, last_loss;
  int64_t bytes_peak; /* most bytes of tensors at a time, parameters and all; -1 where it is not told */
} Side;

typedef struct Result {
  Side own[MAX_STACKS];
  Side peer[MAX_PEERS];
  double limit[MAX_ROUNDS];
  Spread limit_time; /* seconds; 0 where there is no limit */
} Result;

/* Prepares a case on every side, then lets them take turns. A stack that cannot do it is left out of the case; a peer
 * that fails is a failure. */
BurnStatus measure(const Bench *bench, const Case *c, Result *result);

/* What the device of the first stack is and how fast it copies, here and in the first peer. */
BurnStatus bench_device_open(Bench *bench);
/* GB/s of the bytes of a case, or TFLOP/s of its operations (`unit` says which) in so many seconds; NaN where nothing
 * is counted. */
double case_rate(const Case *c, double seconds, const char **unit);

/* A text for a number of seconds: "12.3 us". */
const char *time_text(double seconds, char *buffer, size_t capacity);

/* Splits "ndarray:isa=avx2,gemm=builtin,fusion<ndarray>": a comma that an option (key=value) follows stays. */
BurnStatus stacks_split(const char *text, Bench *bench);
/* The same, or for NULL the default stack and every other usable backend but `reference`; each can be opened then. */
BurnStatus stacks_open(Bench *bench, const char *text);

/* CPU time that was used in a stretch of time, and by whom; see bench_load.c. */
typedef struct Load {
  double wall, busy, ours; /* seconds */
} Load;
#define ALLOWED_LOAD 0.03 /* share of the processors that others may use */
void load_begin(Load *load, const Bench *bench);
/* The share of the processors that other programs have used since; NaN where it is not known. */
double load_share(const Load *begin, const Bench *bench);
/* Looks at the machine for a second, in which we do nothing: FAILED_PRECONDITION where others use it. */
BurnStatus load_check(const Bench *bench);

/* The other commands. curves_main returns the exit status; growth_run draws into a file, `about` below;
 * tensors have at most `largest` elements. */
int curves_main(int argc, char **argv);
BurnStatus growth_run(const Bench *bench, const char *path, int64_t largest, const char *about);

#endif
