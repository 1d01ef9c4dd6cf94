#include "cache/tiers/curl.hpp"

#include <dlfcn.h>
#include <fcntl.h>

#include "engine/base/os.hpp"

namespace kiln::cache {
namespace {

constexpr std::size_t header_bytes_max = 64 << 10;

Result<CurlLibrary> open_library() {
  void* library = nullptr;
  for (const char* name : {"libcurl.so.4", "libcurl-gnutls.so.4"})
    if ((library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL))) break;
  if (!library) {
    Error error(ErrorCode::not_found, "libcurl.so.4, which remote tiers need, cannot be loaded (Debian: libcurl4)");
    return std::move(error).with(::dlerror());
  }
  CurlLibrary curl{};
  std::string missing;
  const auto take = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    if (!function) missing = name;
  };
  take(curl.global_init, "curl_global_init");
  take(curl.easy_init, "curl_easy_init");
  take(curl.easy_cleanup, "curl_easy_cleanup");
  take(curl.easy_reset, "curl_easy_reset");
  take(curl.easy_setopt, "curl_easy_setopt");
  take(curl.easy_getinfo, "curl_easy_getinfo");
  take(curl.easy_strerror, "curl_easy_strerror");
  take(curl.multi_init, "curl_multi_init");
  take(curl.multi_cleanup, "curl_multi_cleanup");
  take(curl.multi_add_handle, "curl_multi_add_handle");
  take(curl.multi_remove_handle, "curl_multi_remove_handle");
  take(curl.multi_perform, "curl_multi_perform");
  take(curl.multi_poll, "curl_multi_poll");
  take(curl.multi_info_read, "curl_multi_info_read");
  take(curl.slist_append, "curl_slist_append");
  take(curl.slist_free_all, "curl_slist_free_all");
  if (!missing.empty()) return Error(ErrorCode::unsupported, "libcurl is older than 7.66: it lacks " + missing);
  if (curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return Error(ErrorCode::internal, "libcurl cannot be used");
  return curl;
}

// Children get descriptors that are handed to them and no others.
int close_on_exec(void*, curl_socket_t socket, curlsocktype) {
  return ::fcntl(socket, F_SETFD, FD_CLOEXEC) == 0 ? CURL_SOCKOPT_OK : CURL_SOCKOPT_ERROR;
}

std::size_t count_headers(char*, std::size_t size, std::size_t count, void* bytes) {
  auto& so_far = *static_cast<std::size_t*>(bytes);
  so_far += size * count;
  return so_far > header_bytes_max ? 0 : size * count;
}

}  // namespace

Result<const CurlLibrary*> CurlLibrary::load() {
  static const auto library = open_library();
  if (!library) return library.error();
  return &*library;
}

Result<std::unique_ptr<Curl>> Curl::create() {
  KILN_TRY(const auto* library, CurlLibrary::load());
  auto* const easy = library->easy_init();
  auto* const multi = library->multi_init();
  if (easy && multi) return std::unique_ptr<Curl>(new Curl(*library, easy, multi));
  if (easy) library->easy_cleanup(easy);
  if (multi) (void)library->multi_cleanup(multi);
  return Error(ErrorCode::resource_limit, "libcurl has no memory or descriptors left", true);
}

Curl::~Curl() {
  if (added_) (void)library_.multi_remove_handle(multi_, easy_);
  library_.easy_cleanup(easy_);
  (void)library_.multi_cleanup(multi_);
}

void Curl::begin(const std::string& url) {
  if (added_) (void)library_.multi_remove_handle(multi_, easy_);
  added_ = false;
  library_.easy_reset(easy_);
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_ERRORBUFFER, words_);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_QUICK_EXIT, 1L);  // a look-up that hangs is left behind
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_PROXY, "");
  set(CURLOPT_HTTP_VERSION, long(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_SOCKOPTFUNCTION, &close_on_exec);
  header_bytes_ = 0;
  set(CURLOPT_HEADERFUNCTION, &count_headers);
  set(CURLOPT_HEADERDATA, &header_bytes_);
}

Status Curl::run(Deadline deadline, int interrupt) {
  words_[0] = 0;
  if (library_.multi_add_handle(multi_, easy_) != CURLM_OK)
    return Error(ErrorCode::internal, "libcurl takes no request");
  added_ = true;
  auto status = drive(deadline, interrupt);
  if (!status) {  // what of it is still under way ends with its connection
    (void)library_.multi_remove_handle(multi_, easy_);
    added_ = false;
  }
  return status;
}

Status Curl::drive(Deadline deadline, int interrupt) {
  for (;;) {
    int running = 0, left = 0;
    if (library_.multi_perform(multi_, &running) != CURLM_OK) return Error(ErrorCode::io_error, "libcurl failed");
    while (const auto* message = library_.multi_info_read(multi_, &left))
      if (message->msg == CURLMSG_DONE) return ended(message->data.result);
    if (deadline.passed()) return Error(ErrorCode::deadline_exceeded, "the server gave no whole answer in time");
    if (interrupted(interrupt)) return Error(ErrorCode::cancelled, "no longer wanted");
    curl_waitfd also{interrupt, CURL_WAIT_POLLIN, 0};
    (void)library_.multi_poll(multi_, &also, interrupt >= 0 ? 1 : 0, deadline.left_ms(), nullptr);
  }
}

Status Curl::ended(CURLcode code) const {
  if (code == CURLE_OK) return {};
  const std::string words = words_[0] != 0 ? words_ : library_.easy_strerror(code);
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT: return Error(ErrorCode::deadline_exceeded, words);
    case CURLE_WRITE_ERROR:  // our own functions take no more
    case CURLE_FILESIZE_EXCEEDED: return Error(ErrorCode::corrupt, "the answer is longer than any entry");
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY: return Error(ErrorCode::corrupt, "the answer is not HTTP: " + words);
    default: return Error(ErrorCode::io_error, words);
  }
}

long Curl::status() const {
  long status = 0;
  (void)library_.easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
  return status;
}

int Curl::socket() const {
  curl_socket_t socket = -1;
  (void)library_.easy_getinfo(easy_, CURLINFO_ACTIVESOCKET, &socket);
  return socket;
}

bool interrupted(int descriptor) {
  pollfd entry{descriptor, POLLIN, 0};
  return descriptor >= 0 && os::poll(&entry, 1, 0) > 0;
}

}  // namespace kiln::cache
