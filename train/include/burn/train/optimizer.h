/* optimizer.h - optimizers as mappers over modules, with state by parameter id. Formulas and defaults are Burn's, which
 * are not always PyTorch's (epsilon 1e-5, dampening 0.1, AdamW decay 1e-4). Parameters of f16 and bf16 are updated in
 * f32 and rounded once; their state (moments, velocity) is kept in f32.
 *
 *   status = burn_train_step(optimizer, burn_module(Mlp, &mlp), loss, 1e-3);         backward, update
 *
 * or in parts:
 *
 *   BurnGradients *gradients = NULL;
 *   status = burn_backward(loss, &gradients);
 *   BurnGradientsParams *linked = burn_gradients_params(gradients, module);           takes gradients
 *   status = burn_optimizer_step(optimizer, module, linked, 1e-3);                    takes linked */
#ifndef BURN_TRAIN_OPTIMIZER_H
#define BURN_TRAIN_OPTIMIZER_H

#include <burn/burn.h>
#include <burn/train/schedule.h>

BURN_EXTERN_C_BEGIN

/* -- gradients by parameter ------------------------------------------------------------------- */

/* Gradients on the inner device by parameter id. */
typedef struct BurnGradientsParams BurnGradientsParams;

/* Moves the gradient of every parameter of the module out of `gradients` (taken). Parameters that no gradient reached
 * have no entry. NULL when out of memory; other failures travel in the object and are reported by the step or the sum:
 * `gradients` was NULL, or no parameter of the module got one. */
BURN_API BURN_USE_RESULT BurnGradientsParams *burn_gradients_params(BurnGradients *gradients, BurnModule module);
/* Parts of a pass, for several optimizers: moves the gradients of a module, or of those of its parameters that have one
 * of `count` ids, out of `gradients`, which keeps the others and stays the caller's. That none is there is no failure.
 */
BURN_API BURN_USE_RESULT BurnGradientsParams *burn_gradients_params_of_module(BurnGradients *gradients,
                                                                              BurnModule module);
BURN_API BURN_USE_RESULT BurnGradientsParams *burn_gradients_params_of_ids(BurnGradients *gradients, BurnModule module,
                                                                           const uint64_t *ids, size_t count);
/* One without gradients, to be filled by burn_gradients_params_set. NULL when out of memory. */
BURN_API BURN_USE_RESULT BurnGradientsParams *burn_gradients_params_create(void);
/* How many gradients there are. */
BURN_API size_t burn_gradients_params_count(const BurnGradientsParams *gradients);
/* A clone of the gradient of a parameter; NULL if it has none. */
BURN_API BURN_GIVES BurnTensor *burn_gradients_params_get(const BurnGradientsParams *gradients, uint64_t param_id);
/* The gradient itself, moved out: nobody else holds it, so ops on it work in place. NULL if there is none. */
BURN_API BURN_GIVES BurnTensor *burn_gradients_params_remove(BurnGradientsParams *gradients, uint64_t param_id);
/* Puts a gradient (taken) in the place of the one that was there, if any; one with autodiff is put on the device below.
 * A failed tensor is refused with its own failure, and what was there stays. */
BURN_API BURN_USE_RESULT BURN_TAKES(3) BurnStatus
    burn_gradients_params_set(BurnGradientsParams *gradients, uint64_t param_id, BurnTensor *gradient);
/* Moves all gradients to a device (below autodiff, if it has that). Ends at the first that cannot be moved, with its
 * failure, which that gradient then has. */
BURN_API BURN_USE_RESULT BurnStatus burn_gradients_params_to_device(BurnGradientsParams *gradients, BurnDevice *device);
BURN_API void burn_gradients_params_drop(BurnGradientsParams *gradients); /* NULL is allowed */

/* Adds `more` (taken) into *sum, which may be NULL at first: gradient accumulation is a sum, as in Burn. */
BURN_API BURN_USE_RESULT BurnStatus burn_gradients_accumulate(BurnGradientsParams **sum, BurnGradientsParams *more);

