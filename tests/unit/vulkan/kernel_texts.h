/* kernel_texts.h - the texts of kernels as files of the source tree, for tests of their compiler. */
#ifndef BURN_TEST_KERNEL_TEXTS_H
#define BURN_TEST_KERNEL_TEXTS_H

/* What goes before every kernel for Vulkan. */
const char *kernel_texts_prelude(void);

#endif
