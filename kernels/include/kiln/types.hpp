// Types of emitted device code. No standard headers: hipRTC has none on disk.
#pragma once

namespace kiln {

using i8 = signed char;
using i16 = short;
using i32 = int;
using i64 = long;
using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long;
using f16 = _Float16;
using f32 = float;
using f64 = double;
using bf16 = u16;  // the bits: its arithmetic goes through f32 (arithmetic.hpp)
// The bits, too: only conversions know what they mean (float8.hpp).
using f8e4m3fn = u8;
using f8e4m3fnuz = u8;
using f8e5m2 = u8;
using f8e5m2fnuz = u8;

// n elements in consecutive registers, packed two or four to a register where they are narrow.
template <class T, int n> using vec = T __attribute__((ext_vector_type(n)));

template <bool condition, class A, class B> struct choose { using type = A; };
template <class A, class B> struct choose<false, A, B> { using type = B; };
// The unsigned integer that holds a T.
template <class T>
using bits_of =
    typename choose<sizeof(T) == 8, u64,
                    typename choose<sizeof(T) == 4, u32, typename choose<sizeof(T) == 2, u16, u8>::type>::type>::type;

}  // namespace kiln
