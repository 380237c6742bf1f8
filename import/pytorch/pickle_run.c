/* pickle_run.c - the stack machine of pickles: an action for every opcode of pickle_opcodes.def. */
#include "pickle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Forms of an opcode's argument. */
typedef enum Form {
  NOTHING,
  UNSIGNED_1,
  UNSIGNED_2,
  UNSIGNED_4,
  UNSIGNED_8,
  SIGNED_4,
  NUMBER_8, /* a double, highest byte first */
  BYTES_1,  /* a length of 1, 4 or 8 bytes, then so many */
  BYTES_4,
  BYTES_8,
  LINE, /* up to a newline, which is left out */
  TWO_LINES
} Form;

typedef struct Argument {
  uint64_t number;
  PickleText text, second;
} Argument;

typedef struct Refs {
  PickleRef *refs;
  size_t count, room;
} Refs;

typedef struct Run {
  Pickle *pickle;
  const uint8_t *bytes;
  size_t count, at;
  uint64_t base;
  size_t opcode; /* where the one that is run stands */
  bool is_done;
  Refs stack; /* a mark is a PICKLE_MARK of its own */
  Refs memo;  /* PICKLE_NOTHING: never put */
  PickleRef mark, none, truth, falsehood, empty;
} Run;

typedef struct Opcode {
  const char *name;
  Form form;
  BurnStatus (*action)(Run *run, const Argument *argument);
} Opcode;

static BurnStatus refuse(const Run *run, uint32_t code, const char *why);

static uint64_t offset_of(const Run *run) { return run->base + run->opcode; }

static BurnStatus corrupt(const Run *run, const char *why) { return refuse(run, BURN_STATUS_CORRUPT_DATA, why); }

/* -- the stack -------------------------------------------------------------------------------- */

static BurnStatus refs_grow(Pickle *pickle, Refs *refs, size_t least) {
  size_t room = refs->room > 0 ? 2 * refs->room : 64;
  if (room < least) room = least;
  const BurnStatus status = burn__pickle_charge(pickle, (uint64_t)room * sizeof *refs->refs);
  if (status != BURN_OK) return status;
  PickleRef *grown = realloc(refs->refs, room * sizeof *grown);
  if (grown == NULL) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "pickle: no memory for %zu objects", room);
  memset(grown + refs->room, 0, (room - refs->room) * sizeof *grown);
  refs->refs = grown;
  refs->room = room;
  return BURN_OK;
}

static BurnStatus push(Run *run, PickleRef ref) {
  if (run->stack.count == run->stack.room) {
    const BurnStatus status = refs_grow(run->pickle, &run->stack, 0);
    if (status != BURN_OK) return status;
  }
  run->stack.refs[run->stack.count++] = ref;
  return BURN_OK;
}

/* The object at the top, which is not a mark. */
static BurnStatus top(Run *run, PickleRef *ref) {
  const size_t count = run->stack.count;
  if (count == 0 || run->stack.refs[count - 1] == run->mark) return corrupt(run, "there is nothing on the stack");
  *ref = run->stack.refs[count - 1];
  return BURN_OK;
}

static BurnStatus pop(Run *run, PickleRef *ref) {
  const BurnStatus status = top(run, ref);
  if (status == BURN_OK) run->stack.count--;
  return status;
}

/* The place above the last mark. */
static BurnStatus above_mark(const Run *run, size_t *place) {
  size_t at = run->stack.count;
  while (at > 0 && run->stack.refs[at - 1] != run->mark) at--;
  if (at == 0) return corrupt(run, "there is no mark on the stack");
  *place = at;
  return BURN_OK;
}

/* Pushes a new object; *ref is it. */
static BurnStatus make(Run *run, uint32_t kind, PickleRef *ref) {
  const BurnStatus status = burn__pickle_make(run->pickle, kind, offset_of(run), ref);
  return status == BURN_OK ? push(run, *ref) : status;
}

static PickleObject *object_at(const Run *run, PickleRef ref) { return burn__pickle_at(run->pickle, ref); }

