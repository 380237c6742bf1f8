/* module_of_members.cpp - a struct with BURN_CPP_MODULE: as it is, or with a member that the macro does not list. */
#include <burn/module.hpp>

struct Model {
  burn::Param weight;
#if defined(UNLISTED)
  burn::Param bias;
#endif
#if defined(NO_ROW)
  char *name;
  BURN_CPP_MODULE(Model, weight, name)
#else
  BURN_CPP_MODULE(Model, weight)
#endif
};

const BurnType *type_of_model();
const BurnType *type_of_model() { return Model::burn_type(); }
