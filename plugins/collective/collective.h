/* collective.h - the meeting of threads in which values are added up. */
#ifndef BURN_COLLECTIVE_H
#define BURN_COLLECTIVE_H

#include <burn/plugin/host.h>

/* Who takes part: replica `rank` of `count` in the group with this number; rank -1: one that has failed. */
typedef struct CollectiveMember {
  int64_t group, rank, count;
  double timeout; /* seconds that it waits for the others, 0 or more; infinite: three years */
} CollectiveMember;

/* Whether there can be such a member, whoever the others are. */
BurnStatus collective_check(const BurnHost *host, const CollectiveMember *member);

/* Replaces values[length] by their sums over the members of the group, added up in the order of ranks: so all members
 * get the same bits, in every run. Waits for the others. The same member may come again: each time is a meeting of its
 * own. `values` NULL or a rank of -1: this member has failed and says so, instead of making the others wait. With one
 * that fails, or does not come in time, all fail, then and later. */
BurnStatus collective_sum(const BurnHost *host, const CollectiveMember *member, double *values, int64_t length);

#endif
