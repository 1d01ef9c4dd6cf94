// Kernels that print, and what prints for them: the compiler's part is its own, the rest of printf (which objects have
// from AMD's device libraries otherwise) is written here after the protocol in engine/emulator/machine/hostcall.hpp.
// Then kernels that break the protocol.
#define KERNEL extern "C" __attribute__((global)) void
#define DEVICE __attribute__((device))
typedef unsigned uint32;
typedef unsigned long long uint64;
enum { system_scope = 5 };  // of __hip_atomic_*

extern "C" DEVICE int printf(const char*, ...);

static DEVICE uint32 thread_index() { return __builtin_amdgcn_workitem_id_x(); }
static DEVICE uint32 block_index() { return __builtin_amdgcn_workgroup_id_x(); }
static DEVICE void* hidden_pointer(uint32 offset) {
  return *reinterpret_cast<void* const*>((const char*)__builtin_amdgcn_implicitarg_ptr() + offset);
}

// Stores where `before` stands; reads what stands there else.
template <class T> static DEVICE bool swapped(T* at, T& before, T value) {
  return __hip_atomic_compare_exchange_strong(at, &before, value, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE, system_scope);
}

#ifdef BUFFERED
static DEVICE uint32* print_buffer() { return static_cast<uint32*>(hidden_pointer(72)); }
extern "C" DEVICE char* __printf_alloc(uint32 bytes) {
  uint32* const buffer = print_buffer();
  uint32 at = __hip_atomic_load(buffer, __ATOMIC_RELAXED, system_scope);
  do {
    if (bytes > buffer[1] - at) return nullptr;
  } while (!swapped(buffer, at, at + bytes));
  return reinterpret_cast<char*>(buffer + 2) + at;
}
#else
struct Header {
  uint64 next, lanes;
  uint32 service, control;
};
struct Signal {
  uint64 kind, value;
  uint64* mailbox;
  uint32 event;
};
struct CallBuffer {
  Header* headers;
  uint64 (*payloads)[64][8];
  Signal* doorbell;
  uint64 free, ready, mask;
};
static DEVICE CallBuffer* call_buffer() { return static_cast<CallBuffer*>(hidden_pointer(80)); }

static DEVICE void push(CallBuffer* buffer, uint64* top, uint64 link) {
  uint64 before = __hip_atomic_load(top, __ATOMIC_RELAXED, system_scope);
  do {
    buffer->headers[link & buffer->mask].next = before;
  } while (!swapped(top, before, link));
}
static DEVICE uint64 pop(CallBuffer* buffer) {
  uint64 top = __hip_atomic_load(&buffer->free, __ATOMIC_ACQUIRE, system_scope), next;
  do {
    next = buffer->headers[top & buffer->mask].next;
  } while (!swapped(&buffer->free, top, next));
  return top;
}
static DEVICE void ring(const CallBuffer* buffer) {
  Signal* const signal = buffer->doorbell;
  __hip_atomic_fetch_add(&signal->value, 1, __ATOMIC_RELEASE, system_scope);
  *signal->mailbox = signal->event;
  __builtin_amdgcn_s_sendmsg(1, __builtin_amdgcn_readfirstlane(signal->event));
}
static DEVICE uint64 uniform(uint64 value) {
  const uint32 low = __builtin_amdgcn_readfirstlane(uint32(value));
  return low | uint64(__builtin_amdgcn_readfirstlane(uint32(value >> 32))) << 32;
}
static DEVICE uint32 lane_index() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)); }