/* The gradients of one step from several devices, each with a copy of the module (burn_module_fork keeps its ids). A
 * parameter's gradients are added up on the device number `id modulo count`, as in Burn: the same one in every step,
 * and the sums of all parameters are shared out. */
typedef struct BurnMultiGradientsParams BurnMultiGradientsParams;

/* One without gradients. NULL when out of memory, which the functions below report as OUT_OF_MEMORY. */
BURN_API BURN_USE_RESULT BurnMultiGradientsParams *burn_multi_gradients_params_create(void);
/* Adds the gradients (taken, also on failure) of a copy on `device`, which outlives the object. Fails as the gradients
 * did, if linking them failed. */
BURN_API BURN_USE_RESULT BurnStatus burn_multi_gradients_params_add(BurnMultiGradientsParams *multi,
                                                                    BurnGradientsParams *gradients, BurnDevice *device);
/* How many devices there are. */
BURN_API size_t burn_multi_gradients_params_count(const BurnMultiGradientsParams *multi);
/* The sum of a parameter's gradients, moved out, on the inner device of the first that has one from its own device on;
 * NULL if there is none. */
BURN_API BURN_GIVES BurnTensor *burn_multi_gradients_params_remove(BurnMultiGradientsParams *multi, uint64_t param_id);
/* The sums of all parameters, each on its device, for burn_optimizer_step. Takes multi. NULL when out of memory; other
 * failures travel in the object. For a mean instead of a sum, divide the losses by the number of devices. */
BURN_API BURN_USE_RESULT BurnGradientsParams *burn_multi_gradients_params_sum(BurnMultiGradientsParams *multi);
BURN_API void burn_multi_gradients_params_drop(BurnMultiGradientsParams *multi); /* NULL is allowed */

/* -- clipping --------------------------------------------------------------------------------- */

enum {
  BURN_GRADIENT_CLIPPING_NONE,
  BURN_GRADIENT_CLIPPING_VALUE,      /* every element into [-limit, limit] */
  BURN_GRADIENT_CLIPPING_NORM,       /* each gradient by itself, as in Burn: g min(1, limit / (|g| + tiny)), with the L2
                                        norm and the smallest normal number of the dtype */
  BURN_GRADIENT_CLIPPING_GLOBAL_NORM /* all gradients of a step by one factor, min(1, limit / (|all| + 1e-6)), as
                                        clip_grad_norm_ of PyTorch; Burn has none */
};

/* What is done to gradients before a step. NaN stays NaN; with GLOBAL_NORM it makes all gradients NaN. */
typedef struct BurnGradientClipping {
  uint32_t kind; /* BURN_GRADIENT_CLIPPING_* */
  BurnF64 limit; /* above 0 */
} BurnGradientClipping;
BURN_API const BurnType *BurnGradientClipping_type(void);
/* Values for rows; with a cast for assignments and arguments: (BurnGradientClipping)BURN_CLIP_NORM(1). */
#define BURN_CLIP_NONE BURN_INTERNAL_ROW_VALUE(BurnGradientClipping, BURN_GRADIENT_CLIPPING_NONE, 0)
#define BURN_CLIP_VALUE(limit) BURN_INTERNAL_ROW_VALUE(BurnGradientClipping, BURN_GRADIENT_CLIPPING_VALUE, (limit))
#define BURN_CLIP_NORM(limit) BURN_INTERNAL_ROW_VALUE(BurnGradientClipping, BURN_GRADIENT_CLIPPING_NORM, (limit))
#define BURN_CLIP_GLOBAL_NORM(limit) \
  BURN_INTERNAL_ROW_VALUE(BurnGradientClipping, BURN_GRADIENT_CLIPPING_GLOBAL_NORM, (limit))

