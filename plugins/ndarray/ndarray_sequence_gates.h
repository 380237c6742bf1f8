/* ndarray_sequence_gates.h - the gates of an lstm and their gradients for one dtype (REAL), a vector of units at a
 * time.
 *
 * The functions of vectors, sigmoids and tanhs, come from ndarray_sequence_isa.h. A vector that is not full is loaded
 * with zeros behind its units; what becomes of those is not stored. No include guard: this is text, included once per
 * dtype. */

#define VECTOR NAME(Vector)
#define LANES ((int)(sizeof(VECTOR) / sizeof(REAL)))

SEQUENCE_INLINE VECTOR NAME(load_units)(const int units, const REAL *from) {
  VECTOR x = NAME(splat)(0);
  memcpy(&x, from, (size_t)units * sizeof(REAL));
  return x;
}

SEQUENCE_INLINE void NAME(store_units)(const int units, REAL *to, VECTOR x) {
  memcpy(to, &x, (size_t)units * sizeof(REAL));
}

/* Adds what the sequence says of the units from `first` on to their products, in every sample. That is done before any
 * sample is written: rows often lie whole pages apart, and a load has to wait for a store as far into another page. */
SEQUENCE_INLINE void NAME(lstm_inputs)(const int units, const NdLstmStep *s, int64_t first) {
  for (int64_t row = 0; row < s->rows; row++) {
    REAL *product = (REAL *)s->product + row * s->product_row + 4 * first;
    const REAL *x = (const REAL *)s->gates + row * s->gates_row + first;
    for (int k = 0; k < 4; k++)
      NAME(store)(product + k * LANES, NAME(load)(product + k * LANES) + NAME(load_units)(units, x + k * s->gate));
  }
}

/* The gates and cells of the units of a sample from `first` on. */
SEQUENCE_INLINE void NAME(lstm_cells)(const int units, const NdLstmStep *s, int64_t row, int64_t first) {
  const REAL *product = (const REAL *)s->product + row * s->product_row + 4 * first;
  REAL *cell_state = (REAL *)s->cell + row * s->cell_row + first;
  REAL *activations = (REAL *)s->activations + row * s->activations_row + first;
  const VECTOR i = NAME(sigmoids)(NAME(load)(product)), f = NAME(sigmoids)(NAME(load)(product + LANES));
  const VECTOR g = NAME(tanhs)(NAME(load)(product + 2 * LANES)), o = NAME(sigmoids)(NAME(load)(product + 3 * LANES));
  const VECTOR cell = f * NAME(load)(cell_state) + i * g;
  NAME(store_units)(units, activations, i);
  NAME(store_units)(units, activations + s->gate, f);
  NAME(store_units)(units, activations + 2 * s->gate, g);
  NAME(store_units)(units, activations + 3 * s->gate, o);
  NAME(store_units)(units, (REAL *)s->cells + row * s->steps_row + first, cell);
  NAME(store)(cell_state, cell);
}

/* Their hidden states. */
SEQUENCE_INLINE void NAME(lstm_outputs)(const int units, const NdLstmStep *s, int64_t row, int64_t first) {
  const REAL *gate = (const REAL *)s->activations + row * s->activations_row + 3 * s->gate + first;
  const VECTOR cell = NAME(load)((const REAL *)s->cell + row * s->cell_row + first);
  const VECTOR hidden = NAME(load_units)(units, gate) * NAME(tanhs)(cell);
  NAME(store_units)(units, (REAL *)s->outputs + row * s->steps_row + first, hidden);
  NAME(store)((REAL *)s->state + row * s->state_row + first, hidden);
}

/* LANES units from `first` on, or what is left of them. All samples take a part of the way before any goes on, because
 * a processor sees no further than one sample: the hidden state has to wait for the cell, but not for that of the next
 * sample. */
SEQUENCE_INLINE void NAME(lstm_units)(const int units, const NdLstmStep *s, int64_t first) {
  NAME(lstm_inputs)(units, s, first);
  for (int64_t row = 0; row < s->rows; row++) NAME(lstm_cells)(units, s, row, first);
  for (int64_t row = 0; row < s->rows; row++) NAME(lstm_outputs)(units, s, row, first);
}

static void NAME(lstm_step)(const NdLstmStep *step) {
  const int64_t whole = step->units / LANES * LANES;
  for (int64_t first = 0; first < whole; first += LANES) NAME(lstm_units)(LANES, step, first);
  if (whole < step->units) NAME(lstm_units)((int)(step->units - whole), step, whole);
}

SEQUENCE_INLINE void NAME(lstm_units_back)(const int units, const NdLstmBack *s, int64_t row, int64_t first) {
  const REAL *grad_cells = (const REAL *)s->grad_cells + row * s->cells_row + (s->cells_row > 0 ? first : 0);
  const REAL *further = (const REAL *)s->grad_activations + row * s->further_row + (s->further_row > 0 ? first : 0);
  const REAL *activations = (const REAL *)s->activations + row * s->activations_row + first;
  const REAL *product = (const REAL *)s->product + row * s->product_row + first;
  REAL *carry = (REAL *)s->carry + row * s->carry_row + first,
       *cell_state = (REAL *)s->cell + row * s->carry_row + first;
  REAL *out = (REAL *)s->grad_gates + row * s->activations_row + first,
       *slopes = (REAL *)s->slopes + row * s->slopes_row + first;
  const int64_t gate = s->gate, other = s->further_gate;
  VECTOR a[4], b[4];
  for (int k = 0; k < 4; k++) a[k] = NAME(load_units)(units, activations + k * gate);
  for (int k = 0; k < 4; k++) b[k] = NAME(load_units)(units, further + k * other);
  const VECTOR i = a[0], f = a[1], g = a[2], o = a[3];
  const VECTOR before = NAME(load_units)(units, (const REAL *)s->cell_before + row * s->before_row + first);
  const VECTOR bent = NAME(tanhs)(NAME(load)(cell_state));
  const VECTOR hidden =
      NAME(load)(product) + NAME(load_units)(units, (const REAL *)s->grad + row * s->steps_row + first);
  const VECTOR cell = NAME(load)(carry) + NAME(load_units)(units, grad_cells) + hidden * o * (1 - bent * bent);
  b[0] = (cell * g + b[0]) * (i * (1 - i));
  b[1] = (cell * before + b[1]) * (f * (1 - f));
  b[2] = (cell * i + b[2]) * (1 - g * g);
  b[3] = (hidden * bent + b[3]) * (o * (1 - o));
  NAME(store)(carry, cell * f);
  NAME(store)(cell_state, before);
  NAME(store_units)(units, (REAL *)s->state + row * s->state_row + first, o * bent);
  for (int k = 0; k < 4; k++) {
    NAME(store_units)(units, out + k * gate, b[k]);
    NAME(store_units)(units, slopes + k * gate, b[k]);
  }
}

static void NAME(lstm_back)(const NdLstmBack *step) {
  const int64_t whole = step->units / LANES * LANES;
  for (int64_t row = 0; row < step->rows; row++) {
    for (int64_t first = 0; first < whole; first += LANES) NAME(lstm_units_back)(LANES, step, row, first);
    if (whole < step->units) NAME(lstm_units_back)((int)(step->units - whole), step, row, whole);
  }
}

#undef VECTOR
#undef LANES
