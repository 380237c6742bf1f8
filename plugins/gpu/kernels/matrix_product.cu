/* matrix_product.cu - products of halves and of i8 by the matrices that subgroups multiply, with sums of f32 and i32;
 * sums.cu comes before. For Vulkan alone, as CUDA has a library for them. The plugin defines LANES, the threads of a
 * subgroup, MATRIX_ROWS, MATRIX_COLUMNS and MATRIX_DEPTH, a shape that the device multiplies, and ELEMENT_BYTES.
 *
 * A group makes TILE_ROWS x TILE_COLUMNS results, DEPTH steps of k at a time in shared memory, while the next ones are
 * read into registers; a subgroup makes PART_ROWS x PART_COLUMNS of them. There is one stage of shared memory, as twice
 * the depth in it is faster than half the depth in two. BURN_VARIANT: 1: the left operand is dense along m, not along k;
 * 2: the right one is dense along k, not along n; + 4 * the tile.
 *
 * Tiles lie in shared memory as operands do in that of the device, line by line, so both are read and written by vectors;
 * a matrix is turned when it is loaded. Lines are an odd number of vectors apart, so that those of a matrix do not meet in
 * a bank. Where k is in parts, a group adds up one of them, and product_parts.cu adds these. */
#define LEFT_TURNED (BURN_VARIANT & 1)
#define RIGHT_TURNED (BURN_VARIANT >> 1 & 1)
#define TILE (BURN_VARIANT >> 2)
#if TILE == 0
#define TILE_ROWS 64
#define TILE_COLUMNS 64
#define PART_ROWS 32
#define PART_COLUMNS 32
#define DEPTH_BYTES 128
#elif TILE == 1
#define TILE_ROWS 128
#define TILE_COLUMNS 128
#define PART_ROWS 64
#define PART_COLUMNS 64
#define DEPTH_BYTES 128
#else /* of processors, which compile a loop that is written out for minutes */
#define TILE_ROWS 32
#define TILE_COLUMNS 16
#define PART_ROWS 16
#define PART_COLUMNS 16
#define DEPTH_BYTES 32
#endif
#define DEPTH (DEPTH_BYTES / ELEMENT_BYTES)
#define BAND 8 /* rows of tiles that groups with neighbouring numbers share, so that both operands stay in the cache */

#define SUBGROUP_ROWS (TILE_ROWS / PART_ROWS)
#define SUBGROUP_COLUMNS (TILE_COLUMNS / PART_COLUMNS)
#define SUBGROUPS (SUBGROUP_ROWS * SUBGROUP_COLUMNS)
#define THREADS (SUBGROUPS * LANES)
#define ROWS (PART_ROWS / MATRIX_ROWS) /* matrices of a subgroup */
#define COLUMNS (PART_COLUMNS / MATRIX_COLUMNS)

/* A vector of 16 bytes, or of 8 where a line of a matrix has no more. */
#if MATRIX_ROWS * ELEMENT_BYTES % 16 == 0 && MATRIX_COLUMNS * ELEMENT_BYTES % 16 == 0 && \
    MATRIX_DEPTH * ELEMENT_BYTES % 16 == 0
#define WORDS 4
#else
#define WORDS 2
#endif
#define VECTOR (WORDS * 4 / ELEMENT_BYTES)
struct alignas(4 * WORDS) Words { uint32_t at[WORDS]; };