/* Clips all gradients in place. f16 and bf16 are computed in f32. Nothing waits for the device. A limit that is not
 * above 0 is INVALID_ARGUMENT. */
BURN_API BURN_USE_RESULT BurnStatus burn_gradients_params_clip(BurnGradientsParams *gradients,
                                                               BurnGradientClipping clipping);
/* The L2 norm of all gradients together, [1] on the device of the first: f32, or f64 where one of them is. Failed if
 * there are none. For logs, ask before clipping. */
BURN_API BURN_GIVES BurnTensor *burn_gradients_params_norm(const BurnGradientsParams *gradients);

/* -- configs: usable in BURN_CONFIG rows, saved as JSON; the last row of each is `clipping` --- */

/* g = gradient + weight_decay * param; the first velocity is g, later v = (1 - dampening) g + momentum v; param -= lr
 * v, with nesterov lr (g + momentum v). Without momentum param -= lr g. */
#define BURN_SGD_CONFIG(REQ, OPT)                                                                  \
  OPT(BurnOptionF64, weight_decay, BURN_ABSENT, "L2 penalty added to the gradient")                \
  OPT(BurnOptionF64, momentum, BURN_ABSENT, "share of the velocity that stays; absent: plain SGD") \
  OPT(BurnF64, dampening, 0.1, "share of the gradient kept out of the velocity")                   \
  OPT(BurnBool, nesterov, false, "look ahead along the velocity")                                  \
  OPT(BurnGradientClipping, clipping, BURN_CLIP_NONE, "of gradients, before the step")
BURN_CONFIG_OPTIONAL(BurnSgdConfig, BURN_SGD_CONFIG);

/* m = beta_1 m + (1 - beta_1) g; v = beta_2 v + (1 - beta_2) g^2; with step t from 1 and c = sqrt(1 - beta_2^t): param
 * -= lr c / (1 - beta_1^t) * m / (sqrt(v) + epsilon c). With amsgrad the largest v so far stands for v. (PyTorch's
 * default epsilon is 1e-8.) */
#define BURN_ADAM_CONFIG(REQ, OPT)                                                  \
  OPT(BurnF64, beta_1, 0.9, "decay of the first moment")                            \
  OPT(BurnF64, beta_2, 0.999, "decay of the second moment")                         \
  OPT(BurnF64, epsilon, 1e-5, "keeps the division finite")                          \
  OPT(BurnOptionF64, weight_decay, BURN_ABSENT, "L2 penalty added to the gradient") \
  OPT(BurnBool, amsgrad, false, "divide by the largest second moment so far")       \
  OPT(BurnGradientClipping, clipping, BURN_CLIP_NONE, "of gradients, before the step")
BURN_CONFIG_OPTIONAL(BurnAdamConfig, BURN_ADAM_CONFIG);

/* As Adam without the penalty, and param is first multiplied by 1 - lr * weight_decay; if cautious, only where it has
 * the sign of the new m (0 counts as positive): elsewhere decay and step are at odds, and it is not decayed.
 * (PyTorch's default epsilon is 1e-8, its decay 1e-2; it has no cautious decay.) */
#define BURN_ADAMW_CONFIG(REQ, OPT)                                                                    \
  OPT(BurnF64, beta_1, 0.9, "decay of the first moment")                                               \
  OPT(BurnF64, beta_2, 0.999, "decay of the second moment")                                            \
  OPT(BurnF64, epsilon, 1e-5, "keeps the division finite")                                             \
  OPT(BurnF64, weight_decay, 1e-4, "decay of the weights themselves")                                  \
  OPT(BurnBool, cautious_weight_decay, false, "decay only weights that the step moves towards 0, too") \
  OPT(BurnBool, amsgrad, false, "divide by the largest second moment so far")                          \
  OPT(BurnGradientClipping, clipping, BURN_CLIP_NONE, "of gradients, before the step")
BURN_CONFIG_OPTIONAL(BurnAdamWConfig, BURN_ADAMW_CONFIG);

