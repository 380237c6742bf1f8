/* ndarray_sequence_lstm.c - lstm and its gradient: a loop over the steps, each one product and the arithmetic of the
 * gates.
 *
 * The weight is packed once, in panels of the columns of some units: all four gates of a vector of units forward, some
 * vectors of units back. Work goes by tiles of samples, whose sums stay in the cache until their gates are made; while
 * a product runs, the memory that its gates will read and write is fetched: its rows lie a whole sequence apart. With
 * many samples and a weight that fits into a second-level cache, a thread takes a tile for some steps, then the one
 * that is furthest behind. Else every thread has units of its own, whose part of the weight stays in its cache, and
 * threads meet after every step. Every number is computed by one chain of operations whoever does it. The gradient of
 * the weight is one product over all steps. */
#include "ndarray_sequence.h"

#include <stdatomic.h>
#include <string.h>

enum {
  GATES = 4,
  /* Of units in a group on the way back with few samples, whose sums are too few to keep the multipliers busy. */
  LOW_VECTORS = 4,
  OWN_BYTES = 5 << 18 /* of a weight that every thread may have in its second-level cache */
};

/* What stands for a gradient that did not arrive: a vector. */
static const double zeros[8];

/* What both directions need. */
typedef struct Lstm {
  Ndarray *nd;
  const NdSequenceLoops *loops;
  int64_t n, steps, units; /* samples, steps, hidden units */
  int64_t bytes;           /* of an element */
  int64_t group, groups;   /* units of a panel, and how many panels */
  int64_t tiles;           /* of samples */
  int64_t shares;          /* that the work is dealt out in, one per thread: */
  bool by_samples;         /* tiles of samples, some steps at a time; else some units at one step */
  bool back;               /* from the last step to the first */
  int64_t step;            /* the one under way, unless by_samples */
  int64_t stretch;         /* of steps that a tile is taken for */
  atomic_llong *turns;     /* of each tile: twice the steps it has gone, and 1 while somebody has it */
  int64_t columns;         /* of a panel */
  char *panels;            /* the packed weight: [groups][depth, columns] */
  char *dense[2]; /* what goes from step to step, hidden states or derivatives of the gates, by turns: [n, dense_row] */
  char *cells, *carry; /* cells, and on the way back their gradient, from step to step: [n, cell_row] */
  char *sums;          /* products of a tile: [shares][its rows, columns] */
  int64_t dense_row, cell_row;
} Lstm;

/* A tile: the units of a panel, of some samples. */
typedef struct Item {
  int64_t group, unit, units;
  int64_t row, rows, step; /* samples, at this step */
  char *sums;
} Item;

/* Rows for whole vectors; a vector more, because rows a power of two apart would meet in the cache. */
static int64_t padded_row(const Lstm *lstm, int64_t width) {
  const int64_t lanes = lstm->loops->lanes;
  return (width + lanes - 1) / lanes * lanes + lanes;
}

/* Begins a call on `steps` [n, steps, ..]; what goes from step to step is dense_width wide. */
static BurnStatus open_lstm(Ndarray *nd, const NdTensor *steps, int64_t units, int64_t dense_width, Lstm *out) {
  const BurnDType dtype = steps->header.dtype;
  Lstm lstm = {
      .nd = nd, .loops = nd_sequence(nd, dtype), .n = steps->shape[0], .steps = steps->shape[1], .units = units};
  if (!lstm.loops) return nd_fail(nd, BURN_STATUS_INVALID_DTYPE, "lstm: no kernel for %s", burn_dtype_name(dtype));
  lstm.bytes = burn_dtype_bytes(dtype);
  lstm.dense_row = padded_row(&lstm, dense_width);
  lstm.cell_row = padded_row(&lstm, units);
  *out = lstm;
  return BURN_OK;
}

/* Cuts the units into groups of `vectors` vectors, which have `columns` columns of the weight per unit; deals out the
 * work. */