/* Lines of a tile in shared memory: how many, of how many vectors, and how far apart. */
#define LEFT_LINES (LEFT_TURNED ? DEPTH : TILE_ROWS)
#define LEFT_VECTORS ((LEFT_TURNED ? TILE_ROWS : DEPTH) / VECTOR)
#define LEFT_PITCH (LEFT_VECTORS | 1)
#define LEFT_SIZE (LEFT_LINES * LEFT_PITCH)
#define LEFT_READS ((LEFT_LINES * LEFT_VECTORS + THREADS - 1) / THREADS)
#define RIGHT_LINES (RIGHT_TURNED ? TILE_COLUMNS : DEPTH)
#define RIGHT_VECTORS ((RIGHT_TURNED ? DEPTH : TILE_COLUMNS) / VECTOR)
#define RIGHT_PITCH (RIGHT_VECTORS | 1)
#define RIGHT_SIZE (RIGHT_LINES * RIGHT_PITCH)
#define RIGHT_READS ((RIGHT_LINES * RIGHT_VECTORS + THREADS - 1) / THREADS)
#define STAGE (LEFT_SIZE + RIGHT_SIZE)

/* Sums of a row of matrices on their way out, for each subgroup. */
#define SUMS_PITCH (PART_COLUMNS / WORDS + 1)
#define SUMS_SIZE (MATRIX_ROWS * SUMS_PITCH)
#define SHARED (STAGE > SUBGROUPS * SUMS_SIZE ? STAGE : SUBGROUPS * SUMS_SIZE)

typedef burn_subgroup_matrix<IN0, MATRIX_ROWS, MATRIX_DEPTH, 0> Left;
typedef burn_subgroup_matrix<IN0, MATRIX_DEPTH, MATRIX_COLUMNS, 1> Right;
typedef burn_subgroup_matrix<A, MATRIX_ROWS, MATRIX_COLUMNS, 2> Sums;

/* -- reading ---------------------------------------------------------------------------------- */

static __device__ inline uint32_t burn_word(f16_t x) { return (uint32_t)x.bits; }
static __device__ inline uint32_t burn_word(bf16_t x) { return (uint32_t)x.bits; }
static __device__ inline uint32_t burn_word(i8_t x) { return (uint32_t)(uint8_t)x; }

/* The vectors of a tile that a thread reads: the first at (line, at), the next ones a step of lines further. */
struct Reader {
  const IN0 *from;
  int64_t step, along; /* elements from one vector to the next, and from one element to the next */
  int32_t line, at;
};

template <int VECTORS>
static __device__ inline Reader burn_reader(const IN0 *from, int64_t across, int64_t along) {
  Reader reader;
  reader.line = (int)threadIdx.x / VECTORS;
  reader.at = (int)threadIdx.x % VECTORS * VECTOR;
  reader.from = from + reader.line * across + reader.at * along;
  reader.step = THREADS / VECTORS * across;
  reader.along = along;
  return reader;
}

/* The first `count` elements of a vector, then zeros. */
static __device__ inline Words burn_elements(const IN0 *from, int64_t along, int count) {
  Words words;
#pragma unroll
  for (int w = 0; w < WORDS; w++) words.at[w] = 0u;
#pragma unroll
  for (int e = 0; e < VECTOR; e++) {
    if (e < count)
      words.at[e * ELEMENT_BYTES / 4] |= burn_word(from[e * along]) << (e * ELEMENT_BYTES % 4 * 8);
  }
  return words;
}

/* A vector of neighbours that begins anywhere: out of the two vectors in which it lies, or the one. */
static __device__ inline Words burn_slanted(const IN0 *from) {
  const uint64_t first = (uint64_t)from, last = first + (VECTOR - 1) * ELEMENT_BYTES, size = 4 * WORDS;
  const Words low = *(const Words *)(first / size * size), high = *(const Words *)(last / size * size);
  const uint32_t bytes = (uint32_t)(first % size);
  uint32_t all[2 * WORDS];
  Words words;
#pragma unroll
  for (int w = 0; w < WORDS; w++) all[w] = low.at[w], all[WORDS + w] = high.at[w];
#pragma unroll
  for (int w = 0; w < WORDS * 3 / 2 && WORDS == 4; w++) {
    const uint32_t near = all[w], far = all[(w + 2) % (2 * WORDS)];
    all[w] = (bytes & 8u) != 0u ? far : near;
  }
#pragma unroll
  for (int w = 0; w <= WORDS; w++) {
    const uint32_t near = all[w], far = all[w + 1];
    all[w] = (bytes & 4u) != 0u ? far : near;
  }
#pragma unroll
  for (int w = 0; w < WORDS; w++)
    words.at[w] = (uint32_t)(((uint64_t)all[w + 1] << 32 | all[w]) >> (bytes % 4u * 8u));
  return words;
}

