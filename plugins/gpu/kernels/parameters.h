/* parameters.h - the arguments of kernels: one struct each, read by the plugin (C) and by the kernels' texts (CUDA C).
 * Addresses are 64-bit numbers, counts and strides are in elements. */
#if !defined(BURN_GPU_PARAMETERS_H)
#define BURN_GPU_PARAMETERS_H

#if !defined(__CUDACC_RTC__)
#include <stdint.h>
#endif

#define GPU_MAX_RANK 8
#define GPU_MAX_INPUTS 3
#define GPU_ELEMENT_THREADS 128                             /* of a group of kernels that go element by element */
#define GPU_ELEMENT_VECTORS(inputs) ((inputs) == 1 ? 2 : 1) /* that a thread of the flat ones has under way */

/* What a kernel found wrong, in memory that the host sees. The first one stays until the host has told it. */
typedef struct GpuComplaint {
  uint32_t is_set, op;
  int64_t index, position, size, dim;
} GpuComplaint;

/* A number as floats and as integers see it; `is_real` tells which of them the call gave. */
typedef struct GpuNumber {
  double real;
  int64_t integer;
  int32_t is_real, reserved;
} GpuNumber;

typedef struct GpuElementwise {
  uint64_t out, in[GPU_MAX_INPUTS];
  int64_t count;
  int32_t rank, turned;      /* turned: along which the input has no gaps, in tiles */
  int32_t repeats, reserved; /* repeats: an input of a flat kernel is one element */
  int64_t shape[GPU_MAX_RANK];
  int64_t out_strides[GPU_MAX_RANK];
  int64_t strides[GPU_MAX_INPUTS][GPU_MAX_RANK];
  GpuNumber s, q;
} GpuElementwise;

/* Without inputs. */
typedef struct GpuCreate {
  uint64_t out;
  int64_t count;
  GpuNumber first, second;          /* low and high, mean and deviation, start and step */
  uint64_t seed, offset, threshold; /* threshold: of bernoulli's words; of uniform's sums, the bits of an f32 */
} GpuCreate;

/* [outer, size, inner] to [outer, inner], or to [outer, parts, inner] of a first pass. `second`: where the second of
 * two outer ones goes, 0: after the first. `lanes`: vectors beside each other in a block, where lines lie so. */
typedef struct GpuReduce {
  uint64_t out, in, second;
  int64_t outer, size, inner;
  int64_t parts, part_size;
  int64_t divisor;        /* of the results, where is_mean */
  int32_t is_mean, whole; /* whole: lines, and parts of them, begin at addresses of whole vectors */
  int32_t lanes;
  int32_t stretches; /* lines side by side have few elements, and are summed as ndarray does: `lanes` are lines then */
} GpuReduce;

/* totals [outer, parts, inner]: what the elements of each part of a line make together, in the dtype that the kernel
 * computes in; 0 where lines have one part. */
typedef struct GpuScan {
  uint64_t out, in, totals;
  int64_t outer, size, inner, parts, part_size;
  int32_t whole, reserved; /* whole: as in GpuReduce */
} GpuScan;

/* The order of lines. `padded`: of a bitonic sort, a power of two; the rest: a pass over eight bits of keys, from
 * `shift` on. keys_in and indices_in are 0 in the first pass, keys_out in the last. */
typedef struct GpuSort {
  uint64_t out, in, keys_in, keys_out, indices_in, indices_out, counts, totals;
  int64_t outer, size, inner, padded, tiles;
  uint64_t flip; /* bits that make a key sortable without a sign; all others too where the order falls */
  int32_t shift, descending;
} GpuSort;

/* x [outer, size, inner], indices, values or out [outer, picks, inner]. */
typedef struct GpuIndex {
  uint64_t out, x, indices, values, order, partial, complaint;
  int64_t outer, size, inner, picks, pieces;
  int64_t dim;
  uint32_t op;
  int32_t per_element; /* indices [outer, picks, inner], not [picks] */
  int32_t is_small;    /* fewer than 2^31 threads */
  int32_t piece;       /* picks that a thread puts */
} GpuIndex;

/* Rows of [outer, size], or lines along the middle of [outer, size, inner]. What a kind of kernels/softmax.cu,
 * layer_norm.cu or loss.cu does not have is 0; `y` is the second of x's shape, or the targets of losses. */