static void cut_units(Lstm *lstm, int64_t vectors, int64_t columns) {
  const double flops = 2.0 * (double)GATES * (double)lstm->n * (double)lstm->units * (double)lstm->units;
  const int64_t threads = lstm->nd->host->thread_count(), weight = GATES * lstm->units * lstm->units * lstm->bytes;
  lstm->group = lstm->loops->lanes * vectors;
  lstm->groups = (lstm->units + lstm->group - 1) / lstm->group;
  lstm->columns = lstm->group * columns;
  lstm->tiles = (lstm->n + lstm->loops->tile_rows - 1) / lstm->loops->tile_rows;
  lstm->by_samples = weight <= OWN_BYTES && lstm->n >= threads * lstm->loops->tile_rows;
  /* Fewer operations than this cost less than waking a thread, or taking a tile. */
  const double min_flops = 3e5, turn_flops = 4e6;
  const int64_t worth = 1 + (int64_t)(flops * (lstm->by_samples ? (double)lstm->steps : 1) / min_flops);
  lstm->shares = nd_min(nd_min(threads, worth), lstm->by_samples ? lstm->tiles : lstm->groups);
  lstm->stretch = lstm->shares > 1 ? 1 + (int64_t)(turn_flops * (double)lstm->tiles / (flops + 1)) : lstm->steps;
}

static uint64_t panel_bytes(const Lstm *lstm) {
  return (uint64_t)(lstm->groups * lstm->group * GATES * lstm->units * lstm->bytes);
}
static uint64_t dense_bytes(const Lstm *lstm) { return (uint64_t)(lstm->n * lstm->dense_row * lstm->bytes); }
static uint64_t cell_bytes(const Lstm *lstm) { return (uint64_t)(lstm->n * lstm->cell_row * lstm->bytes); }
static uint64_t sums_bytes(const Lstm *lstm) {
  return (uint64_t)(lstm->loops->tile_rows * lstm->columns * lstm->bytes);
}
static uint64_t turns_bytes(const Lstm *lstm) { return ((uint64_t)lstm->tiles * sizeof(atomic_llong) + 63) / 64 * 64; }
static uint64_t state_bytes(const Lstm *lstm) {
  return turns_bytes(lstm) + 2 * dense_bytes(lstm) + 2 * cell_bytes(lstm) + (uint64_t)lstm->shares * sums_bytes(lstm);
}

static bool open_room(Lstm *lstm) {
  lstm->panels = (char *)nd_pool_allocate(lstm->nd->pool, panel_bytes(lstm));
  lstm->turns = (atomic_llong *)nd_pool_allocate(lstm->nd->pool, state_bytes(lstm));
  if (!lstm->panels || !lstm->turns) return false;
  lstm->dense[0] = (char *)lstm->turns + turns_bytes(lstm);
  lstm->dense[1] = lstm->dense[0] + dense_bytes(lstm);
  lstm->cells = lstm->dense[1] + dense_bytes(lstm);
  lstm->carry = lstm->cells + cell_bytes(lstm);
  lstm->sums = lstm->carry + cell_bytes(lstm);
  for (int64_t tile = 0; tile < lstm->tiles; tile++) atomic_init(&lstm->turns[tile], 0);
  return true;
}

static void close_room(Lstm *lstm) {
  if (lstm->panels) nd_pool_free(lstm->nd->pool, lstm->panels, panel_bytes(lstm));
  if (lstm->turns) nd_pool_free(lstm->nd->pool, lstm->turns, state_bytes(lstm));
}

static Item item_of(const Lstm *lstm, int64_t share, int64_t group, int64_t tile, int64_t step) {
  Item item = {.group = group, .unit = group * lstm->group, .row = tile * lstm->n / lstm->tiles, .step = step};
  item.units = nd_min(lstm->group, lstm->units - item.unit);
  item.rows = (tile + 1) * lstm->n / lstm->tiles - item.row;
  item.sums = lstm->sums + (uint64_t)share * sums_bytes(lstm);
  return item;
}

typedef void ItemBody(void *context, const Item *item);

/* The items of a share at a step: some units of all samples, or all of some. */
static void for_items(const Lstm *lstm, int64_t share, int64_t step, ItemBody *run, void *context) {
  const int64_t count = lstm->by_samples ? lstm->tiles : lstm->groups;
  const int64_t begin = share * count / lstm->shares, end = (share + 1) * count / lstm->shares;
  const int64_t first_group = lstm->by_samples ? 0 : begin, end_group = lstm->by_samples ? lstm->groups : end;
  const int64_t first_tile = lstm->by_samples ? begin : 0, end_tile = lstm->by_samples ? end : lstm->tiles;
  for (int64_t group = first_group; group < end_group; group++)
    for (int64_t tile = first_tile; tile < end_tile; tile++) {
      const Item item = item_of(lstm, share, group, tile, step);
      run(context, &item);
    }
}