// One call of all active lanes; the first word of the answer.
static DEVICE __attribute__((noinline)) uint64 call(uint32 service, uint64 w0, uint64 w1, uint64 w2, uint64 w3,
                                                    uint64 w4, uint64 w5, uint64 w6, uint64 w7) {
  CallBuffer* const buffer = call_buffer();
  const uint32 lane = lane_index();
  const bool first = lane == __builtin_amdgcn_readfirstlane(lane);
  uint64 link = 0;
  if (first) link = pop(buffer);
  link = uniform(link);
  Header& header = buffer->headers[link & buffer->mask];
  uint64* const slot = buffer->payloads[link & buffer->mask][lane];
  const uint64 lanes = __builtin_amdgcn_read_exec();
  const uint64 words[8] = {w0, w1, w2, w3, w4, w5, w6, w7};
  for (int i = 0; i < 8; ++i) slot[i] = words[i];
  if (first) {
    header.lanes = lanes;
    header.service = service;
    header.control = 1;
    push(buffer, &buffer->ready, link);
    ring(buffer);
  }
  for (uint32 waits = 1; waits != 0;) {
    waits = __builtin_amdgcn_readfirstlane(__hip_atomic_load(&header.control, __ATOMIC_ACQUIRE, system_scope) & 1);
    if (waits != 0) __builtin_amdgcn_s_sleep(1);
  }
  const uint64 answer = __hip_atomic_load(slot, __ATOMIC_RELAXED, system_scope);
  if (first) push(buffer, &buffer->free, link + buffer->mask + 1);
  return answer;
}
static DEVICE uint64 send(uint64 message, uint32 count, const uint64* w) {
  return call(2, (message & ~0xe0ull) | count << 5, w[0], w[1], w[2], w[3], w[4], w[5], w[6]);
}

extern "C" DEVICE uint64 __ockl_printf_begin(uint64 stream) {
  const uint64 words[7] = {stream};
  return send(1, 1, words);
}
extern "C" DEVICE uint64 __ockl_printf_append_args(uint64 message, uint32 count, uint64 w0, uint64 w1, uint64 w2,
                                                   uint64 w3, uint64 w4, uint64 w5, uint64 w6, uint32 last) {
  const uint64 words[7] = {w0, w1, w2, w3, w4, w5, w6};
  return send(message | (last ? 2 : 0), count, words);
}
extern "C" DEVICE uint64 __ockl_printf_append_string_n(uint64 message, const char* text, uint64 bytes, uint32 last) {
  if (text == nullptr) bytes = 0;
  do {
    uint64 words[7] = {};
    const uint32 part = bytes < 56 ? uint32(bytes) : 56;
    for (uint32 i = 0; i < part; ++i) words[i / 8] |= uint64((unsigned char)text[i]) << i % 8 * 8;
    bytes -= part;
    text += part;
    message = send(message | (last && bytes == 0 ? 2 : 0), part == 0 ? 1 : (part + 7) / 8, words);
  } while (bytes != 0);
  return message;
}

// To stderr, as a failed assertion.
KERNEL asserts(uint32 limit) {
  if (thread_index() < limit) return;
  const char text[] = "thread %u: `small' failed\nand so on\n";
  const uint64 message = __ockl_printf_append_string_n(__ockl_printf_begin(1), text, sizeof text, 0);
  __ockl_printf_append_args(message, 1, thread_index(), 0, 0, 0, 0, 0, 0, 1);
  __builtin_trap();
}