typedef struct GpuRows {
  uint64_t out, x, y, grad, gamma, beta, partial, complaint;
  int64_t outer, size, inner;
  int64_t parts, part_size, count;
  double epsilon;
  uint32_t op;
  int32_t whole; /* rows are made of vectors of 16 bytes at addresses of such */
} GpuRows;

/* x [samples, channels, rest], the rest [channels]; what a kind of kernels/batch_norm.cu does not have is 0. */
typedef struct GpuBatchNorm {
  uint64_t out, x, grad, gamma, beta, mean, var, mean_out, var_out, gamma_out, beta_out, partial;
  int64_t samples, channels, rest;
  int64_t parts, part_size; /* of the samples * rest elements of a channel */
  double epsilon;
  int32_t is_small; /* samples * rest is less than 2^32 */
  int32_t is_wide;  /* rest is made of vectors of 16 bytes */
  int32_t whole;    /* and these can be read at once */
  int32_t reserved;
} GpuBatchNorm;

/* A step of an lstm; all are of what it is computed in. `left` times the weight, or the weight transposed, is the
 * product of the step: rows `left_row` apart. What a kind of kernels/lstm.cu does not have is 0. */
typedef struct GpuLstm {
  uint64_t left, weight, product;
  uint64_t outputs, cells, activations, gates, hidden, cell;
  uint64_t grad, grad_cells, grad_activations, gates_out, hidden_out, cell_out, states;
  int64_t samples, steps, units, step, left_row;
  int32_t is_first; /* backward: no step comes after this one */
  int32_t whole;    /* rows of all begin where vectors can be read at once */
} GpuLstm;

/* Rows of `width` vectors of 16 bytes, to be `distance` vectors apart. */
typedef struct GpuRowCopy {
  uint64_t out, in;
  int64_t rows, width, distance;
  int64_t is_small; /* fewer than 2^32 vectors */
} GpuRowCopy;

/* [batches, m, k] x [batches, k, n] + bias [n]; a stride of 0 repeats, a bias of 0 is none. Matrices of subgroups take
 * k in parts; ways: how vectors of the left operand are read, and 4 * that of the right one. depth: of blocks of k,
 * whose sums are added one after the other. */
#define GPU_DIRECT_THREADS 8 /* of a group of kernels/direct_product.cu */
typedef struct GpuMatmul {
  uint64_t out, lhs, rhs, bias;
  int64_t m, n, k;
  int64_t lhs_row, lhs_column, rhs_row, rhs_column;
  int64_t batches;
  int64_t parts, part_size, depth;
  int32_t rank, ways; /* rank: of the batch axes */
  int64_t shape[GPU_MAX_RANK], lhs_strides[GPU_MAX_RANK], rhs_strides[GPU_MAX_RANK];
} GpuMatmul;

/* The tiles of kernels/small_product.cu (0) and product.cu by number: results of a block, those of a thread, steps of k
 * in shared memory (`bytes`: of an element there), and how many tiles of each operand that has room for. */
#define GPU_PRODUCT_ROWS(tile) ((tile) == 0 ? 16 : (tile) == 1 ? 32 : 64)
#define GPU_PRODUCT_COLUMNS(tile) ((tile) == 0 ? 16 : (tile) == 1 ? 32 : (tile) == 2 ? 64 : 128)
#define GPU_PRODUCT_MY_ROWS(tile) ((tile) == 0 ? 1 : (tile) == 1 ? 4 : 8)
#define GPU_PRODUCT_MY_COLUMNS(tile) ((tile) == 0 ? 2 : (tile) == 3 ? 8 : 4)
#define GPU_PRODUCT_DEPTH(tile, bytes) ((tile) == 0 ? 256 / (int)(bytes) : (tile) == 1 ? 16 : 64 / (int)(bytes))
#define GPU_PRODUCT_COPIES(tile) ((tile) < 2 ? 1 : 2)
#define GPU_PRODUCT_THREADS(tile) \
  (GPU_PRODUCT_ROWS(tile) * GPU_PRODUCT_COLUMNS(tile) / (GPU_PRODUCT_MY_ROWS(tile) * GPU_PRODUCT_MY_COLUMNS(tile)))

