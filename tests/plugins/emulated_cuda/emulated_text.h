/* emulated_text.h - a text of kernels as the C++ compiler takes it. */
#ifndef BURN_EMULATED_TEXT_H
#define BURN_EMULATED_TEXT_H

/* The text in a namespace without a name, its kernels noted and exported; the caller frees it. NULL: no memory. */
char *emulated_text(const char *source);

#endif
