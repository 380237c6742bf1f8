/* module_row_test.c - a row of a module by itself: burn_module(BurnModuleList, &net.blocks) and the like are modules for
 * every function that takes one. */
#include "reflection_testing.h"

#include <unistd.h>

static bool tracked(const BurnParam *param) { return burn_is_require_grad(param->value); }

static Block *block_of(const Net *net, size_t index) { return burn_module_list_at(&net->blocks, index); }

static void test_a_row_is_frozen_by_itself(void **state) {
  const Fixture *fixture = *state;
  Net net = net_make(fixture->training, 0);
  burn_module_freeze(burn_module(BurnModuleList, &net.blocks));
  assert_false(tracked(&block_of(&net, 0)->dense.weight) || tracked(&block_of(&net, 1)->norm.gamma));
  assert_true(tracked(&net.dense.weight) && tracked(&net.tail.weight));
  burn_module_unfreeze(burn_module(BurnParam, &block_of(&net, 1)->norm.gamma));
  assert_true(tracked(&block_of(&net, 1)->norm.gamma));
  assert_false(tracked(&block_of(&net, 1)->dense.weight));
  burn_module_freeze(burn_module(BurnParam, &net.dense.bias));
  assert_true(tracked(&net.dense.weight) && !tracked(&net.dense.bias));
  Net_release(&net);
}

static BurnStatus add_path(void *context, const BurnModuleTensor *tensor) {
  char *text = context;
  (void)snprintf(text + strlen(text), 256 - strlen(text), "%s:%s ", tensor->path, burn_type_short_name(tensor->layer));
  return BURN_OK;
}

static void test_a_row_is_walked_over(void **state) {
  const Fixture *fixture = *state;
  Net net = net_make(fixture->plain, 0);
  char list[256] = "", param[256] = "", buffer[256] = "";
  const BurnBuffer *mean = &block_of(&net, 0)->norm.running_mean;
  check_status(burn_module_visit(burn_module(BurnModuleList, &net.blocks), add_path, list));
  check_status(burn_module_visit(burn_module(BurnParam, &net.dense.bias), add_path, param));
  check_status(burn_module_visit(burn_module(BurnBuffer, (BurnBuffer *)(uintptr_t)mean), add_path, buffer));
  assert_string_equal(list,
                      "0.dense.weight:Dense 0.dense.bias:Dense 0.norm.gamma:TestNorm 0.norm.running_mean:TestNorm "
                      "1.dense.weight:Dense 1.dense.bias:Dense 1.norm.gamma:TestNorm 1.norm.running_mean:TestNorm ");
  assert_string_equal(param, ":Param ");
  assert_string_equal(buffer, ":Buffer ");
  assert_int_equal(burn_module_num_params(burn_module(BurnModuleList, &net.blocks)), 2 * (6 + 3 + 3 + 3));
  assert_int_equal(burn_module_num_params(burn_module(BurnParam, &net.dense.bias)), 3);
  /* A parameter is known by its place in the whole module, before and after. */
  assert_string_equal(net.dense.bias.path, "dense.bias");
  assert_string_equal(block_of(&net, 1)->dense.bias.path, "blocks.1.dense.bias");
  Net_release(&net);
}

static void test_a_row_of_no_module_has_no_path(void **state) {
  const Fixture *fixture = *state;
  BurnParam param = burn_param(ramp(fixture->plain, 0, BURN_SHAPE(3)));
  check_status(burn_module_status(burn_module(BurnParam, &param)));
  assert_null(param.path);
  char *text = burn_module_text(burn_module(BurnParam, &param));
  assert_string_equal(text, "[3]");
  free(text);
  burn_module_release(burn_module(BurnParam, &param));
  assert_null(param.value);
}

static void test_a_failed_row_is_told(void **state) {
  (void)state;
  BurnParam param = burn_param(burn_tensor_failed(burn_status_make(BURN_STATUS_IO, "weights.bin: too short")));
  assert_int_equal(burn_status_code(burn_module_status(burn_module(BurnParam, &param))), BURN_STATUS_IO);
  burn_module_release(burn_module(BurnParam, &param));
}

static void check_record(BurnModule from, BurnModule into, uint32_t format) {
  const BurnRecordConfig config = {format, BURN_PRECISION_FULL};
  uint8_t *bytes = NULL;
  size_t count = 0;
  NetDump before, after;
  memset(&before, 0, sizeof before);
  memset(&after, 0, sizeof after);
  check_status(burn_record_to_bytes(from, &config, &bytes, &count));
  check_status(burn_record_from_bytes(into, bytes, count, &config));
  check_status(burn_module_visit(from, dump_tensor, &before));
  check_status(burn_module_visit(into, dump_tensor, &after));
  assert_true(before.count > 0 && before.tensors == after.tensors && same_values(&before, &after));
  assert_memory_equal(before.ids, after.ids, sizeof before.ids);
  free(bytes);
}

static void test_a_row_has_a_record(void **state) {
  const Fixture *fixture = *state;
  static const uint32_t formats[] = {BURN_RECORD_MPK, BURN_RECORD_BPK, BURN_RECORD_JSON, BURN_RECORD_BIN};
  for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
    Net net = net_make(fixture->plain, 0), other = net_make(fixture->plain, 7);
    check_record(burn_module(BurnModuleList, &net.blocks), burn_module(BurnModuleList, &other.blocks), formats[i]);
    check_record(burn_module(BurnParam, &net.dense.weight), burn_module(BurnParam, &other.dense.weight), formats[i]);
    Net_release(&net);
    Net_release(&other);
  }
}

static void test_a_row_is_copied(void **state) {
  const Fixture *fixture = *state;
  Net net = net_make(fixture->training, 0);
  BurnModuleList copy, valid;
  burn_module_clone(burn_module(BurnModuleList, &net.blocks), &copy);
  burn_module_valid(burn_module(BurnModuleList, &net.blocks), &valid);
  const Block *block = burn_module_list_at(&copy, 1), *inner = burn_module_list_at(&valid, 1);
  assert_true(copy.data != net.blocks.data && block->dense.weight.value != block_of(&net, 1)->dense.weight.value);
  assert_true(burn_tensor_device(inner->dense.weight.value) == burn_device_inner(fixture->training));
  burn_module_release(burn_module(BurnModuleList, &copy));
  burn_module_release(burn_module(BurnModuleList, &valid));
  assert_null(copy.data);
  Net_release(&net);
}

static int teardown(void **state) {
  Fixture *fixture = *state;
  burn_device_close(fixture->plain);
  burn_device_close(fixture->training);
  return rmdir(fixture->folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_row_is_frozen_by_itself),
      cmocka_unit_test(test_a_row_is_walked_over),
      cmocka_unit_test(test_a_row_of_no_module_has_no_path),
      cmocka_unit_test(test_a_failed_row_is_told),
      cmocka_unit_test(test_a_row_has_a_record),
      cmocka_unit_test(test_a_row_is_copied),
  };
  return cmocka_run_group_tests(tests, fixture_setup, teardown);
}