/* lines [batches, lines, k], or [batches, k, lines], times vectors [batches, k], + bias; `stride` is that
 * of the axis of the matrix that is not dense. Parts of k are added by a second pass. */
#define GPU_VECTOR_LINES 4 /* that a warp or a block takes at once */
typedef struct GpuVector {
  uint64_t out, matrix, vector, bias;
  int64_t lines, k, stride, vector_stride, bias_stride;
  int64_t batches, parts, part_size;
  int32_t rank, reserved; /* of the batch axes */
  int64_t shape[GPU_MAX_RANK], matrix_strides[GPU_MAX_RANK], vector_strides[GPU_MAX_RANK];
} GpuVector;

/* sums [.., m, n] times a scale of the row and one of the column; strides by the axes of the result, 0: one for all. */
#define GPU_SCALED_TILE 1024 /* columns of a block */
typedef struct GpuScaled {
  uint64_t out, sums, lhs, rhs;
  int64_t rows, n; /* rows: all but the last axis */
  int32_t rank, reserved;
  int64_t shape[GPU_MAX_RANK], lhs_strides[GPU_MAX_RANK], rhs_strides[GPU_MAX_RANK];
} GpuScaled;

/* Steps of an optimizer on many tensors. The table lies in the arguments, which may have 4 KB in all: it is part of a
 * launch, and nothing has to be copied for it. */
#define GPU_STEP_TENSORS 52
#define GPU_STEP_SETS 4
#define GPU_STEP_CHUNK 2048 /* elements per block */
#define GPU_STEP_HALF 256u

typedef struct GpuStepTensor {
  uint64_t in[4], out[3]; /* 0: not there */
  int64_t count;
  uint32_t first_block, set; /* set: which numbers; with GPU_STEP_HALF added, in[1] is of another dtype */
} GpuStepTensor;

typedef struct GpuSteps {
  uint32_t count, reserved;
  double numbers[GPU_STEP_SETS][8]; /* as kernels/optimizer.cu names them */
  GpuStepTensor tensors[GPU_STEP_TENSORS];
} GpuSteps;

/* Numbers in shared memory of matrix_conv.cu. Distances of channels are such that what the 32 threads of a warp read at
 * once lies in 32 banks; where RUN is even, two or four threads meet in one. at_once: numbers that a copy has. */
#define GPU_MATRIX_DOWN 4  /* warps of a block that have other rows of results */
#define GPU_MATRIX_WARPS 8 /* of a block of the gradient of the weight */
#define GPU_MATRIX_PADDED(count, rest) ((count) + (((rest) - (count)) % 32 + 32) % 32) /* = rest, modulo 32 */
#define GPU_MATRIX_PITCH(count, run) GPU_MATRIX_PADDED(count, (run) % 2 == 1 ? 8 : 2)  /* of results on their way out */
#define GPU_MATRIX_PLACES(count, run) \
  GPU_MATRIX_PADDED(count, (run) % 2 == 1 ? 4 : 2) /* where a weight's gradient is made */
/* A line of pixels that meets 8 * run places, wherever the first of them lies in what is copied at once. */
#define GPU_MATRIX_UNIT(at_once) ((at_once) == 4 ? 4 : 2)
#define GPU_MATRIX_LINE(run, taps_x, at_once)                                                     \
  ((8 * (run) + (taps_x) + (at_once) + GPU_MATRIX_UNIT(at_once) - 3) / GPU_MATRIX_UNIT(at_once) * \
   GPU_MATRIX_UNIT(at_once))
#define GPU_MATRIX_PLANE(run, rows, taps_y, taps_x, at_once)                                         \
  GPU_MATRIX_PADDED((GPU_MATRIX_DOWN * (rows) + (taps_y)-1) * GPU_MATRIX_LINE(run, taps_x, at_once), \
                    (run) % 2 == 1   ? 8                                                             \
                    : (at_once) == 1 ? 1                                                             \
                                     : 2)
#define GPU_MATRIX_WEIGHTS(pass, channels, taps) \
  ((pass) == 0 ? (channels)*GPU_MATRIX_PADDED(8 * (taps), 12) : 8 * GPU_MATRIX_PADDED((channels) * (taps), 8))