/* Moves what is above `place` to the end of a list or dict. */
static BurnStatus move_items(Run *run, size_t place, PickleRef to) {
  BurnStatus status = BURN_OK;
  for (size_t i = place; i < run->stack.count && status == BURN_OK; i++)
    status = burn__pickle_push(run->pickle, to, run->stack.refs[i]);
  run->stack.count = place;
  return status;
}

/* Everything above the last mark, and the mark, as one list, tuple or dict, which is not on the stack. */
static BurnStatus collect(Run *run, uint32_t kind, PickleRef *list) {
  size_t place = 0;
  BurnStatus status = above_mark(run, &place);
  if (status == BURN_OK && kind == PICKLE_DICT && (run->stack.count - place) % 2 != 0)
    return corrupt(run, "a dict with a key that has no value");
  if (status == BURN_OK) status = burn__pickle_make(run->pickle, kind, offset_of(run), list);
  if (status == BURN_OK) status = move_items(run, place, *list);
  if (status == BURN_OK) run->stack.count--;
  return status;
}

static BurnStatus collect_and_push(Run *run, uint32_t kind) {
  PickleRef list = PICKLE_NOTHING;
  const BurnStatus status = collect(run, kind, &list);
  return status == BURN_OK ? push(run, list) : status;
}

/* -- constants -------------------------------------------------------------------------------- */

static BurnStatus do_none(Run *run, const Argument *argument) { return (void)argument, push(run, run->none); }
static BurnStatus do_true(Run *run, const Argument *argument) { return (void)argument, push(run, run->truth); }
static BurnStatus do_false(Run *run, const Argument *argument) { return (void)argument, push(run, run->falsehood); }
static BurnStatus do_empty_tuple(Run *run, const Argument *argument) { return (void)argument, push(run, run->empty); }

static BurnStatus push_integer(Run *run, int64_t integer) {
  PickleRef ref = PICKLE_NOTHING;
  const BurnStatus status = make(run, PICKLE_INT, &ref);
  if (status == BURN_OK) object_at(run, ref)->as.integer = integer;
  return status;
}

static BurnStatus do_integer(Run *run, const Argument *argument) {
  int64_t integer = 0;
  memcpy(&integer, &argument->number, sizeof integer);
  return push_integer(run, integer);
}

static BurnStatus do_number(Run *run, const Argument *argument) {
  PickleRef ref = PICKLE_NOTHING;
  const BurnStatus status = make(run, PICKLE_FLOAT, &ref);
  if (status == BURN_OK) memcpy(&object_at(run, ref)->as.number, &argument->number, sizeof(double));
  return status;
}

/* A text of the pickle, as an object of a kind. */
static BurnStatus push_text(Run *run, uint32_t kind, PickleText text) {
  PickleRef ref = PICKLE_NOTHING;
  const BurnStatus status = make(run, kind, &ref);
  if (status == BURN_OK) object_at(run, ref)->as.text = text;
  return status;
}

static BurnStatus do_text(Run *run, const Argument *argument) { return push_text(run, PICKLE_TEXT, argument->text); }

/* Protocol 0: a text in quotes. Escapes within stay as they are; names have none. */
static BurnStatus do_quoted(Run *run, const Argument *argument) {
  const PickleText text = argument->text;
  if (text.count < 2 || (text.bytes[0] != '\'' && text.bytes[0] != '"') || text.bytes[text.count - 1] != text.bytes[0])
    return corrupt(run, "a text without quotes");
  return push_text(run, PICKLE_TEXT, (PickleText){text.bytes + 1, text.count - 2});
}

/* Two's complement, lowest byte first. */
static BurnStatus do_long(Run *run, const Argument *argument) {
  const PickleText text = argument->text;
  if (text.count > 8) return push_text(run, PICKLE_LONG, text);
  uint64_t bits = text.count > 0 && text.bytes[text.count - 1] >= 0x80 ? UINT64_MAX : 0;
  for (size_t i = text.count; i-- > 0;) bits = bits << 8 | text.bytes[i];
  return do_integer(run, &(Argument){.number = bits});
}