// What a right kernel never does.
KERNEL breaks(uint32 how) {
  CallBuffer* const buffer = call_buffer();
  const uint64 words[7] = {0};
  switch (how) {
    case 0:  // requests in a circle
      buffer->headers[1].next = 1;
      buffer->ready = 1;
      ring(buffer);
      break;
    case 1: call(99, 0, 0, 0, 0, 0, 0, 0, 0); break;
    case 2: call(1, 0x1000, 0, 0, 0, 0, 0, 0, 0); break;
    case 3: call(3, 0, 4096, 0, 0, 0, 0, 0, 0); break;
    case 4: call(2, 12345ull << 8 | 2, 0, 0, 0, 0, 0, 0, 0); break;
    case 5:
      for (;;) send(1, 1, words);
    case 6:
      for (uint64 message = send(1, 1, words);;) message = send(message, 7, words);
    case 7:  // no request at all, far away
      __hip_atomic_store(&buffer->ready, 0xfffffffffffffff0ull, __ATOMIC_RELAXED, system_scope);
      ring(buffer);
      break;
    case 8:  // the host's own pointers
      buffer->headers = reinterpret_cast<Header*>(0x1234560000ull);
      printf("lost\n");
      break;
    case 9: {  // everything behind them, again and again, from all lanes
      uint64* const all = reinterpret_cast<uint64*>(buffer);
      const Signal* const signal = buffer->doorbell;
      for (uint32 round = 0;; ++round) {
        for (uint32 i = 3; i < 512; ++i)
          if (i < 16 || i >= 32) all[i] = (i * 0x9e3779b97f4a7c15ull + round) * (thread_index() + 1);
        __builtin_amdgcn_s_sendmsg(1, signal->event);
      }
    }
    default: break;
  }
}
#endif

// A line for each line of the test.
KERNEL conversions(int i, long long l, float f, double d, const char* text) {
  printf("%d %u %x %X %o|%i\n", i, i, i, i, i, i);
  printf("%ld %lu %lx %lld|%hd %hhd %hhu\n", (long)l, (unsigned long)l, (long)l, l, (short)i, (signed char)i,
         (unsigned char)i);
  printf("%5d|%-5d|%05d|%+d|% d|%#x|%#o\n", i, i, i, i, i, i, i);
  printf("%.8d|%12.8d|%-12.8d|%*d|%-*d|%.*d\n", i, i, i, 9, i, 9, i, 9, i);
  printf("%f %e %g %a %F %E %G %A\n", f, f, f, f, d, d, d, d);
  printf("%.3f|%10.2e|%-12g|%+.0f|%#.0f|%010.3f|%.*f\n", d, d, d, d, d, d, 5, d);
  printf("%c%c|%5c|%-5c|\n", 'a', i, 'b', 'c');
  printf("%s|%20s|%-20s|%.3s|%.*s|\n", text, text, text, text, 2, text);
  printf("%p %p %20p|\n", (void*)text, (void*)0, (void*)0x1234);
  printf("100%% %d%%\n", i);
  int nothing = 7;
  printf("%n%d\n", &nothing, nothing);
}
KERNEL greets() {
  printf("block %u thread %u %s\n", block_index(), thread_index(), thread_index() % 2 ? "odd" : "even");
}
KERNEL copies(const char* text) { printf("[%s] %d\n", text, 7); }
KERNEL formats(const char* format, int value) { printf(format, value); }
#define LONGER_TEXT "and a text that takes more than the fifty-six bytes of one packet"
// Every lane takes a way of its own.
KERNEL diverges() {
  for (uint32 i = 0; i < thread_index() % 5; ++i) printf("lane %u turn %u\n", thread_index(), i);
  if (thread_index() & 1) printf("odd %u\n", thread_index());
  else if (thread_index() & 2) printf("two %u %s\n", thread_index(), LONGER_TEXT);
  else printf("four %u %g\n", thread_index(), thread_index() * 0.5);
}
KERNEL never_ends() {
  for (uint32 i = 0;; ++i) printf("line %09u\n", i);
}
KERNEL prints_much(uint32 lines) {
  for (uint32 i = 0; i < lines; ++i) printf("line %09u\n", i);
}
#ifdef BUFFERED
KERNEL breaks(uint32 how) {
  uint32* const buffer = print_buffer();
  switch (how) {
    case 0: buffer[0] = 0xffffffffu; break;
    case 1: buffer[0] = 100; break;                         // a piece of no bytes
    case 2: buffer[0] = 16, buffer[2] = 20 << 2; break;     // longer than what is there
    case 3: buffer[0] = 12, buffer[2] = 12 << 2 | 2; break; // a format that does not exist
    case 4: buffer[0] = 2; break;
    default: break;
  }
}
#endif
