/* my_decorator.h - what programs may ask this decorator: how much has passed through it. */
#ifndef MY_DECORATOR_H
#define MY_DECORATOR_H

#include <burn/plugin/abi.h>

/* Interface "my_decorator.counts", version 1, found with the get_interface of the decorator's table. */
typedef struct MyDecoratorCounts {
  uint32_t struct_size;
  uint32_t version;
  uint64_t(BURN_API_CALL *calls)(void *self);    /* calls that passed, the replaced ones included */
  uint64_t(BURN_API_CALL *replaced)(void *self); /* calls that this decorator ran in its own way */
} MyDecoratorCounts;

#endif
