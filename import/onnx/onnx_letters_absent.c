/* onnx_letters_absent.c - letters in another case in a build without utf8proc: those of ASCII. */
#include "onnx_letters.h"

bool onnx_add_in_case(OnnxStringsBuilder *builder, const char *text, bool upper) {
  const char first = upper ? 'a' : 'A', step = upper ? 'A' - 'a' : 'a' - 'A';
  bool ascii = true;
  for (; *text; text++) {
    const bool changes = *text >= first && *text < first + 26;
    const char letter = (char)(*text + (changes ? step : 0));
    onnx_add_bytes(builder, &letter, 1);
    ascii = ascii && (unsigned char)*text < 128;
  }
  onnx_end_string(builder);
  return ascii;
}
