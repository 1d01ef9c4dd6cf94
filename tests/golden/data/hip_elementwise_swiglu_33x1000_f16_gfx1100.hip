#include <kiln/kernel.hpp>
#pragma clang fp contract(off)

namespace kiln {

extern "C" KILN_KERNEL(256) void elementwise_0(const void* __restrict__ p0, const void* __restrict__ p1, void* __restrict__ p2) {
  const u32 thread = thread_id();
  const u32 lane = thread % 32u, wave = uniform(thread / 32u);
  const i32 bz = i32(block_id_z());
  const i32 bx = i32(block_id_x());
  const i32 by = i32(block_id_y());
  const u32 l_0 = lane * 8u + wave * 256u;
  const u32 l_1 = lane * 4u + wave * 128u;
  const buffer b_3 = make_buffer(p0, 66000u);
  const buffer b_8 = make_buffer(p1, 66000u);
  const buffer b_13 = make_buffer(p2, 66000u);
  vec<f32, 4> r0[1];
  vec<f16, 4> r1[1];
  vec<f32, 4> r2[1];
  vec<f16, 4> r3[1];
  vec<f16, 4> r4[1];
  // @body/0 /launches/0/body/2
  {
    const i32 i_2 = 0 + (i32)(l_1);
    const u32 u_4 = (u32)((by * 2000));
    const bool m_6 = (u32)(i_2) < 1000u;
    const vec<f16, 4> x_5 = load_buffer<vec<f16, 4>>(b_3, u_4, m_6 ? l_0 : buffer_outside);
    r1[0] = x_5;
  }
  // @body/1 /launches/0/body/2
  {
    r0[0][0] = (f32)(r1[0][0]);
    r0[0][1] = (f32)(r1[0][1]);
    r0[0][2] = (f32)(r1[0][2]);
    r0[0][3] = (f32)(r1[0][3]);
  }
  // @body/2 /launches/0/body/3
  {
    const i32 i_7 = 0 + (i32)(l_1);
    const u32 u_9 = (u32)((by * 2000));
    const bool m_11 = (u32)(i_7) < 1000u;
    const vec<f16, 4> x_10 = load_buffer<vec<f16, 4>>(b_8, u_9, m_11 ? l_0 : buffer_outside);
    r3[0] = x_10;
  }
  // @body/3 /launches/0/body/3
  {
    r2[0][0] = (f32)(r3[0][0]);
    r2[0][1] = (f32)(r3[0][1]);
    r2[0][2] = (f32)(r3[0][2]);
    r2[0][3] = (f32)(r3[0][3]);
  }
  // @body/4 /launches/0/body/4
  {
    const f32 v2 = r0[0][0];
    const f32 v3 = r2[0][0];
    const f32 v4 = v2;
    const f32 v5 = (v4 * sigmoid_f32(v4));
    r0[0][0] = (v5 * v3);
  }
  {
    const f32 v2 = r0[0][1];
    const f32 v3 = r2[0][1];
    const f32 v4 = v2;
    const f32 v5 = (v4 * sigmoid_f32(v4));
    r0[0][1] = (v5 * v3);
  }
  {
    const f32 v2 = r0[0][2];
    const f32 v3 = r2[0][2];
    const f32 v4 = v2;
    const f32 v5 = (v4 * sigmoid_f32(v4));
    r0[0][2] = (v5 * v3);
  }
  {
    const f32 v2 = r0[0][3];
    const f32 v3 = r2[0][3];
    const f32 v4 = v2;
    const f32 v5 = (v4 * sigmoid_f32(v4));
    r0[0][3] = (v5 * v3);
  }
  // @body/5 /launches/0/body/5
  {
    r4[0][0] = (f16)(r0[0][0]);
    r4[0][1] = (f16)(r0[0][1]);
    r4[0][2] = (f16)(r0[0][2]);
    r4[0][3] = (f16)(r0[0][3]);
  }
  // @body/6 /launches/0/body/5
  {
    const i32 i_12 = 0 + (i32)(l_1);
    const u32 u_14 = (u32)((by * 2000));
    const bool m_15 = (u32)(i_12) < 1000u;
    store_buffer<vec<f16, 4>>(b_13, u_14, m_15 ? l_0 : buffer_outside, r4[0]);
  }
}

}  // namespace kiln