/* The number that a line is, without the L of Python 2's long ones. */
static bool line_integer(PickleText line, int64_t *integer) {
  char text[24];
  char *end = NULL;
  if (line.count > 0 && line.bytes[line.count - 1] == 'L') line.count--;
  if (line.count == 0 || line.count >= sizeof text) return false;
  memcpy(text, line.bytes, line.count);
  text[line.count] = '\0';
  errno = 0;
  const long long value = strtoll(text, &end, 10);
  *integer = value;
  return errno == 0 && end == text + line.count && text[0] != ' ';
}

static BurnStatus do_int_line(Run *run, const Argument *argument) {
  const PickleText line = argument->text;
  int64_t integer = 0;
  if (line.count == 2 && line.bytes[0] == '0' && (line.bytes[1] == '0' || line.bytes[1] == '1'))
    return push(run, line.bytes[1] == '1' ? run->truth : run->falsehood);
  if (!line_integer(line, &integer)) return corrupt(run, "a line that is not an integer of 64 bits");
  return push_integer(run, integer);
}

/* A float of protocol 0 is kept as its text: nobody writes tensors so, and a locale would change how it is read. */
static BurnStatus do_float_line(Run *run, const Argument *argument) { return do_text(run, argument); }

/* -- tuples, lists and dicts ------------------------------------------------------------------ */

static BurnStatus do_mark(Run *run, const Argument *argument) { return (void)argument, push(run, run->mark); }
static BurnStatus do_tuple(Run *run, const Argument *argument) {
  return (void)argument, collect_and_push(run, PICKLE_TUPLE);
}
static BurnStatus do_list(Run *run, const Argument *argument) {
  return (void)argument, collect_and_push(run, PICKLE_LIST);
}
static BurnStatus do_dict(Run *run, const Argument *argument) {
  return (void)argument, collect_and_push(run, PICKLE_DICT);
}

static BurnStatus do_empty_list(Run *run, const Argument *argument) {
  PickleRef ref = PICKLE_NOTHING;
  return (void)argument, make(run, PICKLE_LIST, &ref);
}

static BurnStatus do_empty_dict(Run *run, const Argument *argument) {
  PickleRef ref = PICKLE_NOTHING;
  return (void)argument, make(run, PICKLE_DICT, &ref);
}

/* The uppermost `count` objects as a tuple. */
static BurnStatus tuple_of(Run *run, size_t count) {
  PickleRef tuple = PICKLE_NOTHING;
  for (size_t i = 0; i < count; i++)
    if (run->stack.count <= i || run->stack.refs[run->stack.count - 1 - i] == run->mark)
      return corrupt(run, "there is too little on the stack");
  BurnStatus status = burn__pickle_make(run->pickle, PICKLE_TUPLE, offset_of(run), &tuple);
  if (status == BURN_OK) status = move_items(run, run->stack.count - count, tuple);
  return status == BURN_OK ? push(run, tuple) : status;
}

static BurnStatus do_tuple_1(Run *run, const Argument *argument) { return (void)argument, tuple_of(run, 1); }
static BurnStatus do_tuple_2(Run *run, const Argument *argument) { return (void)argument, tuple_of(run, 2); }
static BurnStatus do_tuple_3(Run *run, const Argument *argument) { return (void)argument, tuple_of(run, 3); }

/* The list or dict that items are put into: of a call, its items, which begin here. */
static BurnStatus container_of(Run *run, uint32_t kind, PickleRef into, PickleRef *container) {
  const PickleObject *object = object_at(run, into);
  *container = into;
  if (object->kind == PICKLE_CALL) {
    *container = object->as.call.items;
    if (*container == PICKLE_NOTHING) {
      const BurnStatus status = burn__pickle_make(run->pickle, kind, offset_of(run), container);
      if (status != BURN_OK) return status;
      object_at(run, into)->as.call.items = *container;
    }
  }
  if (object_at(run, *container)->kind == kind) return BURN_OK;
  return corrupt(run, kind == PICKLE_DICT ? "keys and values for what is not a dict" : "items for what is not a list");
}

