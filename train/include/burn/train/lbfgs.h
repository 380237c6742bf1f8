/* lbfgs.h - L-BFGS, which looks at all parameters at once and computes the loss several times per step: for small
 * modules and losses without noise, over all data. The formulas and defaults are Burn's and PyTorch's.
 *
 *   static BurnTensor *loss_of(void *context) { .. forward, loss .. }
 *
 *   BurnLbfgsConfig config = BurnLbfgsConfig_defaults();
 *   config.line_search = (BurnLineSearch)BURN_STRONG_WOLFE;
 *   BurnLbfgs *lbfgs = burn_lbfgs_create(&config);
 *   for (int step = 0; status == BURN_OK && step < 10; step++) {
 *     status = burn_lbfgs_step(lbfgs, burn_module(Mlp, &mlp), loss_of, &run, 1.0, &loss);
 *   }
 *   burn_lbfgs_destroy(lbfgs); */
#ifndef BURN_TRAIN_LBFGS_H
#define BURN_TRAIN_LBFGS_H

#include <burn/burn.h>

BURN_EXTERN_C_BEGIN

/* How far a step goes along its direction. */
enum {
  BURN_LINE_SEARCH_NONE,        /* the learning rate */
  BURN_LINE_SEARCH_STRONG_WOLFE /* until the loss has fallen enough (1e-4) and its slope is small enough (0.9) */
};
typedef struct BurnLineSearch {
  uint32_t kind; /* BURN_LINE_SEARCH_* */
} BurnLineSearch;
BURN_API const BurnType *BurnLineSearch_type(void);
/* Values for rows; with a cast for assignments and arguments: (BurnLineSearch)BURN_STRONG_WOLFE. */
#define BURN_NO_LINE_SEARCH BURN_INTERNAL_ROW_VALUE(BurnLineSearch, BURN_LINE_SEARCH_NONE)
#define BURN_STRONG_WOLFE BURN_INTERNAL_ROW_VALUE(BurnLineSearch, BURN_LINE_SEARCH_STRONG_WOLFE)

/* How many iterations a step has, and when it ends before that. The line search may compute as many losses as max_eval
 * leaves, as in Burn (PyTorch: 25). */
#define BURN_LBFGS_CONFIG(REQ, OPT)                                                        \
  OPT(BurnSize, max_iter, 20, "iterations of a step")                                      \
  OPT(BurnSize, history_size, 100, "last changes that the direction is made from")         \
  OPT(BurnF64, tolerance_grad, 1e-7, "a step ends where no gradient is larger")            \
  OPT(BurnF64, tolerance_change, 1e-9, "a step ends where loss or parameters change less") \
  OPT(BurnSize, max_eval, 0, "losses that a step may compute; 0: 5/4 of max_iter")         \
  OPT(BurnLineSearch, line_search, BURN_NO_LINE_SEARCH, "how far it goes along its direction")
BURN_CONFIG_OPTIONAL(BurnLbfgsConfig, BURN_LBFGS_CONFIG);

/* An optimizer with its history. */
typedef struct BurnLbfgs BurnLbfgs;

/* The loss, one number, of the parameters that the module has at the call, computed on the device with autodiff: called
 * several times per step, with other parameters each time. Failures travel in it. */
typedef BurnTensor *(*BurnLossClosure)(void *context);

/* `config` NULL means the defaults. NULL when out of memory; a number that makes no sense is reported by
 * burn_lbfgs_status and by each step. */
BURN_API BURN_USE_RESULT BurnLbfgs *burn_lbfgs_create(const BurnLbfgsConfig *config);
BURN_API void burn_lbfgs_destroy(BurnLbfgs *lbfgs); /* NULL is allowed */
/* BURN_OK, or why the optimizer cannot step. */
BURN_API BURN_USE_RESULT BurnStatus burn_lbfgs_status(const BurnLbfgs *lbfgs);

/* Moves all parameters that ask for gradients, which are on one device; *loss (NULL allowed) is that of the parameters
 * it ends with. One that the loss does not reach counts as having a gradient of 0, as in PyTorch; a loss that reaches
 * none is INVALID_ARGUMENT. The step is computed in f32, or f64 where a parameter is, and waits for the device: a few
 * numbers per iteration decide how it goes on. On failure the parameters are those of the last whole iteration. */
BURN_API BURN_USE_RESULT BurnStatus burn_lbfgs_step(BurnLbfgs *lbfgs, BurnModule module, BurnLossClosure closure,
                                                    void *context, double learning_rate, double *loss);

/* The state as a record value, {history_s, history_y, d, t, prev_flat_grad, prev_loss, g_iter} as Burn's, and back onto
 * the device of the parameters. Loading replaces the whole state, or nothing on failure. */
BURN_API BURN_USE_RESULT BurnValue *burn_lbfgs_value(const BurnLbfgs *lbfgs);
BURN_API BURN_USE_RESULT BurnStatus burn_lbfgs_load(BurnLbfgs *lbfgs, const BurnValue *value, BurnDevice *device);

BURN_EXTERN_C_END

#endif
