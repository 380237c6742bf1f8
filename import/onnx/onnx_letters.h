/* onnx_letters.h - letters in another case. One definition with utf8proc, onnx_letters_utf8proc.c, and one without,
 * onnx_letters_absent.c, which knows those of ASCII. */
#ifndef BURN_ONNX_LETTERS_H
#define BURN_ONNX_LETTERS_H

#include "onnx_strings.h"

/* Adds the text (UTF-8) in upper or lower case, character by character; false, with something else added, where it has
 * characters of which this build knows too little. */
bool onnx_add_in_case(OnnxStringsBuilder *builder, const char *text, bool upper);

#endif
