// OpenCL's printf, whose formats are in the metadata.
__global char* __printf_alloc(uint bytes) {
  __constant char* const hidden = (__constant char*)__builtin_amdgcn_implicitarg_ptr();
  __global uint* const buffer = *(__global uint* __constant*)(hidden + 72);
  const uint at = __hip_atomic_fetch_add(buffer, bytes, __ATOMIC_RELAXED, 4);
  return (__global char*)(buffer + 2) + at;
}
__kernel void conversions(int i, long l, float f, double d, __global const char* memory) {
  printf("plain: 100%%\n");
  printf("%d %u %x|%5d|%-5d|%05d\n", i, i, i, i, i, i);
  printf("%ld %lx\n", l, l);
  printf("%f %g %.3f %e\n", f, d, d, f);
  printf("%s and \"%s\" \\ %c\t%hhd\n", "a:colon", "", 'x', (char)i);
  printf("%p\n", memory);
}
__kernel void breaks(uint how) {
  __constant char* const hidden = (__constant char*)__builtin_amdgcn_implicitarg_ptr();
  __global uint* const buffer = *(__global uint* __constant*)(hidden + 72);
  buffer[0] = how;
  buffer[2] = 77;
}