/* The tile that is furthest behind of those that nobody has; -1: none is left. *turn becomes the steps it has gone. */
static int64_t take_tile(const Lstm *lstm, int64_t *turn) {
  for (;;) {
    int64_t tile = -1;
    long long min_turn = 2 * lstm->steps;
    for (int64_t i = 0; i < lstm->tiles; i++) {
      const long long at = atomic_load_explicit(&lstm->turns[i], memory_order_relaxed);
      if (at % 2 != 0 || at >= min_turn) continue;
      tile = i;
      min_turn = at;
    }
    *turn = min_turn / 2;
    if (tile < 0 || atomic_compare_exchange_strong_explicit(&lstm->turns[tile], &min_turn, min_turn + 1,
                                                            memory_order_acquire, memory_order_relaxed))
      return tile;
  }
}

/* Takes tiles through a stretch of their steps each, until there are none left: so threads that are not equally fast
 * end together. */
static void take_turns(const Lstm *lstm, int64_t share, ItemBody *run, void *context) {
  int64_t turn;
  for (int64_t tile; (tile = take_tile(lstm, &turn)) >= 0;) {
    const int64_t end = nd_min(turn + lstm->stretch, lstm->steps);
    for (; turn < end; turn++)
      for (int64_t group = 0; group < lstm->groups; group++) {
        const Item item = item_of(lstm, share, group, tile, lstm->back ? lstm->steps - 1 - turn : turn);
        run(context, &item);
      }
    atomic_store_explicit(&lstm->turns[tile], 2 * (long long)end, memory_order_release);
  }
}

/* What some shares have to do at the step under way, or at all. */
static void for_shares(const Lstm *lstm, int64_t begin, int64_t end, ItemBody *run, void *context) {
  for (int64_t share = begin; share < end; share++) {
    if (lstm->by_samples) {
      take_turns(lstm, share, run, context);
    } else {
      for_items(lstm, share, lstm->step, run, context);
    }
  }
}

/* All steps: 0 .. steps - 1, or the other way round. */
static void for_steps(Lstm *lstm, bool back, BurnLoopBody body, void *context) {
  const int64_t rounds = lstm->by_samples ? nd_min(1, lstm->steps) : lstm->steps;
  lstm->back = back;
  for (int64_t round = 0; round < rounds; round++) {
    lstm->step = back ? lstm->steps - 1 - round : round;
    nd_parallel_for_flushed(lstm->nd, lstm->shares, 1, body, context);
  }
}

/* The packed weight's part for a group. */
static char *panel_of(const Lstm *lstm, int64_t group) {
  return lstm->panels + group * lstm->group * GATES * lstm->units * lstm->bytes;
}

/* An item's sums: its rows of `dense` [n, depth] x its panel. */
static void multiply(const Lstm *lstm, const char *dense, int64_t depth, const Item *item, const NdFetch *fetch) {
  const NdProduct product = {.rows = item->rows,
                             .columns = lstm->columns,
                             .depth = depth,
                             .a = dense + item->row * lstm->dense_row * lstm->bytes,
                             .a_row = lstm->dense_row,
                             .a_step = 1,
                             .b = panel_of(lstm, item->group),
                             .b_row = lstm->columns,
                             .c = item->sums,
                             .c_row = lstm->columns,
                             .fetch = fetch};
  lstm->loops->product(&product);
}

/* The place of an item in what goes from step to step. */
static char *state_at(const Lstm *lstm, char *state, int64_t state_row, const Item *item) {
  return state + (item->row * state_row + item->unit) * lstm->bytes;
}

/* From sample to sample of a tensor [n, steps, width]. */
static int64_t row_of(const NdTensor *x) { return x->shape[1] * x->shape[2]; }

/* Row t of an item's first sample of such a tensor, from its first unit on. */
static char *step_at(const Lstm *lstm, const NdTensor *x, int64_t t, const Item *item) {
  return (char *)nd_data(x) + (item->row * row_of(x) + t * x->shape[2] + item->unit) * lstm->bytes;
}

