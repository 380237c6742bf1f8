/* param_group.c - see burn/param_group.h. */
#include <burn/param_group.h>

#include "null_check.h"

#include <burn/record.h>

#include <string.h>

static bool has_path(const char *const *paths, const char *path) {
  while (paths && *paths && strcmp(*paths, path) != 0) paths++;
  return paths && *paths;
}

static bool has_all_parts(const char *const *parts, const char *path) {
  if (!parts) return false;
  while (*parts && strstr(path, *parts)) parts++;
  return !*parts;
}

static bool has_part(const char *const *parts, const char *path) {
  while (parts && *parts && !strstr(path, *parts)) parts++;
  return parts && *parts;
}

static bool has_id(const BurnParamGroup *group, uint64_t id) {
  size_t i = 0;
  if (!group->ids) return false;
  while (i < group->id_count && group->ids[i] != id) i++;
  return i < group->id_count;
}

bool burn_param_group_has(const BurnParamGroup *group, const char *path, uint64_t id) {
  if (!group) return true;
  const bool any = !group->paths && !group->parts && !group->any_parts && !group->ids && !group->matches;
  const bool found = any || has_path(group->paths, path) || has_all_parts(group->parts, path) ||
                     has_part(group->any_parts, path) || has_id(group, id) ||
                     (group->matches && group->matches(group->context, path, id));
  return found && !(group->excludes && burn_param_group_has(group->excludes, path, id));
}

/* -- what groups name has to be there ---------------------------------------------------------- */

/* A path or, if it is NULL, an id that is looked for. */
typedef struct Wanted {
  const char *path;
  uint64_t id;
  bool found;
} Wanted;

static BurnStatus look_at(void *context, const BurnModuleTensor *tensor) {
  Wanted *wanted = context;
  if (!tensor->param) return BURN_OK;
  const bool same = wanted->path ? strcmp(wanted->path, tensor->path) == 0 : wanted->id == tensor->param->id;
  wanted->found = wanted->found || same;
  return BURN_OK;
}

static BurnStatus check_wanted(BurnModule module, const char *who, Wanted wanted) {
  char id[14];
  const BurnStatus status = burn_module_visit(module, look_at, &wanted);
  if (status != BURN_OK || wanted.found) return status;
  burn_param_id_text(wanted.id, id);
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: a group has the parameter %s, which %s has not", who,
                          wanted.path ? wanted.path : id, burn_type_short_name(module.type));
}

BurnStatus burn_param_group_check(const BurnParamGroup *group, BurnModule module, const char *who) {
  BurnStatus status = group && group->id_count > 0 ? BURN_REQUIRED_BY(who, group->ids, "a list of ids") : BURN_OK;
  for (size_t i = 0; group && group->paths && group->paths[i] && status == BURN_OK; i++) {
    status = check_wanted(module, who, (Wanted){.path = group->paths[i]});
  }
  for (size_t i = 0; group && i < group->id_count && status == BURN_OK; i++) {
    status = check_wanted(module, who, (Wanted){.id = group->ids[i]});
  }
  return group && status == BURN_OK ? burn_param_group_check(group->excludes, module, who) : status;
}
