// Kiln's protocol as far as the example needs it: a line a request over the daemon's Unix socket, fields of flat answers.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "hip.hpp"

struct Answer {
  std::string text;
  bool ok() const { return text.find("\"result\":") != std::string::npos; }
  // A member's text without quotes; the names that the example asks for occur once an object.
  std::string field(const std::string& name) const {
    const auto at = text.find("\"" + name + "\":");
    if (at == std::string::npos) fail("no \"" + name + "\" in " + text);
    const auto begin = at + name.size() + 3;
    return text[begin] == '"' ? text.substr(begin + 1, text.find('"', begin + 1) - begin - 1)
                              : text.substr(begin, text.find_first_of(",}", begin) - begin);
  }
  std::vector<Answer> objects() const {  // the innermost ones
    std::vector<Answer> all;
    for (auto begin = text.find('{'); begin != std::string::npos; begin = text.find('{', begin + 1))
      if (const auto end = text.find_first_of("{}", begin + 1); end != std::string::npos && text[end] == '}')
        all.push_back({text.substr(begin, end - begin + 1)});
    return all;
  }
};

class Rpc {
 public:
  Rpc() {
    sockaddr_un address{AF_UNIX, {}};
    const char *named = std::getenv("KILN_SOCKET"), *runtime = std::getenv("XDG_RUNTIME_DIR");
    const std::string path = named && *named ? named : runtime && *runtime ? std::string(runtime) + "/kiln/kiln.sock"
                                                     : "/tmp/kiln-" + std::to_string(geteuid()) + "/kiln.sock";
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      fail("no daemon listens on " + path + ": `kiln daemon start`");
  }
  ~Rpc() { close(socket_); }
  // `params`: the members of the object.
  Answer call(const std::string& method, const std::string& params, bool must = true) {
    const std::string line = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" + method + "\",\"params\":{" + params + "}}\n";
    if (send(socket_, line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size())) fail("the daemon went away");
    for (;;) {
      std::size_t end;
      while ((end = buffer_.find('\n')) == std::string::npos) {
        char more[65536];
        const auto got = read(socket_, more, sizeof more);
        if (got <= 0) fail("the daemon went away");
        buffer_.append(more, static_cast<std::size_t>(got));
      }
      const Answer answer{buffer_.substr(0, end)};
      buffer_.erase(0, end + 1);
      if (answer.text.find("\"method\":\"$/") != std::string::npos) continue;  // progress
      if (must && !answer.ok()) fail(method + ": " + answer.text);
      return answer;
    }
  }

 private:
  int socket_;
  std::string buffer_;
};