/* Asks for an item's part of row t of such a tensor, of all its gates if it has them. */
static void fetch_step(const Lstm *lstm, const NdTensor *x, int64_t t, const Item *item, NdFetch *fetch) {
  if (!x) return;
  const int64_t bytes = item->units * lstm->bytes, gate = lstm->units * lstm->bytes, width = x->shape[2] * lstm->bytes;
  const char *from = step_at(lstm, x, t, item), **line = fetch->lines + fetch->count;
  const int64_t row = row_of(x) * lstm->bytes;
  for (const char *end = from + item->rows * row; from < end; from += row)
    for (int64_t at = 0; at < width; at += gate)
      for (int64_t byte = 0; byte < bytes; byte += 64) *line++ = from + at + byte;
  fetch->count = line - fetch->lines;
}

/* Row-major forms of the inputs of a call, NULL for those that are absent; false when out of memory. */
static bool open_inputs(Ndarray *nd, const BurnOpCall *call, NdTensor **inputs) {
  bool complete = true;
  for (uint32_t i = 0; i < call->input_count; i++) {
    inputs[i] = call->inputs[i] ? nd_contiguous(nd, nd_tensor(call->inputs[i])) : NULL;
    complete = complete && (inputs[i] || !call->inputs[i]);
  }
  return complete;
}

static bool open_outputs(Ndarray *nd, const BurnOpCall *call, uint32_t count, NdTensor **outputs) {
  bool complete = true;
  for (uint32_t i = 0; i < count; i++) {
    outputs[i] = nd_new(nd, &call->output_descs[i]);
    complete = complete && outputs[i];
  }
  return complete;
}

/* Hands the results out, or nothing; drops the inputs. */
static BurnStatus finish(Ndarray *nd, const BurnOpCall *call, bool complete, NdTensor **inputs, NdTensor **outputs) {
  for (uint32_t i = 0; i < call->input_count; i++) nd_release(nd, inputs[i]);
  for (uint32_t i = 0; i < call->output_count; i++) {
    if (complete) {
      call->outputs[i] = &outputs[i]->header;
    } else {
      nd_release(nd, outputs[i]);
    }
  }
  return complete ? BURN_OK : nd_out_of_memory(nd, call);
}

/* -- forward ---------------------------------------------------------------------------------- */

typedef struct Forward {
  Lstm lstm;
  NdTensor *inputs[4];  /* gates, hidden, cell, weight */
  NdTensor *outputs[3]; /* outputs, cells, activations */
} Forward;

/* A panel has the columns of all four gates of its units. */
static void BURN_API_CALL pack_forward(void *context, int64_t begin, int64_t end) {
  const Forward *work = (const Forward *)context;
  const Lstm *lstm = &work->lstm;
  for (int64_t group = begin; group < end; group++) {
    const int64_t unit = group * lstm->group, width = nd_min(lstm->group, lstm->units - unit);
    for (int64_t gate = 0; gate < GATES; gate++) {
      const char *from = (const char *)nd_data(work->inputs[3]) + (gate * lstm->units + unit) * lstm->bytes;
      char *to = panel_of(lstm, group) + gate * lstm->group * lstm->bytes;
      lstm->loops->pack(lstm->units, width, from, GATES * lstm->units, 1, to, lstm->columns, lstm->group);
    }
  }
}

/* What the gates of an item will want. */
static void fetch_forward(const Forward *work, const Item *item, NdFetch *fetch) {
  const Lstm *lstm = &work->lstm;
  fetch->count = 0;
  fetch_step(lstm, work->inputs[0], item->step, item, fetch);
  if (work->outputs[2] != work->inputs[0]) fetch_step(lstm, work->outputs[2], item->step, item, fetch);
  fetch_step(lstm, work->outputs[0], item->step, item, fetch);
  fetch_step(lstm, work->outputs[1], item->step, item, fetch);
}

/* One step of an item. */
static void forward_item(void *context, const Item *item) {
  const Forward *work = (const Forward *)context;
  const Lstm *lstm = &work->lstm;
  const int64_t t = item->step;
  NdFetch fetch;
  const NdTensor *gates = work->inputs[0], *outputs = work->outputs[0], *cells = work->outputs[1],
                 *activations = work->outputs[2];
  const NdLstmStep step = {.rows = item->rows,
                           .units = item->units,
                           .gate = lstm->units,
                           .product = item->sums,
                           .gates = step_at(lstm, gates, t, item),
                           .outputs = step_at(lstm, outputs, t, item),
                           .cells = step_at(lstm, cells, t, item),
                           .activations = step_at(lstm, activations, t, item),
                           .cell = state_at(lstm, lstm->cells, lstm->cell_row, item),
                           .state = state_at(lstm, lstm->dense[(t + 1) % 2], lstm->dense_row, item),
                           .product_row = lstm->columns,
                           .gates_row = row_of(gates),
                           .steps_row = row_of(outputs),
                           .activations_row = row_of(activations),
                           .cell_row = lstm->cell_row,
                           .state_row = lstm->dense_row};
  fetch_forward(work, item, &fetch);
  multiply(lstm, lstm->dense[t % 2], lstm->units, item, &fetch);
  lstm->loops->lstm_step(&step);
}

