/* initializer.h - first values of parameters: formulas and defaults as in Burn.
 *
 * An initializer is a value that can stand in a config row and in JSON:
 *
 *   OPT(BurnInitializer, initializer, BURN_KAIMING_UNIFORM, "first values of weight and bias")
 *   config.initializer = (BurnInitializer)BURN_NORMAL(0, 0.02);
 *   {"initializer": {"Normal": {"mean": 0, "std": 0.02}}}
 *
 * fan_in and fan_out are the numbers of values that enter and leave one unit; the layer knows them. */
#ifndef BURN_NN_INITIALIZER_H
#define BURN_NN_INITIALIZER_H

#include <burn/ops.h>
#include <burn/reflect.h>

BURN_EXTERN_C_BEGIN

/* Cases of an initializer, in the order of Burn's enum. `fan` below is fan_out if fan_out_only, else fan_in. */
enum {
  BURN_INITIALIZER_CONSTANT = 0,    /* value everywhere */
  BURN_INITIALIZER_ONES,            /* 1 */
  BURN_INITIALIZER_ZEROS,           /* 0 */
  BURN_INITIALIZER_UNIFORM,         /* U[min, max) */
  BURN_INITIALIZER_NORMAL,          /* N(mean, std^2) */
  BURN_INITIALIZER_KAIMING_UNIFORM, /* U(-b, b), b = sqrt(3) gain / sqrt(fan) */
  BURN_INITIALIZER_KAIMING_NORMAL,  /* N(0, (gain / sqrt(fan))^2) */
  BURN_INITIALIZER_XAVIER_UNIFORM,  /* U(-b, b), b = sqrt(3) gain sqrt(2 / (fan_in + fan_out)) */
  BURN_INITIALIZER_XAVIER_NORMAL,   /* N(0, gain^2 2 / (fan_in + fan_out)) */
  BURN_INITIALIZER_ORTHOGONAL       /* gain times an orthogonal matrix */
};

/* How first values are drawn: a case with the fields that it uses. Start from one of the values below. */
typedef struct BurnInitializer {
  uint32_t kind;         /* BURN_INITIALIZER_* */
  BurnF64 value;         /* Constant */
  BurnF64 min, max;      /* Uniform */
  BurnF64 mean, std;     /* Normal */
  BurnF64 gain;          /* Kaiming, Xavier, Orthogonal */
  BurnBool fan_out_only; /* Kaiming */
} BurnInitializer;
BURN_API const BurnType *BurnInitializer_type(void);

/* KIND, value, min, max, mean, std, gain. */
#define BURN_INTERNAL_INITIALIZER(KIND, ...) \
  BURN_INTERNAL_ROW_VALUE(BurnInitializer, BURN_INITIALIZER_##KIND, __VA_ARGS__, false)
/* Values for rows; with a cast for assignments and arguments: config.initializer = (BurnInitializer)BURN_ZEROS; The
 * Kaiming gain of Burn's layers is 1/sqrt(3): uniform in +-1/sqrt(fan_in). */
#define BURN_CONSTANT(number) BURN_INTERNAL_INITIALIZER(CONSTANT, (number), 0, 0, 0, 0, 0)
#define BURN_ONES BURN_INTERNAL_INITIALIZER(ONES, 0, 0, 0, 0, 0, 0)
#define BURN_ZEROS BURN_INTERNAL_INITIALIZER(ZEROS, 0, 0, 0, 0, 0, 0)
#define BURN_UNIFORM(low, high) BURN_INTERNAL_INITIALIZER(UNIFORM, 0, (low), (high), 0, 0, 0)
#define BURN_NORMAL(center, deviation) BURN_INTERNAL_INITIALIZER(NORMAL, 0, 0, 0, (center), (deviation), 0)
#define BURN_KAIMING_UNIFORM BURN_INTERNAL_INITIALIZER(KAIMING_UNIFORM, 0, 0, 0, 0, 0, BURN_KAIMING_GAIN)
#define BURN_KAIMING_NORMAL BURN_INTERNAL_INITIALIZER(KAIMING_NORMAL, 0, 0, 0, 0, 0, BURN_KAIMING_GAIN)
#define BURN_XAVIER_UNIFORM BURN_INTERNAL_INITIALIZER(XAVIER_UNIFORM, 0, 0, 0, 0, 0, 1)
#define BURN_XAVIER_NORMAL BURN_INTERNAL_INITIALIZER(XAVIER_NORMAL, 0, 0, 0, 0, 0, 1)
#define BURN_ORTHOGONAL BURN_INTERNAL_INITIALIZER(ORTHOGONAL, 0, 0, 0, 0, 0, 1)
#define BURN_KAIMING_GAIN 0.5773502691896258 /* 1/sqrt(3), every bit as Burn writes it */

/* A tensor of the device's default float dtype with first values; random ones advance the device's random state. A fan
 * of 0 means that the parameter has none: failed if the initializer needs it. Orthogonal needs rank 2 or more, so no
 * layer with a bias takes it, as in Burn: axis 0 makes the rows and all others the columns of a matrix whose rows, or
 * columns where they are fewer, are orthogonal; it is Q of a normal matrix, with signs that make R's diagonal positive,
 * so that every orthogonal matrix is equally likely. */
BURN_API BURN_GIVES BurnTensor *burn_initializer_tensor(const BurnInitializer *initializer, BurnShape shape,
                                                        int64_t fan_in, int64_t fan_out, BurnDevice *device);

BURN_EXTERN_C_END

#endif