/* How vectors of an operand are read: one by one of their elements, at once, or at once where they begin anywhere. */
#define BY_ELEMENTS 0
#define WHOLE 1
#define SLANTED 2

static __device__ inline Words burn_vector(const IN0 *from, int way) {
  if (way == WHOLE) return *(const Words *)from;
  return burn_slanted(from);
}

/* A tile, of which `lines` lines with `count` elements are there. */
template <int READS, int LINES, int VECTORS>
static __device__ inline void burn_read(Words *to, const Reader &reader, int way, int lines, int count) {
  if (way != BY_ELEMENTS && lines >= LINES && count >= VECTORS * VECTOR) {
#pragma unroll
    for (int i = 0; i < READS; i++)
      if (LINES * VECTORS % THREADS == 0 || reader.line + i * (THREADS / VECTORS) < LINES)
        to[i] = burn_vector(reader.from + i * reader.step, way);
    return;
  }
#pragma unroll
  for (int i = 0; i < READS; i++) {
    const int left = reader.line + i * (THREADS / VECTORS) < lines ? count - reader.at : 0;
    if (way != BY_ELEMENTS && left >= VECTOR)
      to[i] = burn_vector(reader.from + i * reader.step, way);
    else
      to[i] = burn_elements(reader.from + i * reader.step, reader.along, left);
  }
}

template <int READS, int LINES, int VECTORS>
static __device__ inline void burn_share(Words *tile, const Words *held, const Reader &reader) {
#pragma unroll
  for (int i = 0; i < READS; i++) {
    const int line = reader.line + i * (THREADS / VECTORS);
    if (LINES * VECTORS % THREADS == 0 || line < LINES)
      tile[line * (VECTORS | 1) + reader.at / VECTOR] = held[i];
  }
}

/* Of an operand `side` lines of results and `depth` steps of k are there. */
static __device__ inline void burn_read_left(Words *to, const Reader &reader, int way, int side, int depth) {
  burn_read<LEFT_READS, LEFT_LINES, LEFT_VECTORS>(to, reader, way, LEFT_TURNED ? depth : side,
                                                  LEFT_TURNED ? side : depth);
}
static __device__ inline void burn_read_right(Words *to, const Reader &reader, int way, int side, int depth) {
  burn_read<RIGHT_READS, RIGHT_LINES, RIGHT_VECTORS>(to, reader, way, RIGHT_TURNED ? side : depth,
                                                     RIGHT_TURNED ? depth : side);
}

static __device__ inline void burn_share_both(Words *stage, const Words *held_left, const Words *held_right,
                                              const Reader &left, const Reader &right) {
  burn_share<LEFT_READS, LEFT_LINES, LEFT_VECTORS>(stage, held_left, left);
  burn_share<RIGHT_READS, RIGHT_LINES, RIGHT_VECTORS>(stage + LEFT_SIZE, held_right, right);
}

/* -- multiplying ------------------------------------------------------------------------------ */

/* sums += the part's rows of the left tile times its columns of the right one, which begin at `left` and `right`. */
static __device__ inline void burn_multiply(Sums sums[ROWS][COLUMNS], const Words *left, const Words *right) {
#pragma unroll
  for (int k = 0; k < DEPTH; k += MATRIX_DEPTH) {
    Left a[ROWS];
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
      const int y = i * MATRIX_ROWS;
      const int at = LEFT_TURNED ? k * LEFT_PITCH + y / VECTOR : y * LEFT_PITCH + k / VECTOR;
      a[i] = burn_matrix_load<Left>(left + at, LEFT_PITCH, LEFT_TURNED);
    }
#pragma unroll
    for (int j = 0; j < COLUMNS; j++) {
      const int x = j * MATRIX_COLUMNS;
      const int at = RIGHT_TURNED ? x * RIGHT_PITCH + k / VECTOR : k * RIGHT_PITCH + x / VECTOR;
      const Right b = burn_matrix_load<Right>(right + at, RIGHT_PITCH, RIGHT_TURNED);
#pragma unroll
      for (int i = 0; i < ROWS; i++) sums[i][j] = burn_matrix_multiply_add(a[i], b, sums[i][j]);
    }
  }
}