static void BURN_API_CALL forward_body(void *context, int64_t begin, int64_t end) {
  for_shares(&((Forward *)context)->lstm, begin, end, forward_item, context);
}

/* [n, units] -> what goes from step to step, with zeros after. */
static void pack_state(const Lstm *lstm, const void *from, int64_t from_row, char *to, int64_t to_row) {
  lstm->loops->pack(lstm->n, lstm->units, from, from_row, 1, to, to_row, to_row);
}

static bool run_forward(Forward *work) {
  Lstm *lstm = &work->lstm;
  if (!open_room(lstm)) return false;
  nd_parallel_for(lstm->nd, lstm->groups, 1 + 65536 / (lstm->units * lstm->columns + 1), pack_forward, work);
  pack_state(lstm, nd_data(work->inputs[1]), lstm->units, lstm->dense[0], lstm->dense_row);
  pack_state(lstm, nd_data(work->inputs[2]), lstm->units, lstm->cells, lstm->cell_row);
  for_steps(lstm, false, forward_body, work);
  return true;
}

/* The gates become the activations where nobody else holds them. */
static bool open_forward_outputs(Ndarray *nd, const BurnOpCall *call, Forward *work) {
  NdTensor *gates = nd_tensor(call->inputs[0]);
  if (!nd_is_contiguous(gates) || !nd_may_overwrite(call, 0)) return open_outputs(nd, call, 3, work->outputs);
  work->outputs[2] = gates;
  nd_retain(gates);
  return open_outputs(nd, call, 2, work->outputs);
}

static BurnStatus lstm_forward(Ndarray *nd, const BurnOpCall *call) {
  Forward work = {.inputs = {NULL}};
  const int64_t units = call->inputs[3]->shape[0];
  const BurnStatus status = open_lstm(nd, nd_tensor(call->inputs[0]), units, units, &work.lstm);
  if (status != BURN_OK) return status;
  cut_units(&work.lstm, 1, GATES);
  const bool has_outputs = open_forward_outputs(nd, call, &work);
  const bool complete = open_inputs(nd, call, work.inputs) && has_outputs && run_forward(&work);
  close_room(&work.lstm);
  return finish(nd, call, complete, work.inputs, work.outputs);
}

/* -- backward --------------------------------------------------------------------------------- */

enum { GRAD, CELLS, ACTIVATIONS, HIDDEN, CELL, WEIGHT, GRAD_CELLS, GRAD_ACTIVATIONS, BACK_INPUTS };
enum { GRAD_GATES, GRAD_HIDDEN, GRAD_CELL, GRAD_WEIGHT, BACK_OUTPUTS };

typedef struct Backward {
  Lstm lstm;
  NdTensor *inputs[BACK_INPUTS];
  NdTensor *outputs[BACK_OUTPUTS];
  NdTensor *states; /* [n, steps, units]: hidden before each step */
} Backward;

/* A panel has the rows of its units, transposed. */
static void BURN_API_CALL pack_backward(void *context, int64_t begin, int64_t end) {
  const Backward *work = (const Backward *)context;
  const Lstm *lstm = &work->lstm;
  const int64_t gates = GATES * lstm->units;
  for (int64_t group = begin; group < end; group++) {
    const int64_t unit = group * lstm->group, width = nd_min(lstm->group, lstm->units - unit);
    const char *from = (const char *)nd_data(work->inputs[WEIGHT]) + unit * gates * lstm->bytes;
    lstm->loops->pack(gates, width, from, 1, gates, panel_of(lstm, group), lstm->group, lstm->group);
  }
}

