/* elementwise_tiles.cu - element i of the result from element i of one input that has no gaps along another axis than the
 * result. A block reads a tile along that axis, and writes it along the last one. Where in a row of the tile an element
 * lies is changed by the row's number, so that neither rows nor columns wait for a bank of shared memory. The lines before
 * this define burn_apply. */
enum { TILE = sizeof(IN0) <= 4 ? 64 : 32, LINES = 256 / TILE, ROUNDS = TILE / LINES };

extern "C" __global__ void __launch_bounds__(256) kernel(const GpuElementwise p) {
  __shared__ IN0 tile[TILE * TILE];
  const int last = p.rank - 1, lane = threadIdx.x % TILE, line = threadIdx.x / TILE;
  const int64_t columns = p.shape[last], rows = p.shape[p.turned];
  const uint32_t across = (uint32_t)((columns + TILE - 1) / TILE), down = (uint32_t)((rows + TILE - 1) / TILE);
  const int64_t column = (int64_t)(blockIdx.x % across) * TILE, row = (int64_t)(blockIdx.x / across % down) * TILE;
  uint32_t rest = blockIdx.x / across / down;
  int64_t at = 0, to = 0;
  for (int axis = last - 1; axis >= 0; axis--) {
    if (axis == p.turned) continue;
    const uint32_t size = (uint32_t)p.shape[axis], next = rest / size, here = rest - next * size;
    rest = next;
    to += here * p.out_strides[axis];
    at += here * p.strides[0][axis];
  }
  const int width = columns - column < TILE ? (int)(columns - column) : TILE;
  const int height = rows - row < TILE ? (int)(rows - row) : TILE;
  const IN0 *from = (const IN0 *)p.in[0] + at + (row + lane) + (column + line) * p.strides[0][last];
  const int64_t step = LINES * p.strides[0][last], out_step = LINES * p.out_strides[p.turned];
  IN0 held[ROUNDS];
#pragma unroll
  for (int k = 0; k < ROUNDS; k++)
    if (lane < height && k * LINES + line < width) held[k] = from[k * step];
#pragma unroll
  for (int k = 0; k < ROUNDS; k++) /* (k * LINES + line) % 32 is k * LINES % 32 and line, of which no bit meets */
    if (lane < height && k * LINES + line < width)
      tile[(k * LINES + line) * TILE + (lane ^ line ^ k * LINES % 32)] = held[k];
  __syncthreads();
  OUT *out = (OUT *)p.out + to + (row + line) * p.out_strides[p.turned] + column + lane;
#pragma unroll
  for (int k = 0; k < ROUNDS; k++) {
    if (k * LINES + line >= height || lane >= width) continue;
    const IN0 x = tile[lane * TILE + (lane % 32 ^ line ^ k * LINES)];
    burn_put(out[k * out_step], burn_apply(burn_get(x), burn_get(x), burn_get(x), p.s, p.q));
  }
}