/* Items above `place` into the object below it, or below the mark there. */
static BurnStatus put_items(Run *run, uint32_t kind, size_t place, size_t below) {
  PickleRef container = PICKLE_NOTHING;
  if (below == 0 || run->stack.refs[below - 1] == run->mark) return corrupt(run, "there is nothing to put items into");
  if (kind == PICKLE_DICT && (run->stack.count - place) % 2 != 0)
    return corrupt(run, "a dict with a key that has no value");
  const BurnStatus status = container_of(run, kind, run->stack.refs[below - 1], &container);
  if (status != BURN_OK) return status;
  const BurnStatus moved = move_items(run, place, container);
  run->stack.count = below;
  return moved;
}

static BurnStatus items_above_mark(Run *run, uint32_t kind) {
  size_t place = 0;
  const BurnStatus status = above_mark(run, &place);
  return status == BURN_OK ? put_items(run, kind, place, place - 1) : status;
}

static BurnStatus do_appends(Run *run, const Argument *argument) {
  return (void)argument, items_above_mark(run, PICKLE_LIST);
}

static BurnStatus do_set_items(Run *run, const Argument *argument) {
  return (void)argument, items_above_mark(run, PICKLE_DICT);
}

/* The uppermost `count` objects, none of which is a mark, into the one below. */
static BurnStatus items_at_top(Run *run, uint32_t kind, size_t count) {
  if (run->stack.count <= count) return corrupt(run, "there is too little on the stack");
  const size_t place = run->stack.count - count;
  for (size_t i = place; i < run->stack.count; i++)
    if (run->stack.refs[i] == run->mark) return corrupt(run, "there is too little on the stack");
  return put_items(run, kind, place, place);
}

static BurnStatus do_append(Run *run, const Argument *argument) {
  return (void)argument, items_at_top(run, PICKLE_LIST, 1);
}
static BurnStatus do_set_item(Run *run, const Argument *argument) {
  return (void)argument, items_at_top(run, PICKLE_DICT, 2);
}

/* -- moves on the stack ----------------------------------------------------------------------- */

static BurnStatus do_stop(Run *run, const Argument *argument) {
  (void)argument;
  run->is_done = true;
  return BURN_OK;
}

static BurnStatus do_pop(Run *run, const Argument *argument) {
  (void)argument;
  if (run->stack.count == 0) return corrupt(run, "there is nothing on the stack");
  run->stack.count--; /* a mark, too */
  return BURN_OK;
}

static BurnStatus do_pop_mark(Run *run, const Argument *argument) {
  size_t place = 0;
  (void)argument;
  const BurnStatus status = above_mark(run, &place);
  if (status == BURN_OK) run->stack.count = place - 1;
  return status;
}

static BurnStatus do_dup(Run *run, const Argument *argument) {
  PickleRef ref = PICKLE_NOTHING;
  (void)argument;
  const BurnStatus status = top(run, &ref);
  return status == BURN_OK ? push(run, ref) : status;
}

/* -- the memo --------------------------------------------------------------------------------- */

/* An index beyond the number of bytes is none that a writer makes, and would ask for memory. */
static BurnStatus memo_put(Run *run, uint64_t index) {
  PickleRef ref = PICKLE_NOTHING;
  BurnStatus status = top(run, &ref);
  if (status != BURN_OK) return status;
  if (index >= run->count) return corrupt(run, "a number in the memo beyond the length of the pickle");
  if (index >= run->memo.room) status = refs_grow(run->pickle, &run->memo, (size_t)index + 1);
  if (status != BURN_OK) return status;
  if (run->memo.refs[index] == PICKLE_NOTHING) run->memo.count++;
  run->memo.refs[index] = ref;
  return BURN_OK;
}

static BurnStatus memo_get(Run *run, uint64_t index) {
  if (index >= run->memo.room || run->memo.refs[index] == PICKLE_NOTHING)
    return corrupt(run, "a number that is not in the memo");
  return push(run, run->memo.refs[index]);
}

