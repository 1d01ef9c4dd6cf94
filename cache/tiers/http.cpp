// A tier behind plain GET and PUT: nginx with DAV, an object store's gateway, anything that keeps files.
#include <algorithm>

#include "cache/tiers/curl.hpp"
#include "cache/tiers/transport.hpp"

namespace kiln::cache {
namespace {

constexpr std::size_t answer_bytes_max = 64 << 10;  // to a PUT; nobody reads it

struct Body {
  Bytes bytes;
  std::size_t bytes_max;
};

std::size_t receive(char* data, std::size_t size, std::size_t count, void* body) {
  auto& [bytes, bytes_max] = *static_cast<Body*>(body);
  const auto more = size * count;
  if (more > bytes_max - bytes.size()) return 0;
  bytes.insert(bytes.end(), data, data + more);
  return more;
}

struct Upload {
  ByteView bytes;
  std::size_t at = 0;
};

std::size_t send(char* data, std::size_t size, std::size_t count, void* upload) {
  auto& [bytes, at] = *static_cast<Upload*>(upload);
  const auto more = std::min(size * count, bytes.size() - at);
  std::copy_n(bytes.data() + at, more, data);
  at += more;
  return more;
}

// For a kept connection that turns out to be closed: it begins again on another.
int seek(void* upload, curl_off_t offset, int origin) {
  auto& [bytes, at] = *static_cast<Upload*>(upload);
  if (origin != SEEK_SET || offset < 0 || std::size_t(offset) > bytes.size()) return CURL_SEEKFUNC_FAIL;
  at = std::size_t(offset);
  return CURL_SEEKFUNC_OK;
}

class HttpTransport final : public Transport {
 public:
  HttpTransport(TierUrl url, std::unique_ptr<Curl> curl) : url_(std::move(url)), curl_(std::move(curl)) {
    // Nobody waits for leave to send.
    headers_ = curl_->library().slist_append(nullptr, "Expect:");
  }
  ~HttpTransport() override { curl_->library().slist_free_all(headers_); }

  Result<std::optional<Bytes>> get(const std::string& name, Deadline deadline, int interrupt) override {
    Body body{{}, tier_value_bytes_max};
    begin(name, body);
    curl_->set(CURLOPT_MAXFILESIZE_LARGE, curl_off_t(tier_value_bytes_max));
    KILN_CHECK(curl_->run(deadline, interrupt));
    const auto status = curl_->status();
    if (status == 200) return std::optional(std::move(body.bytes));
    if (status == 404 || status == 410) return std::optional<Bytes>();
    return refused("GET", status);
  }

  Status put(const std::string& name, ByteView value, Deadline deadline) override {
    Body body{{}, answer_bytes_max};
    Upload upload{value};
    begin(name, body);
    curl_->set(CURLOPT_UPLOAD, 1L);
    curl_->set(CURLOPT_INFILESIZE_LARGE, curl_off_t(value.size()));
    curl_->set(CURLOPT_READFUNCTION, &send);
    curl_->set(CURLOPT_READDATA, &upload);
    curl_->set(CURLOPT_SEEKFUNCTION, &seek);
    curl_->set(CURLOPT_SEEKDATA, &upload);
    curl_->set(CURLOPT_HTTPHEADER, headers_);
    KILN_CHECK(curl_->run(deadline, -1));
    const auto status = curl_->status();
    return status >= 200 && status < 300 ? ok() : Status(refused("PUT", status));
  }

 private:
  void begin(const std::string& name, Body& body) {
    curl_->begin((url_.kind == TierUrl::Kind::https ? "https://" : "http://") + url_.host + ":" +
                 std::to_string(url_.port) + url_.path + "/" + name);
    if (!url_.user.empty() || !url_.password.empty()) {
      curl_->set(CURLOPT_HTTPAUTH, long(CURLAUTH_BASIC));
      curl_->set(CURLOPT_USERNAME, url_.user.c_str());
      curl_->set(CURLOPT_PASSWORD, url_.password.c_str());
    }
    curl_->set(CURLOPT_WRITEFUNCTION, &receive);
    curl_->set(CURLOPT_WRITEDATA, &body);
  }
  // A server in trouble has failed; one that does not want to has not.
  static Error refused(const std::string& method, long status) {
    const bool trouble = status >= 500 || status == 429;
    return Error(trouble ? ErrorCode::io_error : ErrorCode::permission_denied,
                 method + " was answered with status " + std::to_string(status));
  }

  const TierUrl url_;
  const std::unique_ptr<Curl> curl_;
  curl_slist* headers_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<Transport>> open_http(const TierUrl& url) {
  KILN_TRY(auto curl, Curl::create());
  return std::unique_ptr<Transport>(new HttpTransport(url, std::move(curl)));
}

}  // namespace kiln::cache