/* What there is to add up: steps of k, elements from one step of DEPTH to the next, where the part of a subgroup begins in
 * a stage, rows and columns of the tile. */
struct Span {
  int64_t depth, left_step, right_step;
  int32_t left_part, right_part, rows, columns;
};

/* inside: the tile has no edge, and all of it is read by vectors, so nothing is asked in the loop. */
template <bool inside>
static __device__ inline void burn_add_up(Sums sums[ROWS][COLUMNS], Words *tiles, Reader left, Reader right, int left_way,
                                          int right_way, const Span &span) {
  Words held_left[LEFT_READS], held_right[RIGHT_READS];
  const int rows = inside ? TILE_ROWS : span.rows, columns = inside ? TILE_COLUMNS : span.columns;
  const int depth = inside ? DEPTH : burn_left(span.depth, DEPTH);
  burn_read_left(held_left, left, left_way, rows, depth);
  burn_read_right(held_right, right, right_way, columns, depth);
  for (int64_t k = DEPTH; k < span.depth + DEPTH; k += DEPTH) {
    burn_share_both(tiles, held_left, held_right, left, right);
    __syncthreads();
    if (k < span.depth) { /* the next tiles are under way while these are multiplied */
      const int next = inside ? DEPTH : burn_left(span.depth - k, DEPTH);
      left.from += span.left_step;
      right.from += span.right_step;
      burn_read_left(held_left, left, left_way, rows, next);
      burn_read_right(held_right, right, right_way, columns, next);
    }
    burn_multiply(sums, tiles + span.left_part, tiles + span.right_part);
    __syncthreads();
  }
}

/* -- writing ---------------------------------------------------------------------------------- */

static __device__ inline float burn_sum(uint32_t word, float) { return __uint_as_float(word); }
static __device__ inline int32_t burn_sum(uint32_t word, int32_t) { return (int32_t)word; }

/* Through shared memory, as only there it is known which element is which; `row`, `column`: of the tile. */
static __device__ inline void burn_write_sums(const Ending &ending, int64_t m, Words *tiles, Sums sums[ROWS][COLUMNS],
                                              OUT *out, int64_t row, int64_t column) {
  const int piece = (int)threadIdx.x / LANES, lane = (int)threadIdx.x % LANES, mine = (int)burn_subgroup() * SUMS_SIZE;
  const bool whole = ending.n % 4 == 0 && (uint64_t)out % (4 * sizeof(OUT)) == 0;
  row += piece / SUBGROUP_COLUMNS * PART_ROWS;
  column += piece % SUBGROUP_COLUMNS * PART_COLUMNS;
#pragma unroll
  for (int i = 0; i < ROWS; i++) {
#pragma unroll
    for (int j = 0; j < COLUMNS; j++)
      burn_matrix_store(tiles + (mine + j * MATRIX_COLUMNS / WORDS), sums[i][j], SUMS_PITCH, 0);
    __syncthreads();
    for (int e = 0; e < MATRIX_ROWS * PART_COLUMNS / 4; e += LANES) {
      const int y = (e + lane) / (PART_COLUMNS / 4), x = (e + lane) % (PART_COLUMNS / 4) * 4;
      const int64_t at = row + i * MATRIX_ROWS + y;
      A four[4];
#pragma unroll
      for (int f = 0; f < 4; f += WORDS) {
        const Words words = tiles[piece * SUMS_SIZE + y * SUMS_PITCH + (x + f) / WORDS];
#pragma unroll
        for (int w = 0; w < WORDS; w++) four[f + w] = burn_sum(words.at[w], (A)0);
      }
      if (at < m) burn_write(ending, out + at * ending.n, column + x, four, whole);
    }
    __syncthreads();
  }
}

