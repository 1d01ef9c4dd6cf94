// kiln-reference: the interpreter as a process. Started by ReferenceProcess; it speaks on descriptor 3 (process.hpp).
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "engine/base/os.hpp"
#include "engine/base/paths.hpp"
#include "engine/reference/serve.hpp"

namespace {

constexpr int peer = 3;

// Ends the process when the peer is gone, also in the middle of a long request.
void watch_peer() {
  for (;;) {
    pollfd entry{peer, POLLRDHUP, 0};
    if (kiln::os::poll(&entry, 1, -1) > 0) ::_exit(0);
  }
}

}  // namespace

int main() {
  struct stat status {};
  if (kiln::os::fstat(peer, &status) != 0 || !S_ISSOCK(status.st_mode)) {
    std::fputs("kiln-reference: started by kilnd or kiln, with a socket as descriptor 3; not by hand\n", stderr);
    return 2;
  }
  if (auto environment = kiln::process_environment(); !environment) {
    std::fprintf(stderr, "kiln-reference: %s\n", kiln::to_text(environment.error()).c_str());
    return 2;
  }
  std::thread(watch_peer).detach();
  const int code = kiln::reference::serve(peer);
  std::fflush(stderr);
  ::_exit(code);  // no destructors behind the watching thread's back
}