#define GPU_MATRIX_SUMS(channels, taps) ((channels) * (taps) + 8)

#define GPU_CONV_DEPTH 16 /* steps of k in shared memory of kernels/implicit_conv.cu */
/* Two axes: 0 is y. */
typedef struct GpuConv {
  uint64_t out, x, weight, bias;
  int64_t batch, in_channels, out_channels; /* of conv2d that this is, or is a gradient of */
  int64_t in[2], kernel[2], windows[2];
  int64_t stride[2], padding[2], dilation[2], groups;
  int64_t parts, part_size; /* of all places, for the gradient of the weight, whose parts lie at `bias` */
  int64_t tile[2];          /* places of a block, in matrix_conv.cu */
} GpuConv;

/* [batch, channels, pixels] and [batch, channels * kernel, windows], by strides of the latter. */
typedef struct GpuColumns {
  uint64_t out, in, bias;
  int64_t batch, channels, batch_stride, row_stride;
  int64_t pixels[2], kernel[2], windows[2], stride[2], padding[2], dilation[2];
} GpuColumns;

/* Element k of line l of the input, at in + n * in_batch + l * in_line + k, is element l of line k of the result. */
typedef struct GpuTranspose {
  uint64_t out, in;
  int64_t batch, lines, length, in_batch, in_line, out_batch, out_line;
} GpuTranspose;

/* Pixels of a plane whose gradient of the largest, of numbers of so many bytes, is made in 48 KiB of shared memory. */
#define GPU_POOL_PLANE(bytes) ((bytes) == 8 ? 3040 : 4064)

typedef struct GpuPool {
  uint64_t out, indices, in; /* indices: 0 for none */
  uint64_t ranges;           /* of the gradient of the largest where planes are large: room for each block */
  int64_t planes, slices;    /* slices: blocks of a plane, there */
  int64_t pixels[2], windows[2], kernel[2], stride[2], padding[2], dilation[2];
  int32_t count_include_pad, reserved;
} GpuPool;

/* Attention [batch, heads, queries or keys, width]: strides of each. What `out` is depends on the pass. A mask or bias
 * has a stride of 0 where it repeats. */
typedef struct GpuAttention {
  uint64_t out, second_out, query, key, value, grad, mask, bias; /* mask, bias: 0 for none */
  uint64_t statistics;                                           /* [3, batch, heads, queries] */
  uint64_t scores; /* gradient of the scores before scale and cap [batch, heads, queries, keys]; 0: not wanted */
  int64_t batch, heads, queries, keys, width, value_width;
  int64_t tiles, chunks; /* blocks along the rows, along the columns */
  int64_t out_strides[4], second_out_strides[4], query_strides[4], key_strides[4], value_strides[4], grad_strides[4];
  int64_t mask_strides[4], bias_strides[4];
  double scale, cap;
  int32_t is_causal, reserved;
  uint64_t logsumexp, result; /* [batch, heads, queries], as `out`: what attention leaves its gradients; 0: nothing */
  uint64_t hits;              /* between the gradients of kernels/attention_plain.cu: [batch, heads, queries] */
  int64_t result_strides[4];
} GpuAttention;

/* What a block of kernels/attention_plain.cu has, by pass, whether it multiplies on tensor cores, whether it has many
 * rows, and width: warps, 16s of rows of a warp, the other side's rows in a tile, and tiles at once. */
#define GPU_PLAIN_WARPS(pass, cores, many, width) ((pass) == 1 && (cores) && (many) && (width) > 64 ? 8 : 4)
#define GPU_PLAIN_SHARES(pass, cores, many, width) ((many) && ((pass) == 0 || ((cores) && (width) <= 64)) ? 2 : 1)
#define GPU_PLAIN_TILE(pass, cores, width) ((width) > 64 || ((pass) > 0 && (cores)) ? 32 : 64)
#define GPU_PLAIN_STAGES(cores, width) ((cores) && (width) <= 64 ? 2 : 1)

/* A bias of `shape` from scores with these strides; each of its elements is the sum of `count` of them, `repeats` along
 * each axis. */
typedef struct GpuScoreSum {
  uint64_t out, in;
  int64_t shape[4], strides[4], repeats[4], count;
  int32_t by_block, reserved;
} GpuScoreSum;

#endif