static BurnStatus memo_line(Run *run, PickleText line, BurnStatus (*act)(Run *, uint64_t)) {
  int64_t index = 0;
  if (!line_integer(line, &index) || index < 0) return corrupt(run, "a line that is not a number of the memo");
  return act(run, (uint64_t)index);
}

static BurnStatus do_put(Run *run, const Argument *argument) { return memo_put(run, argument->number); }
static BurnStatus do_get(Run *run, const Argument *argument) { return memo_get(run, argument->number); }
static BurnStatus do_put_line(Run *run, const Argument *argument) { return memo_line(run, argument->text, memo_put); }
static BurnStatus do_get_line(Run *run, const Argument *argument) { return memo_line(run, argument->text, memo_get); }
static BurnStatus do_memoize(Run *run, const Argument *argument) {
  return (void)argument, memo_put(run, run->memo.count);
}

/* -- names and calls -------------------------------------------------------------------------- */

static BurnStatus push_pair(Run *run, uint32_t kind, PickleRef first, PickleRef second) {
  PickleRef ref = PICKLE_NOTHING;
  const BurnStatus status = make(run, kind, &ref);
  if (status != BURN_OK) return status;
  object_at(run, ref)->as.pair[0] = first;
  object_at(run, ref)->as.pair[1] = second;
  return BURN_OK;
}

static BurnStatus do_global(Run *run, const Argument *argument) {
  PickleRef module = PICKLE_NOTHING, name = PICKLE_NOTHING;
  (void)argument;
  BurnStatus status = pop(run, &name);
  if (status == BURN_OK) status = pop(run, &module);
  if (status != BURN_OK) return status;
  if (object_at(run, module)->kind != PICKLE_TEXT || object_at(run, name)->kind != PICKLE_TEXT)
    return corrupt(run, "a name that is not text");
  return push_pair(run, PICKLE_GLOBAL, module, name);
}

static BurnStatus do_global_lines(Run *run, const Argument *argument) {
  BurnStatus status = push_text(run, PICKLE_TEXT, argument->text);
  if (status == BURN_OK) status = push_text(run, PICKLE_TEXT, argument->second);
  return status == BURN_OK ? do_global(run, NULL) : status;
}

static BurnStatus push_call(Run *run, PickleCall call) {
  PickleRef ref = PICKLE_NOTHING;
  const uint32_t kind = object_at(run, call.callable)->kind;
  if (kind != PICKLE_GLOBAL && kind != PICKLE_PERSISTENT && kind != PICKLE_CALL)
    return corrupt(run, "a call of what is not a name");
  if (object_at(run, call.arguments)->kind != PICKLE_TUPLE) return corrupt(run, "a call without a tuple of arguments");
  const BurnStatus status = make(run, PICKLE_CALL, &ref);
  if (status == BURN_OK) object_at(run, ref)->as.call = call;
  return status;
}

/* REDUCE, and NEWOBJ, whose callable is a class. */
static BurnStatus do_call(Run *run, const Argument *argument) {
  PickleCall call = {0};
  (void)argument;
  BurnStatus status = pop(run, &call.arguments);
  if (status == BURN_OK) status = pop(run, &call.callable);
  return status == BURN_OK ? push_call(run, call) : status;
}

/* The arguments that have names become the items of the result. */
static BurnStatus do_call_with_names(Run *run, const Argument *argument) {
  PickleCall call = {0};
  (void)argument;
  BurnStatus status = pop(run, &call.items);
  if (status == BURN_OK) status = pop(run, &call.arguments);
  if (status == BURN_OK) status = pop(run, &call.callable);
  if (status == BURN_OK && object_at(run, call.items)->kind != PICKLE_DICT)
    status = corrupt(run, "named arguments that are not a dict");
  return status == BURN_OK ? push_call(run, call) : status;
}

/* A mark, a class, arguments. */
static BurnStatus do_object(Run *run, const Argument *argument) {
  PickleRef tuple = PICKLE_NOTHING;
  (void)argument;
  const BurnStatus status = collect(run, PICKLE_TUPLE, &tuple);
  if (status != BURN_OK) return status;
  PickleList *list = &object_at(run, tuple)->as.list;
  if (list->count == 0) return corrupt(run, "an object without a class");
  const PickleRef callable = list->items[0];
  memmove(list->items, list->items + 1, --list->count * sizeof *list->items);
  return push_call(run, (PickleCall){.callable = callable, .arguments = tuple});
}

