/* given.c - what a plugin gave with success, looked at before anybody uses it: a plugin may report success and have set
 * nothing, or a tensor of another shape. */
#include "core_internal.h"

BurnStatus burn__wrong_given(const BurnBackend *from, const char *asked, const BurnTensorDesc *desc,
                             BurnPrimitive **x) {
  BurnPrimitive *wrong = *x;
  *x = NULL;
  if (!wrong) return BURN_FAIL(INTERNAL, "%s: '%s' reports success, but gave no tensor", asked, from->name);
  BurnShapeText given, wanted;
  const bool is_readable = wrong->shape && wrong->rank <= BURN_MAX_RANK;
  const BurnStatus status = BURN_FAIL(INTERNAL, "%s: '%s' gave a tensor of %s%s%s, not of %s %s", asked, from->name,
                                      burn_dtype_name(wrong->dtype), is_readable ? " " : "",
                                      is_readable ? burn__shape_of(&given, wrong) : " and no shape",
                                      burn_dtype_name(desc->dtype), burn__shape_text(&wanted, desc->rank, desc->shape));
  from->release(from->self, wrong);
  return status;
}

BurnStatus burn__backend_create(const BurnBackend *backend, const BurnTensorDesc *desc, const void *data,
                                BurnPrimitive **out) {
  const BurnStatus status = backend->create(backend->self, desc, data, out);
  return status == BURN_OK ? burn__check_given(backend, "create", desc, out) : status;
}

BurnStatus burn__backend_adopt(const BurnBackend *backend, BurnPrimitive *below, BurnPrimitive **out) {
  *out = NULL;
  const BurnStatus status = backend->adopt(backend->self, below, out);
  return status == BURN_OK ? burn__check_given(backend, "adopt", NULL, out) : status;
}

bool burn__backend_ask(const BurnBackend *backend, const char *name, BurnInterface *out) {
  *out = (BurnInterface){NULL, NULL};
  return backend->get_interface(backend->self, name, 1, out) != 0 && out->table;
}
