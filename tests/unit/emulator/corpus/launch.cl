// Kernels of the launch tests. Compiled when the tests are built: clang for amdgcn, no device library.
#define GLOBAL __global
typedef unsigned uint32;

static uint32 thread_index(void) { return __builtin_amdgcn_workitem_id_x(); }
static uint32 block_index(void) { return __builtin_amdgcn_workgroup_id_x(); }

// out[i] = a * i + in[i]
__kernel void scale_add(GLOBAL uint32* out, GLOBAL const uint32* in, uint32 a, uint32 n) {
  const uint32 i = block_index() * 256 + thread_index();
  if (i < n) out[i] = a * i + in[i];
}

// Where each thread says it is: block x y z, thread x y z, and the sizes that the hidden arguments or the packet give.
__kernel void whereabouts(GLOBAL uint32* out, uint32 width, uint32 height) {
  const uint32 tx = __builtin_amdgcn_workitem_id_x(), ty = __builtin_amdgcn_workitem_id_y(),
               tz = __builtin_amdgcn_workitem_id_z();
  const uint32 bx = __builtin_amdgcn_workgroup_id_x(), by = __builtin_amdgcn_workgroup_id_y(),
               bz = __builtin_amdgcn_workgroup_id_z();
  const uint32 sx = __builtin_amdgcn_workgroup_size_x(), sy = __builtin_amdgcn_workgroup_size_y(),
               sz = __builtin_amdgcn_workgroup_size_z();
  const uint32 block = (bz * height + by) * width + bx;
  GLOBAL uint32* const row = out + ((block * sz + tz) * sy + ty) * sx * 8 + tx * 8;
  row[0] = bx | by << 8 | bz << 16;
  row[1] = tx | ty << 8 | tz << 16;
  row[2] = sx | sy << 8 | sz << 16;
  row[3] = __builtin_amdgcn_grid_size_x();
  row[4] = __builtin_amdgcn_grid_size_y();
  row[5] = __builtin_amdgcn_grid_size_z();
}

// Reverses each block's 256 values through LDS.
__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void reverse(GLOBAL uint32* data) {
  __local uint32 tile[256];
  const uint32 t = thread_index();
  GLOBAL uint32* const mine = data + block_index() * 256;
  tile[t] = mine[t];
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  mine[t] = tile[255 - t];
}

// The same without its barrier.
__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void reverse_racing(GLOBAL uint32* data) {
  __local volatile uint32 tile[256];
  const uint32 t = thread_index();
  GLOBAL uint32* const mine = data + block_index() * 256;
  tile[t] = mine[t];
  mine[t] = tile[255 - t];
}

// Reads LDS that nothing has written.
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void unwritten(GLOBAL uint32* out) {
  __local volatile uint32 tile[64];
  const uint32 t = thread_index();
  if (t < 32) tile[t] = t;
  out[t] = tile[t];
}

// Private memory that is indexed by what the compiler cannot know.
__kernel void private_memory(GLOBAL uint32* out, uint32 by) {
  volatile uint32 values[40];
  const uint32 i = block_index() * 64 + thread_index();
  for (uint32 k = 0; k < 40; ++k) values[k] = i * 100 + k;
  out[i] = values[(i + by) % 40];
}

__kernel void endless(GLOBAL volatile uint32* flag) {
  while (*flag == 0) {
  }
}

// Block 0 waits for a word that the last block writes.
__kernel void waits_for_the_last(GLOBAL volatile uint32* words, uint32 blocks) {
  if (thread_index() != 0) return;
  if (block_index() == blocks - 1) words[0] = 7;
  if (block_index() == 0) {
    while (words[0] == 0) __builtin_amdgcn_s_sleep(1);
    words[1] = words[0] + 1;
  }
}

__constant uint32 table[4] = {10, 20, 30, 40};
__attribute__((visibility("default"))) GLOBAL uint32 counter = 5;

__kernel void globals(GLOBAL uint32* out) {
  if (thread_index() == 0) {
    out[0] = table[block_index() & 3];
    counter += 1;
  }
}

__kernel void gives_up(GLOBAL uint32* out) {
  out[thread_index()] = 1;
  __builtin_trap();
}

// Reverses 256 values through LDS that the launch brings.
__kernel void reverse_dynamic(GLOBAL uint32* data, __local uint32* tile) {
  const uint32 t = thread_index();
  tile[t] = data[t];
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  data[t] = tile[255 - t];
}

// Adds to one float from everywhere: the sum depends on the order.
__kernel void sums(GLOBAL float* sum, GLOBAL const float* values) {
  __hip_atomic_fetch_add(sum, values[block_index() * 64 + thread_index()], __ATOMIC_RELAXED, 2 /* device */);
}
