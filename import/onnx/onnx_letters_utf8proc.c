/* onnx_letters_utf8proc.c - letters in another case, by utf8proc. */
#include "onnx_letters.h"

#include <string.h>
#include <utf8proc.h>

bool onnx_add_in_case(OnnxStringsBuilder *builder, const char *text, bool upper) {
  const utf8proc_uint8_t *at = (const utf8proc_uint8_t *)text;
  utf8proc_ssize_t left = (utf8proc_ssize_t)strlen(text);
  while (left > 0) {
    utf8proc_int32_t code;
    utf8proc_uint8_t bytes[4];
    const utf8proc_ssize_t taken = utf8proc_iterate(at, left, &code);
    if (taken <= 0) return false;
    const utf8proc_ssize_t made = utf8proc_encode_char(upper ? utf8proc_toupper(code) : utf8proc_tolower(code), bytes);
    onnx_add_bytes(builder, (const char *)bytes, (size_t)made);
    at += taken;
    left -= taken;
  }
  onnx_end_string(builder);
  return true;
}