/* -- the kernel ------------------------------------------------------------------------------- */

extern "C" __global__ void __launch_bounds__(THREADS) kernel(const GpuMatmul p) {
  __shared__ Words tiles[SHARED];
  const int rows = (int)((p.m + TILE_ROWS - 1) / TILE_ROWS), columns = (int)((p.n + TILE_COLUMNS - 1) / TILE_COLUMNS);
  const int number = (int)blockIdx.x % (rows * columns), rest = (int)blockIdx.x / (rows * columns);
  const int band = number / (BAND * columns), in_band = number % (BAND * columns);
  const int high = rows - band * BAND < BAND ? rows - band * BAND : BAND;
  const int64_t row = (int64_t)(band * BAND + in_band % high) * TILE_ROWS, column = (int64_t)(in_band / high) * TILE_COLUMNS;
  const int64_t part = rest % (int)p.parts, batch = rest / (int)p.parts, first = part * p.part_size;
  const int64_t end = first + p.part_size < p.k ? first + p.part_size : p.k;
  const Places places = burn_places(p, batch);
  const IN0 *lhs = (const IN0 *)p.lhs + places.left + row * p.lhs_row + first * p.lhs_column;
  const IN0 *rhs = (const IN0 *)p.rhs + places.right + column * p.rhs_column + first * p.rhs_row;
  const Reader left = LEFT_TURNED ? burn_reader<LEFT_VECTORS>(lhs, p.lhs_column, p.lhs_row)
                            : burn_reader<LEFT_VECTORS>(lhs, p.lhs_row, p.lhs_column);
  const Reader right = RIGHT_TURNED ? burn_reader<RIGHT_VECTORS>(rhs, p.rhs_column, p.rhs_row)
                              : burn_reader<RIGHT_VECTORS>(rhs, p.rhs_row, p.rhs_column);
  const int left_way = p.ways % 4, right_way = p.ways / 4;
  const int high_left = burn_left(p.m - row, TILE_ROWS), wide_left = burn_left(p.n - column, TILE_COLUMNS);
  const int subgroup = (int)burn_subgroup();
  const int part_row = subgroup / SUBGROUP_COLUMNS * PART_ROWS, part_column = subgroup % SUBGROUP_COLUMNS * PART_COLUMNS;
  const int left_part = LEFT_TURNED ? part_row / VECTOR : part_row * LEFT_PITCH;
  const int right_part = LEFT_SIZE + (RIGHT_TURNED ? part_column * RIGHT_PITCH : part_column / VECTOR);
  Sums sums[ROWS][COLUMNS];
#pragma unroll
  for (int i = 0; i < ROWS; i++)
#pragma unroll
    for (int j = 0; j < COLUMNS; j++) sums[i][j] = burn_matrix_fill<Sums>((A)0);
  const Span span = {end - first, DEPTH * p.lhs_column, DEPTH * p.rhs_row, left_part, right_part, high_left, wide_left};
  if (left_way == WHOLE && right_way == WHOLE && high_left == TILE_ROWS && wide_left == TILE_COLUMNS &&
      span.depth % DEPTH == 0)
    burn_add_up<true>(sums, tiles, left, right, WHOLE, WHOLE, span);
  else
    burn_add_up<false>(sums, tiles, left, right, left_way, right_way, span);
  burn_reload_parameters();
  const Ending ending = {p.bias, p.n};
  const int64_t m = p.m;
  OUT *out = (OUT *)p.out + (part * p.batches + batch) * m * ending.n;
  burn_write_sums(ending, m, tiles, sums, out, row, column);
}
