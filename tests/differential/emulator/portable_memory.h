// What random functions do with memory: after portable.h, before portable_lanes.h.

#define INPUTS 1024  // elements of each typed input
// Element i of `bytes` bytes. Addresses are counted in bytes because of elements of unlike sizes at one place and by
// one index, as p[i].y of 12 bytes and q[i].y of 16, LLVM 21 and 22 load but one, in the pass load-store-vectorizer
// (llvm-project, issue 186327).
FN const void* element(const u32* words, u32 i, u32 bytes) { return (const u8*)words + (u64)i * bytes; }
FN struct quad quad_in(const u32* words, u32 i) {
  return *(const struct quad*)element(words, i & (INPUTS / 4 - 1), sizeof(struct quad));
}
FN u32 fold_quad(struct quad q) { return (q.x ^ q.y) + (q.z ^ (q.w << 3)); }
FN u32 fold_triple(const u32* words, u32 i) {
  const struct triple q = *(const struct triple*)element(words, i & (INPUTS / 4 - 1), sizeof(struct triple));
  return q.x + (q.y ^ q.z);
}
FN u32 fold_sixteen(const u32* words, u32 i) {
  const u32* from = (const u32*)element(words, i & (INPUTS / 16 - 1), 16 * sizeof(u32));
  u32 r = 0;
  for (u32 k = 0; k < 16; ++k) r = r * 3 + from[k];
  return r;
}
FN struct quad make_quad(u32 x, u32 y, u32 z, u32 w) {
  struct quad q;
  q.x = x, q.y = y, q.z = z, q.w = w;
  return q;
}

#ifdef KILN_HOST
#define ATOMIC(name, T) __atomic_##name
#define SCOPE(scope)
#else
#define ATOMIC(name, T) __scoped_atomic_##name
#define SCOPE(scope) , scope
#endif
#define ATOMICS(T, WHERE, scope)                                                                                  \
  FN T WHERE##_add_##T(T* p, T v) { return ATOMIC(fetch_add, T)(p, v, __ATOMIC_RELAXED SCOPE(scope)); }          \
  FN T WHERE##_sub_##T(T* p, T v) { return ATOMIC(fetch_sub, T)(p, v, __ATOMIC_RELAXED SCOPE(scope)); }          \
  FN T WHERE##_and_##T(T* p, T v) { return ATOMIC(fetch_and, T)(p, v, __ATOMIC_RELAXED SCOPE(scope)); }          \
  FN T WHERE##_or_##T(T* p, T v) { return ATOMIC(fetch_or, T)(p, v, __ATOMIC_RELAXED SCOPE(scope)); }            \
  FN T WHERE##_xor_##T(T* p, T v) { return ATOMIC(fetch_xor, T)(p, v, __ATOMIC_RELAXED SCOPE(scope)); }          \
  FN T WHERE##_swap_##T(T* p, T v) { return ATOMIC(exchange_n, T)(p, v, __ATOMIC_RELAXED SCOPE(scope)); }        \
  FN T WHERE##_cas_##T(T* p, T v) {                                                                               \
    T old = (T)(v & 3);                                                                                           \
    ATOMIC(compare_exchange_n, T)(p, &old, v, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED SCOPE(scope));                \
    return old;                                                                                                   \
  }                                                                                                               \
  EXTREMES(T, WHERE, scope)
#ifdef KILN_HOST
#define EXTREMES(T, WHERE, scope)                                                          \
  FN T WHERE##_min_##T(T* p, T v) { const T old = *p; *p = v < old ? v : old; return old; } \
  FN T WHERE##_max_##T(T* p, T v) { const T old = *p; *p = v > old ? v : old; return old; }
#else
#define EXTREMES(T, WHERE, scope)                                                                                 \
  FN T WHERE##_min_##T(T* p, T v) { return __scoped_atomic_fetch_min(p, v, __ATOMIC_RELAXED, scope); }           \
  FN T WHERE##_max_##T(T* p, T v) { return __scoped_atomic_fetch_max(p, v, __ATOMIC_RELAXED, scope); }
#endif
ATOMICS(u32, card, __MEMORY_SCOPE_DEVICE)
ATOMICS(s32, card, __MEMORY_SCOPE_DEVICE)
ATOMICS(u64, card, __MEMORY_SCOPE_DEVICE)
ATOMICS(s64, card, __MEMORY_SCOPE_DEVICE)
ATOMICS(u32, group, __MEMORY_SCOPE_WRKGRP)
ATOMICS(s32, group, __MEMORY_SCOPE_WRKGRP)
ATOMICS(u64, group, __MEMORY_SCOPE_WRKGRP)
ATOMICS(s64, group, __MEMORY_SCOPE_WRKGRP)

// Of floats, on memory that no other thread sees; the bits are looked at, so a NaN becomes the one NaN.
#ifdef KILN_HOST
#define FLOAT_ATOMIC(T, WHERE, scope) FN T WHERE##_add_##T(T* p, T v) { const T old = *p; *p = old + v; return old; }
#else
#define FLOAT_ATOMIC(T, WHERE, scope) \
  FN T WHERE##_add_##T(T* p, T v) { return __scoped_atomic_fetch_add(p, v, __ATOMIC_RELAXED, scope); }
#endif
FLOAT_ATOMIC(f32, card, __MEMORY_SCOPE_DEVICE)
FLOAT_ATOMIC(f64, card, __MEMORY_SCOPE_DEVICE)
FLOAT_ATOMIC(f32, group, __MEMORY_SCOPE_WRKGRP)
FLOAT_ATOMIC(f64, group, __MEMORY_SCOPE_WRKGRP)
FN f32 own_add_f32(u8* mine, u32 i, f32 v) {
  u32* at = (u32*)mine + (i & 15);
  *at = bits_f32(f32_of_bits(*at));
  const f32 old = card_add_f32((f32*)at, v);
  *at = bits_f32(f32_of_bits(*at));
  return old;
}
FN f64 own_add_f64(u8* mine, u32 i, f64 v) {
  u64* at = (u64*)mine + (i & 7);
  *at = bits_f64(f64_of_bits(*at));
  const f64 old = card_add_f64((f64*)at, v);
  *at = bits_f64(f64_of_bits(*at));
  return old;
}

// Before the first phase: thread t of `threads` writes its share of all that is read.
FN void begin_shared(struct shared* sh, u32 t, u32 threads) {
  for (u32 i = t; i < SLOTS; i += threads) {
    for (u32 half = 0; half < 2; ++half) {
      sh->quads[half][i] = make_quad(i, i + half, ~i, i * i);
      sh->longs[half][i] = (u64)i * 0x0123456789abcdefull + half;
      sh->words[half][i] = i * 2654435761u ^ half;
      sh->reals[half][i] = (f32)(s32)(i - 100) * 0.25f;
      sh->shorts[half][i] = (u16)(i * 40503u + half);
      sh->bytes[half][i] = (u8)(i * 7 + half);
    }
    if (i < 16) sh->counts64[i] = i, sh->counts[i] = ~i;
  }
}