/* The gates of an item. The hidden states after the last step go where those before it will. */
static void gates_back(const Backward *work, const Item *item) {
  const Lstm *lstm = &work->lstm;
  const int64_t t = item->step;
  NdTensor *const *inputs = work->inputs;
  const NdTensor *grad_cells = inputs[GRAD_CELLS], *further = inputs[GRAD_ACTIVATIONS];
  const bool is_last = t + 1 == lstm->steps;
  const char *first_cell = (const char *)nd_data(inputs[CELL]) + (item->row * lstm->units + item->unit) * lstm->bytes;
  const NdLstmBack step = {.rows = item->rows,
                           .units = item->units,
                           .gate = lstm->units,
                           .further_gate = further ? lstm->units : 0,
                           .product = item->sums,
                           .grad = step_at(lstm, inputs[GRAD], t, item),
                           .grad_cells = grad_cells ? (const void *)step_at(lstm, grad_cells, t, item) : zeros,
                           .grad_activations = further ? (const void *)step_at(lstm, further, t, item) : zeros,
                           .activations = step_at(lstm, inputs[ACTIVATIONS], t, item),
                           .cell_before = t > 0 ? step_at(lstm, inputs[CELLS], t - 1, item) : first_cell,
                           .cell = state_at(lstm, lstm->cells, lstm->cell_row, item),
                           .carry = state_at(lstm, lstm->carry, lstm->cell_row, item),
                           .grad_gates = step_at(lstm, work->outputs[GRAD_GATES], t, item),
                           .derivatives = state_at(lstm, lstm->dense[t % 2], lstm->dense_row, item),
                           .state = step_at(lstm, work->states, is_last ? t : t + 1, item),
                           .product_row = lstm->columns,
                           .steps_row = row_of(inputs[GRAD]),
                           .cells_row = grad_cells ? row_of(grad_cells) : 0,
                           .further_row = further ? row_of(further) : 0,
                           .activations_row = row_of(inputs[ACTIVATIONS]),
                           .before_row = t > 0 ? row_of(inputs[CELLS]) : lstm->units,
                           .carry_row = lstm->cell_row,
                           .derivatives_row = lstm->dense_row,
                           .state_row = row_of(work->states)};
  lstm->loops->lstm_back(&step);
}

/* What the gates of an item will want. */
static void fetch_back(const Backward *work, const Item *item, NdFetch *fetch) {
  const Lstm *lstm = &work->lstm;
  const int64_t t = item->step;
  fetch->count = 0;
  fetch_step(lstm, work->inputs[ACTIVATIONS], t, item, fetch);
  fetch_step(lstm, work->outputs[GRAD_GATES], t, item, fetch);
  fetch_step(lstm, work->inputs[GRAD_ACTIVATIONS], t, item, fetch);
  fetch_step(lstm, work->inputs[GRAD_CELLS], t, item, fetch);
  fetch_step(lstm, work->inputs[GRAD], t, item, fetch);
  fetch_step(lstm, work->states, t + 1, item, fetch);
  if (t > 0) fetch_step(lstm, work->inputs[CELLS], t - 1, item, fetch);
}

/* One step of an item: what the step after it says of its hidden states, then its gates. */
static void backward_item(void *context, const Item *item) {
  const Backward *work = (const Backward *)context;
  const Lstm *lstm = &work->lstm;
  const bool is_last = item->step + 1 == lstm->steps;
  NdFetch fetch;
  if (is_last) {
    memset(item->sums, 0, (size_t)(item->rows * lstm->columns * lstm->bytes));
  } else {
    fetch_back(work, item, &fetch);
    multiply(lstm, lstm->dense[(item->step + 1) % 2], GATES * lstm->units, item, &fetch);
  }
  gates_back(work, item);
}

static void BURN_API_CALL backward_body(void *context, int64_t begin, int64_t end) {
  for_shares(&((Backward *)context)->lstm, begin, end, backward_item, context);
}

/* What the first step says of the hidden state and the cell before it. */
static void first_item(void *context, const Item *item) {
  const Backward *work = (const Backward *)context;
  const Lstm *lstm = &work->lstm;
  const int64_t at = (item->row * lstm->units + item->unit) * lstm->bytes;
  char *hidden = (char *)nd_data(work->outputs[GRAD_HIDDEN]) + at,
       *cell = (char *)nd_data(work->outputs[GRAD_CELL]) + at;
  multiply(lstm, lstm->dense[0], GATES * lstm->units, item, NULL);
  lstm->loops->pack(item->rows, item->units, item->sums, lstm->columns, 1, hidden, lstm->units, item->units);
  const char *carry = state_at(lstm, lstm->carry, lstm->cell_row, item);
  lstm->loops->pack(item->rows, item->units, carry, lstm->cell_row, 1, cell, lstm->units, item->units);
}

