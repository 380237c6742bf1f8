/* cuda_dnn_test.c - the graphs that the CUDA backend gives to cuDNN: each of their descriptors is accepted, which needs the
 * library and no device. Where there is no cuDNN, nothing is tested. */
#include "forked.h"

#include "cuda_dnn.h"

#include <string.h>

static const CudaDnnLibrary *library;

static int set_up(void **state) {
  (void)state;
  library = burn__cuda_dnn_library_alone();
  if (!library) print_message("cuDNN is not here: its graphs are not made\n");
  return 0;
}

/* Ends the graph. */
static void check_graph(DnnGraph *graph, uint32_t operations) {
  if (graph->error) fail_msg("%s", graph->problem);
  assert_int_equal(graph->operation_count, operations);
  burn__dnn_graph_end(graph);
  assert_int_equal(graph->made_count, 0);
}

/* -- convolutions ----------------------------------------------------------------------------- */

static void take(int64_t shape[], int64_t strides[], int rank, const int64_t *sizes) {
  int64_t stride = 1;
  for (int axis = rank - 1; axis >= 0; axis--) {
    shape[axis] = sizes[axis];
    strides[axis] = stride;
    stride *= sizes[axis];
  }
}

/* Two groups, steps and padding of two kinds; planes or volumes. */
static DnnConv conv_of(int rank, int kind, int type) {
  static const int64_t pixels[] = {2, 4, 9, 8, 7}, windows[] = {2, 6, 4, 6, 7}, weight[] = {6, 2, 3, 3, 1};
  DnnConv conv = {
      .rank = rank, .kind = kind, .type = type, .stride = {2, 1, 1}, .padding = {0, 1, 0}, .dilation = {1, 2, 1}};
  take(conv.pixels, conv.pixel_strides, rank, pixels);
  take(conv.windows, conv.window_strides, rank, windows);
  take(conv.weight, conv.weight_strides, rank, weight);
  return conv;
}

static void test_convolutions_are_accepted(void **state) {
  static const int types[] = {DNN_F32, DNN_F16, DNN_BF16};
  (void)state;
  if (!library) skip();
  for (int kind = DNN_CONV_FORWARD; kind <= DNN_CONV_WEIGHT; kind++)
    for (int rank = 4; rank <= 5; rank++)
      for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        DnnConv conv = conv_of(rank, kind, types[i]);
        DnnGraph graph;
        burn__dnn_graph_begin(&graph, library);
        burn__dnn_conv(&graph, &conv);
        check_graph(&graph, 1);
        burn__dnn_put_channels_last(&conv);
        burn__dnn_graph_begin(&graph, library);
        burn__dnn_conv(&graph, &conv);
        check_graph(&graph, 1);
      }
}

/* Pixels [2, 4, 9, 8] as [2, 9, 8, 4]. */
static void test_channels_come_last(void **state) {
  static const int64_t expected[] = {288, 1, 32, 4};
  DnnConv conv = conv_of(4, DNN_CONV_FORWARD, DNN_F32);
  (void)state;
  burn__dnn_put_channels_last(&conv);
  assert_memory_equal(conv.pixel_strides, expected, sizeof expected);
}

/* A failure keeps its words, and nothing after it is made. */
static void test_a_wrong_convolution_is_told(void **state) {
  (void)state;
  if (!library) skip();
  DnnConv conv = conv_of(4, DNN_CONV_FORWARD, DNN_F32);
  DnnGraph graph;
  conv.windows[2] = 5; /* there are 4 places */
  burn__dnn_graph_begin(&graph, library);
  burn__dnn_conv(&graph, &conv);
  assert_int_not_equal(graph.error, 0);
  assert_int_equal(graph.operation_count, 0);
  assert_non_null(strstr(graph.problem, "convolution operation 0: error"));
  assert_null(burn__dnn_make(&graph, 0));
  burn__dnn_graph_end(&graph);
}

/* -- attention -------------------------------------------------------------------------------- */

/* Queries, keys and values side by side, [n, length, 3, heads, width]; results [n, length, heads, width]. */
static DnnAttention packed(bool is_causal, int type) {
  DnnAttention a = {.n = 2, .heads = 3, .length = 256, .width = 64, .type = type, .is_causal = is_causal};
  const int64_t inputs[] = {a.length * 3 * a.heads * a.width, a.width, 3 * a.heads * a.width, 1};
  const int64_t results[] = {a.length * a.heads * a.width, a.width, a.heads * a.width, 1};
  int64_t *const side_by_side[] = {a.query, a.key, a.value, a.query_grad, a.key_grad, a.value_grad};
  for (int i = 0; i < 6; i++) memcpy(side_by_side[i], inputs, sizeof inputs);
  memcpy(a.out, results, sizeof results);
  memcpy(a.grad, results, sizeof results);
  return a;
}

static void test_attention_is_accepted(void **state) {
  (void)state;
  if (!library) skip();
  for (int is_causal = 0; is_causal < 2; is_causal++) {
    const DnnAttention a = packed(is_causal, is_causal ? DNN_BF16 : DNN_F16);
    DnnGraph graph;
    burn__dnn_graph_begin(&graph, library);
    burn__dnn_attention(&graph, &a);
    check_graph(&graph, is_causal ? 14 : 10);
    burn__dnn_graph_begin(&graph, library);
    burn__dnn_attention_backward(&graph, &a);
    check_graph(&graph, is_causal ? 21 : 17);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_convolutions_are_accepted), cmocka_unit_test(test_channels_come_last),
      cmocka_unit_test(test_a_wrong_convolution_is_told), cmocka_unit_test(test_attention_is_accepted)};
  return cmocka_run_group_tests(tests, set_up, NULL);
}
