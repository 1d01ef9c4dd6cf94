// Kernels with planted faults of memory order, and their neighbours that are right: the checks must tell them apart.
#define GLOBAL __global
typedef unsigned uint32;
#define BLOCK_OF(n) __kernel __attribute__((reqd_work_group_size(n, 1, 1))) void
enum { agent = 4 };  // scope of __hip_atomic_*

static uint32 thread_index(void) { return __builtin_amdgcn_workitem_id_x(); }
static uint32 block_index(void) { return __builtin_amdgcn_workgroup_id_x(); }
static void barrier_of_block(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// Reverses each block's 256 values through global memory.
BLOCK_OF(256) exchange(GLOBAL uint32* out, GLOBAL uint32* between) {
  const uint32 t = thread_index();
  GLOBAL uint32* const mine = between + block_index() * 256;
  mine[t] = t * 3;
  barrier_of_block();
  out[block_index() * 256 + t] = mine[255 - t];
}
BLOCK_OF(256) exchange_racing(GLOBAL uint32* out, GLOBAL uint32* between) {
  const uint32 t = thread_index();
  GLOBAL uint32* const mine = between + block_index() * 256;
  mine[t] = t * 3;
  out[block_index() * 256 + t] = mine[255 - t];
}
// Read before the store of another wave instead of after it.
BLOCK_OF(256) shift_racing(GLOBAL uint32* data) {
  const uint32 t = thread_index();
  const uint32 next = data[(t + 1) % 256];
  data[t] = next + 1;
}
// The same over the border of two blocks, each with its barrier.
BLOCK_OF(256) halo_racing(GLOBAL uint32* data) {
  const uint32 i = block_index() * 256 + thread_index();
  const uint32 next = data[i + 1];
  barrier_of_block();
  data[i] = next + 1;
}
// Bytes next to each other are no race.
BLOCK_OF(256) bytes(GLOBAL unsigned char* out) {
  const uint32 t = thread_index();
  out[t % 4 * 64 + t / 4] = (unsigned char)t;
}
BLOCK_OF(256) bytes_racing(GLOBAL unsigned char* out) {
  const uint32 t = thread_index();
  out[t % 4 * 64 + t / 4] = (unsigned char)t;
  if (t == 0) out[255] = 1;
}

BLOCK_OF(64) same_value(GLOBAL uint32* out) { out[thread_index() % 4] = 7; }
BLOCK_OF(64) other_value(GLOBAL uint32* out) { out[0] = block_index(); }
BLOCK_OF(64) lanes_collide(GLOBAL uint32* out) { out[block_index() * 64 + thread_index() / 2] = thread_index(); }

BLOCK_OF(64) counts(GLOBAL uint32* counter) { __hip_atomic_fetch_add(counter, 1u, __ATOMIC_RELAXED, agent); }
BLOCK_OF(64) counts_plainly(GLOBAL uint32* counter) {
  if (thread_index() == 0) *counter += 1;
}
// Counts until it is told to end.
BLOCK_OF(64) counts_on(GLOBAL uint32* counter, GLOBAL uint32* end) {
  while (__hip_atomic_load(end, __ATOMIC_RELAXED, agent) == 0)
    __hip_atomic_fetch_add(counter, 1u, __ATOMIC_RELAXED, agent);
}
// A compare-and-swap loop, whose first guess is a plain load.
BLOCK_OF(64) multiplies(GLOBAL uint32* product) {
  uint32 guess = *product;
  while (!__hip_atomic_compare_exchange_strong(product, &guess, guess * 3, __ATOMIC_RELAXED, __ATOMIC_RELAXED, agent)) {
  }
}

// The block that finishes last sums what all blocks have stored; `patient` 0: the first one does.
BLOCK_OF(256) last_block_sums(GLOBAL uint32* out, GLOBAL uint32* partial, GLOBAL uint32* counter, uint32 blocks,
                              uint32 patient) {
  __local uint32 turn;
  const uint32 t = thread_index();
  partial[block_index() * 256 + t] = block_index() + t;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
  barrier_of_block();
  if (t == 0) turn = __hip_atomic_fetch_add(counter, 1u, __ATOMIC_RELAXED, agent);
  barrier_of_block();
  if (turn != (patient ? blocks - 1 : 0)) return;
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
  uint32 sum = 0;
  for (uint32 b = 0; b < blocks; ++b) sum += partial[b * 256 + 255 - t];
  out[t] = sum;
}

// A plain counter under a lock; `locked` 0: without.
BLOCK_OF(64) under_lock(GLOBAL uint32* counter, GLOBAL uint32* lock, uint32 locked) {
  if (thread_index() != 0) return;
  uint32 open = 0;
  while (locked && !__hip_atomic_compare_exchange_strong(lock, &open, 1u, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED, agent)) {
    open = 0;
    __builtin_amdgcn_s_sleep(1);
  }
  *counter += 1;
  if (locked) __hip_atomic_store(lock, 0u, __ATOMIC_RELEASE, agent);
}

// Block n waits for block n - 1's flag, then adds to what it has stored.
BLOCK_OF(64) chain(GLOBAL uint32* values, GLOBAL uint32* flags, uint32 waits) {
  const uint32 b = block_index();
  if (thread_index() != 0) return;
  if (b > 0) {
    while (waits && __hip_atomic_load(flags + b - 1, __ATOMIC_ACQUIRE, agent) == 0) __builtin_amdgcn_s_sleep(1);
    values[b] = values[b - 1] + 1;
  } else {
    values[0] = 1;
  }
  __hip_atomic_store(flags + b, 1u, __ATOMIC_RELEASE, agent);
}

// The second wave ends without the barrier that the first one waits at.
BLOCK_OF(128) barrier_in_a_branch(GLOBAL uint32* out) {
  if (__builtin_amdgcn_readfirstlane(thread_index()) >= 64) return;
  barrier_of_block();
  out[thread_index()] = 1;
}

// Each wave's sum of 64 values in LDS goes to global memory by the first one; the barrier may be missing.
BLOCK_OF(256) totals(GLOBAL uint32* out, GLOBAL const uint32* in) {
  __local volatile uint32 sums[4];
  const uint32 t = thread_index();
  if (t % 64 == 0) {
    uint32 sum = 0;
    for (uint32 i = 0; i < 64; ++i) sum += in[block_index() * 256 + t + i];
    sums[t / 64] = sum;
  }
  barrier_of_block();
  if (t == 0) out[block_index()] = sums[0] + sums[1] + sums[2] + sums[3];
}
BLOCK_OF(256) totals_racing(GLOBAL uint32* out, GLOBAL const uint32* in) {
  __local volatile uint32 sums[4];
  const uint32 t = thread_index();
  if (t < 4) sums[t] = 0;
  barrier_of_block();
  if (t % 64 == 0) {
    uint32 sum = 0;
    for (uint32 i = 0; i < 64; ++i) sum += in[block_index() * 256 + t + i];
    sums[t / 64] = sum;
  }
  if (t == 0) out[block_index()] = sums[0] + sums[1] + sums[2] + sums[3];
}