/* g = gradient + weight_decay * param; s = alpha s + (1 - alpha) g^2; if centered also a = alpha a + (1 - alpha) g, and
 * d = s - a^2, else d = s; u = g / (sqrt(d) + epsilon); with momentum > 0 b = momentum b + u, else b = u; param -= lr
 * b. The first s, a and b begin at 0. (PyTorch's default epsilon is 1e-8, its momentum 0.) */
#define BURN_RMSPROP_CONFIG(REQ, OPT)                                                    \
  OPT(BurnF64, alpha, 0.99, "decay of the averages")                                     \
  OPT(BurnF64, momentum, 0.9, "share of the updates so far that stays; 0: none is kept") \
  OPT(BurnF64, epsilon, 1e-5, "keeps the division finite")                               \
  OPT(BurnBool, centered, false, "divide by the deviation, not the root of the square")  \
  OPT(BurnOptionF64, weight_decay, BURN_ABSENT, "L2 penalty added to the gradient")      \
  OPT(BurnGradientClipping, clipping, BURN_CLIP_NONE, "of gradients, before the step")
BURN_CONFIG_OPTIONAL(BurnRmsPropConfig, BURN_RMSPROP_CONFIG);

/* g = gradient + weight_decay * param; s = s + g^2; with step t from 1: param -= lr / (1 + (t - 1) lr_decay) * g /
 * (sqrt(s) + epsilon). (PyTorch's default epsilon is 1e-10.) */
#define BURN_ADAGRAD_CONFIG(REQ, OPT)                                               \
  OPT(BurnF64, lr_decay, 0, "how fast the rate falls with the steps")               \
  OPT(BurnF64, epsilon, 1e-5, "keeps the division finite")                          \
  OPT(BurnOptionF64, weight_decay, BURN_ABSENT, "L2 penalty added to the gradient") \
  OPT(BurnGradientClipping, clipping, BURN_CLIP_NONE, "of gradients, before the step")
BURN_CONFIG_OPTIONAL(BurnAdaGradConfig, BURN_ADAGRAD_CONFIG);

/* Adan (arXiv 2208.06677). With d the change of the gradient since the last step, 0 at the first: m = beta_1 m + (1 -
 * beta_1) g; n = beta_2 n + (1 - beta_2) d; v = beta_3 v + (1 - beta_3) (g + beta_2 d)^2; with step t from 1 and q =
 * sqrt(v / (1 - beta_3^t)) + epsilon the step is u = m / ((1 - beta_1^t) q) + beta_2 n / ((1 - beta_2^t) q); param =
 * (param - lr u) / (1 + lr weight_decay), or with no_prox param (1 - lr weight_decay) - lr u. */
#define BURN_ADAN_CONFIG(REQ, OPT)                                             \
  OPT(BurnF64, beta_1, 0.98, "decay of the average of gradients")              \
  OPT(BurnF64, beta_2, 0.92, "decay of the average of their changes")          \
  OPT(BurnF64, beta_3, 0.99, "decay of the average of squares")                \
  OPT(BurnF64, epsilon, 1e-8, "keeps the division finite")                     \
  OPT(BurnF64, weight_decay, 0, "decay of the weights themselves")             \
  OPT(BurnBool, no_prox, false, "decay by a factor before the step, as AdamW") \
  OPT(BurnGradientClipping, clipping, BURN_CLIP_NONE, "of gradients, before the step")
BURN_CONFIG_OPTIONAL(BurnAdanConfig, BURN_ADAN_CONFIG);

