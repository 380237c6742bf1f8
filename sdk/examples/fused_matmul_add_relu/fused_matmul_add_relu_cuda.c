/* fused_matmul_add_relu_cuda.c - the kernel for devices: its text, which the
 * backend compiles for the device that it has, and how a call is started. Those
 * that take words of SPIR-V get these (fused_matmul_add_relu_spirv.c).
 *
 * A block makes 16 x 16 elements of the result, and holds as much of lhs and
 * rhs in shared memory while it walks along the inner axis. */
#include <burn/plugin/kernels.h>

#include <stdio.h>

enum { TILE = 16, MAX_RANK = 4 };

/* As in the text below. Strides are in elements; 0 where an axis of size 1 is
 * stretched. `outer` and `middle` are the two leading axes. */
typedef struct Parameters {
  int64_t rows, columns, inner, middle_size;
  int64_t lhs_outer, lhs_middle, rhs_outer, rhs_middle;
  int64_t bias_outer, bias_middle, bias_row, bias_column;
} Parameters;

static const char text[] =
    "struct Parameters {\n"
    "  long long rows, columns, inner, middle_size;\n"
    "  long long lhs_outer, lhs_middle, rhs_outer, rhs_middle;\n"
    "  long long bias_outer, bias_middle, bias_row, bias_column;\n"
    "};\n"
    "extern \"C\" __global__ void forward(const float *lhs, const float *rhs,\n"
    "    const float *bias, float *out, Parameters p) {\n"
    "  __shared__ float left[16][17], right[16][17];\n"
    "  const int x = threadIdx.x, y = threadIdx.y;\n"
    "  const long long row = blockIdx.y * 16ll + y;\n"
    "  const long long column = blockIdx.x * 16ll + x;\n"
    "  const long long outer = blockIdx.z / p.middle_size;\n"
    "  const long long middle = blockIdx.z % p.middle_size;\n"
    "  lhs += outer * p.lhs_outer + middle * p.lhs_middle;\n"
    "  rhs += outer * p.rhs_outer + middle * p.rhs_middle;\n"
    "  bias += outer * p.bias_outer + middle * p.bias_middle;\n"
    "  float sum = 0;\n"
    "  for (long long k = 0; k < p.inner; k += 16) {\n"
    "    left[y][x] = row < p.rows && k + x < p.inner\n"
    "        ? lhs[row * p.inner + k + x] : 0;\n"
    "    right[y][x] = k + y < p.inner && column < p.columns\n"
    "        ? rhs[(k + y) * p.columns + column] : 0;\n"
    "    __syncthreads();\n"
    "    for (int i = 0; i < 16; i++)\n"
    "      sum = fmaf(left[y][i], right[i][x], sum);\n"
    "    __syncthreads();\n"
    "  }\n"
    "  if (row >= p.rows || column >= p.columns) return;\n"
    "  sum += bias[row * p.bias_row + column * p.bias_column];\n"
    "  out[(blockIdx.z * p.rows + row) * p.columns + column] =\n"
    "      sum < 0 ? 0 : sum; /* NaN stays */\n"
    "}\n";

static int32_t BURN_API_CALL accept(const BurnOpCall *call, char *why,
                                    uint64_t why_bytes) {
  const BurnPrimitive *lhs = call->inputs[0];
  if (lhs->dtype == BURN_DTYPE_F32 && lhs->rank <= MAX_RANK) return 1;
  if (why_bytes > 0) {
    snprintf(why, (size_t)why_bytes, "the kernel is for f32 and up to %d axes",
             MAX_RANK);
  }
  return 0;
}

/* The stride of an axis counted from the end, 0 if it is not there or
 * stretched. */
static int64_t stride_of(const BurnTensorView *x, uint32_t from_end) {
  if (from_end > x->rank || x->shape[x->rank - from_end] == 1) return 0;
  return x->strides[x->rank - from_end];
}

static int64_t size_of(const BurnTensorView *x, uint32_t from_end) {
  return from_end > x->rank ? 1 : x->shape[x->rank - from_end];
}

static uint32_t tiles(int64_t size) {
  return (uint32_t)((size + TILE - 1) / TILE);
}

static BurnStatus BURN_API_CALL plan(const BurnHost *host,
                                     const BurnOpCall *call,
                                     const BurnTensorView *views,
                                     BurnDeviceLaunch *out) {
  const BurnTensorView *lhs = &views[0], *rhs = &views[1], *bias = &views[2];
  const BurnTensorView *result = &views[3];
  const Parameters parameters = {
      size_of(result, 2), size_of(result, 1), size_of(lhs, 1),
      size_of(result, 3), stride_of(lhs, 4),  stride_of(lhs, 3),
      stride_of(rhs, 4),  stride_of(rhs, 3),  stride_of(bias, 4),
      stride_of(bias, 3), stride_of(bias, 2), stride_of(bias, 1)};
  (void)host;
  (void)call;
  out->groups[0] = tiles(parameters.columns);
  out->groups[1] = tiles(parameters.rows);
  out->groups[2] = (uint32_t)(size_of(result, 3) * size_of(result, 4));
  out->threads[0] = out->threads[1] = TILE;
  out->threads[2] = 1;
  out->parameter_bytes = sizeof parameters;
  memcpy(out->parameters, &parameters, sizeof parameters);
  return BURN_OK;
}

static const BurnDeviceCode code = {.struct_size = sizeof(BurnDeviceCode),
                                    .format = BURN_CODE_CUDA_C,
                                    .data = text,
                                    .bytes = sizeof text - 1};
extern const BurnDeviceCode fused_matmul_add_relu_spirv;
static const BurnDeviceCode *const codes[] = {&fused_matmul_add_relu_spirv,
                                              &code};
extern const BurnDeviceKernel fused_matmul_add_relu_cuda;
const BurnDeviceKernel fused_matmul_add_relu_cuda = {
    .struct_size = sizeof(BurnDeviceKernel),
    .op = "fused_matmul_add_relu.forward",
    .entry = "forward",
    .codes = codes,
    .code_count = 2,
    .row_major = 1u | 2u, /* bias may be stretched or a view */
    .accept = accept,
    .plan = plan,
};
