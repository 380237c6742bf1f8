/* sentences.h - texts cut into sentences by a network over bytes. */
#ifndef TEXT_ENCODER_SENTENCES_H
#define TEXT_ENCODER_SENTENCES_H

#include <burn/burn.h>
#include <burn/onnx.h>

/* Sets ends[i], of `length` bytes, where a sentence ends after byte i: where
 * that is likelier than `threshold`. The graph takes u8 [1, n], and gives f32
 * [1, n, 2]: logits of the end of a sentence, and of a word. */
BurnStatus sentences_find(BurnGraph *graph, BurnDevice *device,
                          const char *text, size_t length, double threshold,
                          bool *ends);

#endif