/* How Muon fits its rate to the shape [rows, columns] of a parameter. */
enum {
  BURN_MUON_RATE_ORIGINAL,       /* lr sqrt(max(1, rows / columns)) */
  BURN_MUON_RATE_MATCH_RMS_ADAMW /* lr 0.2 sqrt(max(rows, columns)): steps as large as AdamW's */
};
typedef struct BurnMuonRate {
  uint32_t kind; /* BURN_MUON_RATE_* */
} BurnMuonRate;
BURN_API const BurnType *BurnMuonRate_type(void);
/* Values for rows; with a cast for assignments and arguments: (BurnMuonRate)BURN_MUON_MATCH_RMS_ADAMW. */
#define BURN_MUON_ORIGINAL BURN_INTERNAL_ROW_VALUE(BurnMuonRate, BURN_MUON_RATE_ORIGINAL)
#define BURN_MUON_MATCH_RMS_ADAMW BURN_INTERNAL_ROW_VALUE(BurnMuonRate, BURN_MUON_RATE_MATCH_RMS_ADAMW)

/* Muon (kellerjordan.github.io/posts/muon): for matrices, as hidden layers have them; a parameter of another rank fails
 * the step, and belongs in a group with another optimizer (burn_optimizer_with_group). The velocity is that of SGD. u
 * is the velocity, or with nesterov g + momentum v, made nearly orthogonal: divided by max(its norm, epsilon), then
 * ns_steps times x = a x + (b x x^T + c (x x^T)^2) x, transposed where rows > columns. param = param (1 - lr
 * weight_decay) - the rate fitted to its shape * u. Computed in the parameter's dtype (f32 for halves; PyTorch's is
 * bf16, with a decay of 0.1). */
#define BURN_MUON_CONFIG(REQ, OPT)                                                        \
  OPT(BurnOptionF64, weight_decay, BURN_ABSENT, "decay of the weights themselves")        \
  OPT(BurnF64, momentum, 0.95, "share of the velocity that stays")                        \
  OPT(BurnF64, dampening, 0, "share of the gradient kept out of the velocity")            \
  OPT(BurnBool, nesterov, true, "look ahead along the velocity")                          \
  OPT(BurnF64, ns_a, 3.4445, "Newton-Schulz coefficient of x")                            \
  OPT(BurnF64, ns_b, -4.775, "Newton-Schulz coefficient of x x^T x")                      \
  OPT(BurnF64, ns_c, 2.0315, "Newton-Schulz coefficient of (x x^T)^2 x")                  \
  OPT(BurnF64, epsilon, 1e-7, "least norm that is divided by")                            \
  OPT(BurnSize, ns_steps, 5, "Newton-Schulz steps")                                       \
  OPT(BurnMuonRate, adjust_lr, BURN_MUON_ORIGINAL, "how the rate is fitted to the shape") \
  OPT(BurnGradientClipping, clipping, BURN_CLIP_NONE, "of gradients, before the step")
BURN_CONFIG_OPTIONAL(BurnMuonConfig, BURN_MUON_CONFIG);

/* -- optimizers ------------------------------------------------------------------------------- */

typedef struct BurnOptimizer BurnOptimizer;

/* `config` NULL means the defaults. NULL when out of memory; functions below report that as OUT_OF_MEMORY. A number
 * that makes no sense (a beta of 1, a NaN, nesterov without a momentum) is INVALID_ARGUMENT, told by
 * burn_optimizer_status and by each step. */
BURN_API BURN_USE_RESULT BurnOptimizer *burn_sgd_create(const BurnSgdConfig *config);
BURN_API BURN_USE_RESULT BurnOptimizer *burn_adam_create(const BurnAdamConfig *config);
BURN_API BURN_USE_RESULT BurnOptimizer *burn_adamw_create(const BurnAdamWConfig *config);
BURN_API BURN_USE_RESULT BurnOptimizer *burn_rmsprop_create(const BurnRmsPropConfig *config);
BURN_API BURN_USE_RESULT BurnOptimizer *burn_adagrad_create(const BurnAdaGradConfig *config);
BURN_API BURN_USE_RESULT BurnOptimizer *burn_adan_create(const BurnAdanConfig *config);
BURN_API BURN_USE_RESULT BurnOptimizer *burn_muon_create(const BurnMuonConfig *config);
BURN_API void burn_optimizer_destroy(BurnOptimizer *optimizer); /* NULL is allowed */
/* BURN_OK, or why the optimizer cannot step: its config, or no memory when it was created. */
BURN_API BURN_USE_RESULT BurnStatus burn_optimizer_status(const BurnOptimizer *optimizer);

