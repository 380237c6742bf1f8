/* fused_matmul_add_relu.comp - the kernel in GLSL, as fused_matmul_add_relu_cuda.c
 * has it in CUDA C. The words in fused_matmul_add_relu.inc are made from it:
 *
 *   glslangValidator -V -x --target-env vulkan1.2 --source-entrypoint main \
 *     -e forward -o fused_matmul_add_relu.inc fused_matmul_add_relu.comp
 *
 * Arguments are push constants from byte 0: addresses of inputs and outputs, then
 * the parameters. Threads of a group are the specialisation constants 0 to 2. */
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require

layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats {
  float first;
};
layout(push_constant, std430) uniform Arguments {
  Floats lhs, rhs, bias, result;
  int64_t rows, columns, inner, middle_size;
  int64_t lhs_outer, lhs_middle, rhs_outer, rhs_middle;
  int64_t bias_outer, bias_middle, bias_row, bias_column;
} p;

/* Element i; an index of an array has 32 bits in GLSL. */
Floats at(Floats x, int64_t i) { return Floats(uint64_t(x) + uint64_t(i) * 4); }

shared float left[16][17], right[16][17];

void main() {
  const uint x = gl_LocalInvocationID.x, y = gl_LocalInvocationID.y;
  const int64_t row = int64_t(gl_WorkGroupID.y) * 16 + y;
  const int64_t column = int64_t(gl_WorkGroupID.x) * 16 + x;
  const int64_t matrix = int64_t(gl_WorkGroupID.z);
  const int64_t outer = matrix / p.middle_size, middle = matrix % p.middle_size;
  const int64_t lhs = outer * p.lhs_outer + middle * p.lhs_middle;
  const int64_t rhs = outer * p.rhs_outer + middle * p.rhs_middle;
  const int64_t bias = outer * p.bias_outer + middle * p.bias_middle;
  precise float sum = 0;
  for (int64_t k = 0; k < p.inner; k += 16) {
    left[y][x] = 0;
    right[y][x] = 0;
    if (row < p.rows && k + x < p.inner)
      left[y][x] = at(p.lhs, lhs + row * p.inner + k + x).first;
    if (k + y < p.inner && column < p.columns)
      right[y][x] = at(p.rhs, rhs + (k + y) * p.columns + column).first;
    barrier();
    for (uint i = 0; i < 16; i++) sum = fma(left[y][i], right[i][x], sum);
    barrier();
  }
  if (row >= p.rows || column >= p.columns) return;
  sum += at(p.bias, bias + row * p.bias_row + column * p.bias_column).first;
  at(p.result, (matrix * p.rows + row) * p.columns + column).first =
      sum < 0 ? 0 : sum; /* NaN stays */
}
