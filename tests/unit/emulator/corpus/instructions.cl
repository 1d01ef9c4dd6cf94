// Code that makes clang use many kinds of instructions: the decoder's tests compile it and compare what they read with
// LLVM's disassembler. It is never executed.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define GLOBAL __global
typedef unsigned uint32;
typedef half half2 __attribute__((ext_vector_type(2)));
typedef half half4 __attribute__((ext_vector_type(4)));
typedef short short2 __attribute__((ext_vector_type(2)));
typedef float float4 __attribute__((ext_vector_type(4)));
typedef float float16 __attribute__((ext_vector_type(16)));
typedef float float2 __attribute__((ext_vector_type(2)));
typedef uint32 uint4 __attribute__((ext_vector_type(4)));

static uint32 thread(void) { return __builtin_amdgcn_workitem_id_x() + 256 * __builtin_amdgcn_workgroup_id_x(); }

__kernel void halves(GLOBAL half2* out, GLOBAL const half2* a, GLOBAL const short2* b, float scale) {
  const uint32 i = thread();
  half2 x = a[i], y = a[i + 1];
  x = x * y + x - (half2)(1.0h, 0.5h);
  x.x = __builtin_fmaf16(x.x, y.y, (half)scale) / y.x;
  short2 z = b[i];
  z = z * b[i + 7] + (short2)(3, 4);
  out[i] = x + __builtin_convertvector(z, half2) * (half)__builtin_fabsf(scale);
}

__kernel void singles(GLOBAL float* out, GLOBAL const float* a, float n, int shift) {
  const uint32 i = thread();
  float x = a[i], y = a[2 * i];
  x = __builtin_fmaf(x, -y, __builtin_fabsf(n)) * 0.25f + 3.1415927f;
  x = __builtin_sqrtf(x) / (y + 12.5f) + __builtin_floorf(x) + __builtin_rintf(y);
  x = x > y ? __builtin_fminf(x, y) : __builtin_fmaxf(x, n);
  x += (float)(int)y + (float)(uint32)x + (float)((shift >> 8) & 255) + __builtin_ldexpf(x, shift);
  out[i] = __builtin_amdgcn_rcpf(x) + __builtin_amdgcn_exp2f(y) + __builtin_amdgcn_logf(x) + __builtin_amdgcn_sinf(n);
}

__kernel void doubles(GLOBAL double* out, GLOBAL const double* a, double n) {
  const uint32 i = thread();
  double x = a[i];
  x = x / n + __builtin_sqrt(x) * __builtin_floor(n) + (double)(long)x + (double)(float)n;
  out[i] = x < n ? __builtin_fma(x, n, -x) : __builtin_fmax(x, n);
}

__kernel void integers(GLOBAL long* out, GLOBAL const int* a, long n, uint32 by) {
  const uint32 i = thread();
  int x = a[i] * a[i + 3] + (a[i + 5] >> by);
  x ^= __builtin_clz(x | 1) + __builtin_popcount(x) + __builtin_ctz(x | 8);
  x = (x & 0xff00) | ((a[i + 1] << 5) & ~(int)by);
  long y = (long)x * n + (n >> by) - (n << 3);
  y = y > n ? y / (n | 1) : y % (long)(by | 1);
  out[i] = y + (x < 77) + (long)(short)x + (long)(signed char)y + __builtin_amdgcn_perm(x, by, 0x05010400);
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void shared(GLOBAL uint4* out, GLOBAL const uint4* in) {
  __local uint4 wide[256];
  __local uint32 sums[64];
  __local short halves[512];
  const uint32 t = __builtin_amdgcn_workitem_id_x();
  wide[t] = in[thread()];
  halves[2 * t] = (short)t;
  __builtin_amdgcn_s_barrier();
  __atomic_fetch_add(&sums[t & 63], t, __ATOMIC_RELAXED);
  uint4 v = wide[255 - t] + wide[(t * 5) & 255];
  v.x += __builtin_amdgcn_ds_bpermute(t * 4, v.y) + __builtin_amdgcn_ds_swizzle(v.z, 0x401f) + halves[511 - t];
  v.y += __builtin_amdgcn_update_dpp(0, v.x, 0x111, 0xf, 0xf, true);
  v.z += __builtin_amdgcn_mov_dpp(v.w, 0xb1, 0xf, 0xf, false);
  v.w += __builtin_amdgcn_readfirstlane(v.x) + __builtin_amdgcn_readlane(v.y, t & 3) + sums[t & 31];
  out[thread()] = v;
}

__kernel void atomics(GLOBAL int* a, GLOBAL long* b, GLOBAL float* c, unsigned long any) {
  int* const flat = (int*)any;
  const uint32 i = thread();
  a[i] = __atomic_fetch_add(&a[0], 3, __ATOMIC_SEQ_CST) + __atomic_fetch_max(&a[1], (int)i, __ATOMIC_RELAXED);
  b[i] = __atomic_fetch_xor(&b[0], 5, __ATOMIC_ACQ_REL) + __atomic_exchange_n(&b[1], (long)i, __ATOMIC_RELEASE);
  int expected = 4;
  if (__atomic_compare_exchange_n(&a[2], &expected, 9, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) c[i] = 1.0f;
  flat[i] = flat[i + 1] + *(volatile signed char*)(flat + 3);
}

__kernel void scratch(GLOBAL int* out, int by) {
  volatile int values[50];
  for (int k = 0; k < 50; ++k) values[k] = k * by;
  out[thread()] = values[by & 31] + values[(by >> 5) & 31];
}

__kernel void matrices(GLOBAL float16* out, GLOBAL const half4* a, GLOBAL const float* b, GLOBAL float4* small) {
  const uint32 i = thread();
  float16 sums = out[i];
  float4 four = small[i];
  for (int k = 0; k < 8; ++k) {
    sums = __builtin_amdgcn_mfma_f32_32x32x8f16(a[i + k], a[i + 2 * k], sums, 0, 0, 0);
    four = __builtin_amdgcn_mfma_f32_16x16x4f32(b[i], b[k], four, 0, 0, 0);
  }
  out[i] = sums;
  small[i] = four;
}
