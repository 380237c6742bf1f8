/* collective_meeting.c - see collective.h. A group is a meeting room: members come in until all are there, the last one
 * adds up, all take the sums and leave; then the next meeting may begin. One mutex for all rooms: what it guards are
 * sums of some hundred numbers. */
#include "collective.h"

#include <burn/common/failure.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OP "collective.all_reduce"

enum { MAX_MEMBERS = 1024, MAX_SECONDS = 100000000 /* three years: clocks count further */ };

typedef struct Room {
  struct Room *next;
  int64_t group, count, length;
  int64_t here, leaving; /* members that have come; that still have to take the sums */
  double **values;       /* [count], borrowed: whose owners wait; NULL: not here yet */
  const char *why;       /* a failed group stays so, as its members no longer know where the others are; else NULL */
  char missing[96];      /* the text of one that waited in vain */
} Room;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static Room *rooms;

/* The room of the member's group, a new one if there is none; NULL when out of memory. */
static Room *enter(const CollectiveMember *member) {
  Room *room = rooms;
  while (room && room->group != member->group) room = room->next;
  if (room) return room;
  room = calloc(1, sizeof *room);
  double **values = calloc((size_t)member->count, sizeof *values);
  if (!room || !values) {
    free(room);
    free(values);
    return NULL;
  }
  *room = (Room){.next = rooms, .group = member->group, .count = member->count, .values = values};
  return rooms = room;
}

/* The last one out closes the room: groups that are no longer used leave nothing. */
static void leave(Room *room) {
  if (--room->leaving > 0) return;
  Room **at = &rooms;
  while (*at != room) at = &(*at)->next;
  *at = room->next;
  free(room->values);
  free(room);
  (void)pthread_cond_broadcast(&changed);
}

static const char *fail(Room *room, const char *why) {
  room->why = why;
  (void)pthread_cond_broadcast(&changed);
  return why;
}

/* Into the values of the first, then to all. */
static void add_up(const Room *room) {
  double *sums = room->values[0];
  for (int64_t r = 1; r < room->count; r++) {
    for (int64_t i = 0; i < room->length; i++) sums[i] += room->values[r][i];
  }
  for (int64_t r = 1; r < room->count; r++) memcpy(room->values[r], sums, (size_t)room->length * sizeof *sums);
}

static struct timespec in_seconds(double seconds) {
  struct timespec now = {0};
  if (seconds > MAX_SECONDS) seconds = MAX_SECONDS;
  (void)clock_gettime(CLOCK_REALTIME, &now);
  const double nanoseconds = (double)now.tv_nsec + (seconds - (double)(long)seconds) * 1e9;
  now.tv_sec += (time_t)seconds + (time_t)(nanoseconds / 1e9);
  now.tv_nsec = (long)(nanoseconds - (double)(long)(nanoseconds / 1e9) * 1e9);
  return now;
}

/* Why the member cannot take part, or NULL. */
static const char *refuses(const Room *room, const CollectiveMember *member, const double *values, int64_t length) {
  if (!values) return "a member has failed";
  if (room->count != member->count) return "members name different counts";
  if (room->values[member->rank]) return "two members have one rank";
  return room->here > 0 && room->length != length ? "members bring different numbers of values" : NULL;
}

/* Comes into the room of this meeting; waits at the door while the one before is leaving. NULL when out of memory or
 * time. */
static Room *come_in(const CollectiveMember *member, const struct timespec *until) {
  Room *room = enter(member);
  while (room && room->leaving > 0) {
    if (pthread_cond_timedwait(&changed, &mutex, until) != 0) return NULL;
    room = enter(member);
  }
  return room;
}

/* Waits until all have come or one has failed. */
static const char *wait_for_all(Room *room, double seconds, const struct timespec *until) {
  while (room->leaving == 0 && !room->why) {
    if (pthread_cond_timedwait(&changed, &mutex, until) != 0 && room->leaving == 0 && !room->why) {
      (void)snprintf(room->missing, sizeof room->missing, "only %lld of %lld members came within %g seconds",
                     (long long)room->here, (long long)room->count, seconds);
      return fail(room, room->missing);
    }
  }
  return room->why;
}

/* Under the mutex. Why there is no sum, or NULL. */
static const char *meet(const CollectiveMember *member, double *values, int64_t length) {
  const struct timespec until = in_seconds(member->timeout);
  Room *room = come_in(member, &until);
  if (!room) return "out of memory, or the meeting before did not end in time";
  if (room->why) return room->why;
  const char *why = refuses(room, member, values, length);
  if (why) return fail(room, why);
  room->length = length;
  room->values[member->rank] = values;
  if (++room->here == room->count) {
    add_up(room);
    room->leaving = room->count;
    (void)pthread_cond_broadcast(&changed);
  }
  why = wait_for_all(room, member->timeout, &until);
  if (!why) leave(room);
  return why;
}

BurnStatus collective_check(const BurnHost *host, const CollectiveMember *member) {
  if (member->count < 1 || member->count > MAX_MEMBERS || member->rank < -1 || member->rank >= member->count) {
    return BURN_COMMON_FAIL(host, INVALID_ARGUMENT, OP, "rank %lld of %lld, 0 .. count - 1 of 1 .. %d expected",
                            (long long)member->rank, (long long)member->count, MAX_MEMBERS);
  }
  if (!(member->timeout >= 0)) {
    return BURN_COMMON_FAIL(host, INVALID_ARGUMENT, OP, "a timeout of %g seconds, 0 or more expected", member->timeout);
  }
  return BURN_OK;
}

BurnStatus collective_sum(const BurnHost *host, const CollectiveMember *member, double *values, int64_t length) {
  const BurnStatus possible = collective_check(host, member);
  if (possible != BURN_OK) return possible;
  (void)pthread_mutex_lock(&mutex);
  const char *why = meet(member, member->rank < 0 ? NULL : values, length);
  (void)pthread_mutex_unlock(&mutex);
  if (!why) return BURN_OK;
  return BURN_COMMON_FAIL(host, FAILED_PRECONDITION, OP, "group %lld, rank %lld of %lld: %s", (long long)member->group,
                          (long long)member->rank, (long long)member->count, why);
}