/* Clips gradients before each step, in the place of what the config said; with groups, those of the parameters that are
 * in none, and all of them for GLOBAL_NORM. */
BURN_API BURN_USE_RESULT BurnStatus burn_optimizer_with_clipping(BurnOptimizer *optimizer,
                                                                 BurnGradientClipping clipping);

/* Updates the parameters of a group as `other` (taken, also on failure) would: with its rule, config and clipping. Of
 * several groups that have a parameter the last one counts. The group is copied; what it points at must outlive the
 * optimizer.
 *
 *   BurnOptimizer *optimizer = burn_adamw_create(NULL);                       biases, embeddings, ..
 *   status = burn_optimizer_with_group(optimizer, &(BurnParamGroup){.parts = matrices}, burn_muon_create(NULL));
 *
 * Groups come before the first step (FAILED_PRECONDITION after it). The first step looks for their paths and ids in the
 * module: one that is not there is INVALID_ARGUMENT. Of a group that has no parameter there, it warns. `other` has no
 * groups and no GLOBAL_NORM, which is that of all. */
BURN_API BURN_USE_RESULT BurnStatus burn_optimizer_with_group(BurnOptimizer *optimizer, const BurnParamGroup *group,
                                                              BurnOptimizer *other);

/* Updates the parameters that have a gradient (taken); others and their state stay untouched, as in Burn. Those that
 * asked for one are named in a warning (BURN_LOG), once per optimizer. A step for which no parameter of the module has
 * a gradient fails: the loss was computed from another one. So does a rate that is not finite. Parameters stay leaves
 * that ask for gradients. On failure some parameters may be updated and others not; the status names the parameter. */
BURN_API BURN_USE_RESULT BurnStatus burn_optimizer_step(BurnOptimizer *optimizer, BurnModule module,
                                                        BurnGradientsParams *gradients, double learning_rate);

/* Backward from loss (taken), update, by the same rules. */
BURN_API BURN_USE_RESULT BURN_TAKES(3) BurnStatus
    burn_train_step(BurnOptimizer *optimizer, BurnModule module, BurnTensor *loss, double learning_rate);

/* The learning rate of some parameters, in the place of the base rate. */
typedef struct BurnLearningRateGroup {
  BurnParamGroup which;
  double learning_rate;  /* of every step; or, if it has a table, */
  BurnSchedule schedule; /* of each; checked by burn_module_learning_rate_check */
} BurnLearningRateGroup;

/* Learning rates by groups of parameters: Burn's ModuleLearningRate. Of several groups that have a parameter the last
 * one counts; `base` is that of all others. Groups of an optimizer say what a step does, these how far it goes, so the
 * two are chosen apart from each other. */
typedef struct BurnModuleLearningRate {
  double base;
  const BurnLearningRateGroup *groups; /* [group_count], borrowed during the step */
  size_t group_count;
  uint64_t iteration; /* of the schedules, counted from 0 */
} BurnModuleLearningRate;

/* INVALID_ARGUMENT for a rate that is not finite; else what burn_schedule_check says of the schedules, with the number
 * of the group. Once, before the steps. */
BURN_API BURN_USE_RESULT BurnStatus burn_module_learning_rate_check(const BurnModuleLearningRate *rates);
/* The rate of the parameter with this path and id. */
BURN_API double burn_module_learning_rate_of(const BurnModuleLearningRate *rates, const char *path, uint64_t id);