/* A mark, arguments; the class by its names. */
static BurnStatus do_instance(Run *run, const Argument *argument) {
  PickleCall call = {0};
  BurnStatus status = collect(run, PICKLE_TUPLE, &call.arguments);
  if (status == BURN_OK) status = do_global_lines(run, argument);
  if (status == BURN_OK) status = pop(run, &call.callable);
  return status == BURN_OK ? push_call(run, call) : status;
}

static BurnStatus do_build(Run *run, const Argument *argument) {
  PickleRef state = PICKLE_NOTHING, ref = PICKLE_NOTHING;
  (void)argument;
  BurnStatus status = pop(run, &state);
  if (status == BURN_OK) status = top(run, &ref);
  if (status != BURN_OK) return status;
  PickleObject *object = object_at(run, ref);
  if (object->kind != PICKLE_CALL) return corrupt(run, "a state for what has none");
  if (object->as.call.state != PICKLE_NOTHING) return corrupt(run, "a second state for one object");
  object->as.call.state = state;
  return BURN_OK;
}

static BurnStatus do_persistent(Run *run, const Argument *argument) {
  PickleRef id = PICKLE_NOTHING;
  (void)argument;
  const BurnStatus status = pop(run, &id);
  return status == BURN_OK ? push_pair(run, PICKLE_PERSISTENT, id, PICKLE_NOTHING) : status;
}

static BurnStatus do_persistent_line(Run *run, const Argument *argument) {
  const BurnStatus status = do_text(run, argument);
  return status == BURN_OK ? do_persistent(run, NULL) : status;
}

/* -- the rest --------------------------------------------------------------------------------- */

static BurnStatus do_protocol(Run *run, const Argument *argument) {
  if (argument->number <= 5) return BURN_OK;
  return refuse(run, BURN_STATUS_INCOMPATIBLE, "a protocol above 5");
}

/* How far the next opcodes reach: said for readers of streams. */
static BurnStatus do_frame(Run *run, const Argument *argument) {
  return argument->number <= run->count - run->at ? BURN_OK : corrupt(run, "a frame beyond the end");
}

static BurnStatus do_refused(Run *run, const Argument *argument) {
  (void)argument;
  return refuse(run, BURN_STATUS_INCOMPATIBLE, "it stands for something outside of the file, which is not looked for");
}

static const Opcode opcodes[256] = {
#define PICKLE_OPCODE(byte, name, argument, action) [byte] = {#name, argument, do_##action},
#include "pickle_opcodes.def"
#undef PICKLE_OPCODE
};

static BurnStatus refuse(const Run *run, uint32_t code, const char *why) {
  const char *name = run->opcode < run->count ? opcodes[run->bytes[run->opcode]].name : NULL;
  return burn_status_make(code, "byte %llu: pickle: %s: %s", (unsigned long long)offset_of(run),
                          name != NULL ? name : "the end", why);
}

/* The next `bytes` bytes as a number, lowest first. */
static BurnStatus read_number(Run *run, size_t bytes, uint64_t *number) {
  if (bytes > run->count - run->at) return corrupt(run, "the bytes end within its argument");
  *number = 0;
  for (size_t i = bytes; i-- > 0;) *number = *number << 8 | run->bytes[run->at + i];
  run->at += bytes;
  return BURN_OK;
}

static BurnStatus read_bytes(Run *run, size_t length_bytes, PickleText *text) {
  uint64_t length = 0;
  const BurnStatus status = read_number(run, length_bytes, &length);
  if (status != BURN_OK) return status;
  if (length > run->count - run->at) return corrupt(run, "it is longer than the bytes that are left");
  *text = (PickleText){run->bytes + run->at, (size_t)length};
  run->at += (size_t)length;
  return BURN_OK;
}

