// Objects that the loader's tests read: exported variables, pointers among them, and kernels with preloaded arguments.
#define GLOBAL __global
typedef unsigned uint32;

GLOBAL uint32 counter = 5;
GLOBAL uint32 cleared[64];
GLOBAL uint32* GLOBAL to_counter = &counter;        // named by a symbol that another object could replace
static GLOBAL uint32 hidden[4] = {1, 2, 3, 4};
GLOBAL uint32* GLOBAL to_hidden = &hidden[2];       // relative to the image

__kernel void preloaded(GLOBAL uint32* out, uint32 a, uint32 b) {
  out[__builtin_amdgcn_workitem_id_x()] = a + b + counter + *to_counter + *to_hidden + cleared[a];
}
