// libcurl, loaded when a remote tier is asked first: it brings two dozen libraries along, for which no process should
// pay that has no tier. Connections are made through it, so that looking a name up ends in time too.
#pragma once

#include <curl/curl.h>

#include <memory>

#include "engine/base/bytes.hpp"
#include "engine/base/deadline.hpp"

namespace kiln::cache {

// Its functions, by their names without "curl_". Loaded once, never unloaded.
struct CurlLibrary {
  decltype(&curl_global_init) global_init;
  decltype(&curl_easy_init) easy_init;
  decltype(&curl_easy_cleanup) easy_cleanup;
  decltype(&curl_easy_reset) easy_reset;
  decltype(&curl_easy_setopt) easy_setopt;
  decltype(&curl_easy_getinfo) easy_getinfo;
  decltype(&curl_easy_strerror) easy_strerror;
  decltype(&curl_multi_init) multi_init;
  decltype(&curl_multi_cleanup) multi_cleanup;
  decltype(&curl_multi_add_handle) multi_add_handle;
  decltype(&curl_multi_remove_handle) multi_remove_handle;
  decltype(&curl_multi_perform) multi_perform;
  decltype(&curl_multi_poll) multi_poll;
  decltype(&curl_multi_info_read) multi_info_read;
  decltype(&curl_slist_append) slist_append;
  decltype(&curl_slist_free_all) slist_free_all;

  // Any thread. Errors: not_found with the package that lacks.
  static Result<const CurlLibrary*> load();
};

// One transfer at a time, over connections that are kept. Of one thread.
class Curl {
 public:
  static Result<std::unique_ptr<Curl>> create();
  Curl(const Curl&) = delete;
  ~Curl();

  // Forgets all options; sets what every transfer of ours has: no signals, no redirects, no proxies, no other
  // protocols, a bound on the bytes of headers.
  void begin(const std::string& url);
  template <class Value>
  void set(CURLoption option, Value value) { (void)library_.easy_setopt(easy_, option, value); }
  // Until it is done. Errors: deadline_exceeded, cancelled when `interrupt` (-1: none) is readable, corrupt for
  // nonsense, io_error else.
  Status run(Deadline deadline, int interrupt);
  [[nodiscard]] long status() const;     // of the last answer
  [[nodiscard]] int socket() const;      // of a connection made with CURLOPT_CONNECT_ONLY; -1 when there is none
  [[nodiscard]] const CurlLibrary& library() const { return library_; }

 private:
  Curl(const CurlLibrary& library, CURL* easy, CURLM* multi) : library_(library), easy_(easy), multi_(multi) {}
  Status drive(Deadline deadline, int interrupt);
  Status ended(CURLcode code) const;

  const CurlLibrary& library_;
  CURL* const easy_;
  CURLM* const multi_;
  bool added_ = false;
  std::size_t header_bytes_ = 0;
  char words_[CURL_ERROR_SIZE] = "";
};

// Whether this descriptor (-1: none) is readable or hung up now.
bool interrupted(int descriptor);

}  // namespace kiln::cache