/* burn_optimizer_step and burn_train_step with rates by groups. A path or id of a group that the module has not is
 * INVALID_ARGUMENT; of a group that has no parameter of it, an optimizer's first step warns.
 *
 *   const BurnLearningRateGroup groups[] = {{.which = {.parts = backbone}, .learning_rate = 1e-5}};
 *   status = burn_train_step_rates(optimizer, module, loss, &(BurnModuleLearningRate){1e-3, groups, 1, iteration}); */
BURN_API BURN_USE_RESULT BurnStatus burn_optimizer_step_rates(BurnOptimizer *optimizer, BurnModule module,
                                                              BurnGradientsParams *gradients,
                                                              const BurnModuleLearningRate *rates);
BURN_API BURN_USE_RESULT BURN_TAKES(3) BurnStatus
    burn_train_step_rates(BurnOptimizer *optimizer, BurnModule module, BurnTensor *loss,
                          const BurnModuleLearningRate *rates);

/* The state as a record value in Burn's layout (map of parameter id to state), and back onto a device; `device` is
 * where the parameters live. Loading replaces the whole state, or nothing on failure. Groups come before it: a state
 * has to have the rows of the optimizer or of one of its groups. */
BURN_API BURN_USE_RESULT BurnValue *burn_optimizer_value(const BurnOptimizer *optimizer);
BURN_API BURN_USE_RESULT BurnStatus burn_optimizer_load(BurnOptimizer *optimizer, const BurnValue *value,
                                                        BurnDevice *device);

/* -- an optimizer of your own ----------------------------------------------------------------- */

/* When a tensor of a state is there. In a record an absent one is nil, by itself or as its whole group. */
typedef enum BurnStatePresence {
  BURN_STATE_ALWAYS = 0,     /* from the first step on */
  BURN_STATE_FIELD_OPTIONAL, /* {"centered": {"grad_avg": nil, ..}} */
  BURN_STATE_GROUP_OPTIONAL, /* {"momentum": nil} */
  BURN_STATE_FIELD_ADDED     /* as FIELD_OPTIONAL, and records from before it was added lack it */
} BurnStatePresence;

/* A tensor of a parameter's state, and its place in the record: {group: {name: tensor}}, or {name: tensor} if `group`
 * is NULL. Rows of one group stand together. */
typedef struct BurnStateTensor {
  const char *group, *name;
  BurnStatePresence presence;
} BurnStateTensor;

/* The state of one parameter: all zero before its first step. */
typedef struct BurnOptimizerState {
  uint64_t time;        /* steps done; rules that count them add 1 per step */
  BurnTensor **tensors; /* one per row of the rule, NULL if absent */
} BurnOptimizerState;

/* One update of one parameter. Takes param and gradient, which have one shape, dtype and (inner) device; state tensors
 * that are present have the same. The dtype is that of the parameter, but f32 for f16 and bf16. Returns the new param
 * and replaces the state's tensors; failures travel in any of them. To work in place, a step gives its tensors away
 * instead of cloning them. */
typedef BurnTensor *(*BurnOptimizerStep)(const void *config, BurnOptimizerState *state, BurnTensor *param,
                                         BurnTensor *gradient, double learning_rate);

/* What an optimizer is: burn_optimizer_* do the rest, the walk over the module, states by parameter id, records. */
typedef struct BurnOptimizerRule {
  const char *name; /* "adam": in messages */
  BurnOptimizerStep step;
  const BurnStateTensor *tensors; /* [tensor_count] */
  size_t tensor_count;
  const char *time_group; /* the group whose map also has `time`, "" for none; NULL: the rule counts no steps */
} BurnOptimizerRule;

/* An optimizer by a rule, which must outlive it, with a copy of its config. NULL when out of memory. */
BURN_API BURN_USE_RESULT BurnOptimizer *burn_optimizer_create(const BurnOptimizerRule *rule, const void *config,
                                                              size_t config_bytes);

BURN_EXTERN_C_END

#endif