static BurnStatus read_line(Run *run, PickleText *text) {
  const uint8_t *from = run->bytes + run->at;
  const uint8_t *end = run->at < run->count ? memchr(from, '\n', run->count - run->at) : NULL;
  if (end == NULL) return corrupt(run, "the bytes end within its line");
  *text = (PickleText){from, (size_t)(end - from)};
  run->at += text->count + 1;
  return BURN_OK;
}

/* Python writes doubles highest byte first, and only these. */
static void turn_number(Argument *argument) {
  uint64_t turned = 0;
  for (unsigned i = 0; i < 8; i++) turned = turned << 8 | (argument->number >> (8 * i) & 0xff);
  argument->number = turned;
}

static BurnStatus read_argument(Run *run, Form form, Argument *argument) {
  BurnStatus status = BURN_OK;
  switch (form) {
    case NOTHING:
      break;
    case UNSIGNED_1:
      return read_number(run, 1, &argument->number);
    case UNSIGNED_2:
      return read_number(run, 2, &argument->number);
    case UNSIGNED_4:
      return read_number(run, 4, &argument->number);
    case UNSIGNED_8:
      return read_number(run, 8, &argument->number);
    case SIGNED_4:
      status = read_number(run, 4, &argument->number);
      if (argument->number > INT32_MAX) argument->number |= UINT64_C(0xffffffff) << 32;
      break;
    case NUMBER_8:
      status = read_number(run, 8, &argument->number);
      turn_number(argument);
      break;
    case BYTES_1:
      return read_bytes(run, 1, &argument->text);
    case BYTES_4:
      return read_bytes(run, 4, &argument->text);
    case BYTES_8:
      return read_bytes(run, 8, &argument->text);
    case LINE:
      return read_line(run, &argument->text);
    case TWO_LINES:
      status = read_line(run, &argument->text);
      if (status == BURN_OK) status = read_line(run, &argument->second);
      break;
  }
  return status;
}

static BurnStatus step(Run *run) {
  Argument argument = {0};
  run->opcode = run->at;
  if (run->at >= run->count) return corrupt(run, "there is no STOP");
  const Opcode *opcode = &opcodes[run->bytes[run->at]];
  if (opcode->name == NULL)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte %llu: pickle: 0x%02x is not an opcode",
                            (unsigned long long)offset_of(run), (unsigned)run->bytes[run->at]);
  run->at++;
  const BurnStatus status = read_argument(run, opcode->form, &argument);
  return status == BURN_OK ? opcode->action(run, &argument) : status;
}

/* The objects that there is one of. */
static BurnStatus make_constants(Run *run) {
  const struct {
    PickleRef *ref;
    uint32_t kind;
  } constants[] = {{&run->mark, PICKLE_MARK},
                   {&run->none, PICKLE_NONE},
                   {&run->truth, PICKLE_BOOL},
                   {&run->falsehood, PICKLE_BOOL},
                   {&run->empty, PICKLE_TUPLE}};
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < sizeof constants / sizeof constants[0] && status == BURN_OK; i++)
    status = burn__pickle_make(run->pickle, constants[i].kind, run->base, constants[i].ref);
  if (status == BURN_OK) object_at(run, run->truth)->as.integer = 1;
  return status;
}

BurnStatus burn__pickle_run(Pickle *pickle, const uint8_t *bytes, size_t count, uint64_t base, PickleRef *root,
                            size_t *used) {
  Run run = {.pickle = pickle, .bytes = bytes, .count = count, .base = base};
  BurnStatus status = make_constants(&run);
  while (status == BURN_OK && !run.is_done) status = step(&run);
  if (burn_status_code(status) == BURN_STATUS_OUT_OF_RANGE || burn_status_code(status) == BURN_STATUS_OUT_OF_MEMORY)
    status = burn_status_annotate(status, "byte %llu", (unsigned long long)offset_of(&run));
  if (status == BURN_OK) status = pop(&run, root);
  if (status == BURN_OK && run.stack.count > 0) status = corrupt(&run, "more than one object at the end");
  free(run.stack.refs);
  free(run.memo.refs);
  if (status == BURN_OK) *used = run.at;
  return status;
}