static void BURN_API_CALL first_body(void *context, int64_t begin, int64_t end) {
  const Lstm *lstm = &((Backward *)context)->lstm;
  for (int64_t share = begin; share < end; share++) for_items(lstm, share, 0, first_item, context);
}

static bool run_backward(Backward *work) {
  Lstm *lstm = &work->lstm;
  const size_t bytes = (size_t)(lstm->n * lstm->units * lstm->bytes);
  if (!open_room(lstm)) return false;
  if (lstm->steps == 0) {
    memset(nd_data(work->outputs[GRAD_CELL]), 0, bytes);
    memset(nd_data(work->outputs[GRAD_HIDDEN]), 0, bytes);
    return true;
  }
  nd_parallel_for(lstm->nd, lstm->groups, 1 + 65536 / (lstm->units * lstm->columns + 1), pack_backward, work);
  const char *cells = (const char *)nd_data(work->inputs[CELLS]) + (lstm->steps - 1) * lstm->units * lstm->bytes;
  pack_state(lstm, cells, row_of(work->inputs[CELLS]), lstm->cells, lstm->cell_row);
  memset(lstm->carry, 0, (size_t)cell_bytes(lstm));
  for_steps(lstm, true, backward_body, work);
  nd_parallel_for_flushed(lstm->nd, lstm->shares, 1, first_body, work);
  lstm->loops->pack(lstm->n, lstm->units, nd_data(work->inputs[HIDDEN]), lstm->units, 1, nd_data(work->states),
                    row_of(work->states), lstm->units);
  return true;
}

/* The gradient of the weight: states^T x gradients of the gates, over all samples and steps at once. */
static BurnStatus weight_back(Ndarray *nd, const BurnOpCall *call, Backward *work) {
  const int64_t count = work->lstm.n * work->lstm.steps, units = work->lstm.units, gates = GATES * units;
  const int64_t state_shape[] = {units, count}, state_strides[] = {1, units}, gate_shape[] = {count, gates},
                gate_strides[] = {gates, 1};
  NdTensor *states = nd_view(nd, work->states, 2, state_shape, state_strides, 0);
  NdTensor *derivatives = nd_view(nd, work->outputs[GRAD_GATES], 2, gate_shape, gate_strides, 0);
  BurnPrimitive *output = NULL;
  BurnStatus status = states && derivatives ? BURN_OK : nd_out_of_memory(nd, call);
  if (status == BURN_OK) {
    BurnPrimitive *const inputs[] = {&states->header, &derivatives->header};
    const BurnOpCall product = {.struct_size = (uint32_t)sizeof product,
                                .op = BURN_OP_matmul,
                                .input_count = 2,
                                .output_count = 1,
                                .inputs = inputs,
                                .outputs = &output,
                                .output_descs = &call->output_descs[GRAD_WEIGHT]};
    status = nd->kernels[BURN_OP_matmul](nd, &product);
  }
  if (output) work->outputs[GRAD_WEIGHT] = nd_tensor(output);
  nd_release(nd, states);
  nd_release(nd, derivatives);
  return status;
}

static BurnStatus lstm_backward(Ndarray *nd, const BurnOpCall *call) {
  Backward work = {.inputs = {NULL}};
  const int64_t units = call->inputs[WEIGHT]->shape[0];
  BurnStatus status = open_lstm(nd, nd_tensor(call->inputs[GRAD]), units, GATES * units, &work.lstm);
  if (status != BURN_OK) return status;
  const BurnTensorDesc states = burn_primitive_desc(call->inputs[GRAD]);
  cut_units(&work.lstm, work.lstm.n <= work.lstm.loops->tile_rows / 2 ? LOW_VECTORS : work.lstm.loops->vectors, 1);
  work.states = nd_new(nd, &states);
  const bool has_inputs = open_inputs(nd, call, work.inputs),
             has_outputs = open_outputs(nd, call, GRAD_WEIGHT, work.outputs);
  bool complete = work.states && has_inputs && has_outputs && run_backward(&work);
  close_room(&work.lstm);
  complete = complete && weight_back(nd, call, &work) == BURN_OK;
  nd_release(nd, work.states);
  return finish(nd, call, complete, work.inputs, work.outputs);
}

const NdKernelRow nd_lstm_kernels[] = {
    {BURN_OP_lstm, lstm_forward},
    {BURN_OP_lstm_backward, lstm_backward},
    {0, NULL},
};
