#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "base/core/text.h"
#include "base/io/http/curl_library.h"
#include "bootstrap/blocks/limits.h"
#include "bootstrap/blocks/origin.h"
#include "bootstrap/store/http_answer.h"

namespace robustrun::bootstrap {
namespace {

// Every handle is an origin's, which was opened with the library loaded.
const base::CurlLibrary& curl() {
  static const base::CurlLibrary& loaded = **base::load_curl();
  return loaded;
}

struct CurlEnd {
  void operator()(CURL* handle) const { curl().easy_cleanup(handle); }
  void operator()(curl_slist* list) const { curl().slist_free_all(list); }
};
using CurlHandle = std::unique_ptr<CURL, CurlEnd>;
using CurlList = std::unique_ptr<curl_slist, CurlEnd>;

// One request and its result.
struct Exchange {
  WantedAnswer wanted;
  std::span<char> bytes;  // where the body goes
  HttpAnswer answer;
  std::size_t got = 0;
  bool is_too_long = false;
};

std::size_t take_header(char* bytes, std::size_t size, std::size_t count, void* exchange) {
  static_cast<Exchange*>(exchange)->answer.take_line({bytes, size * count});
  return size * count;
}

// Checks the headers before the body is read.
std::size_t take_body(char* bytes, std::size_t size, std::size_t count, void* data) {
  auto& exchange = *static_cast<Exchange*>(data);
  const std::size_t length = size * count;
  if (exchange.answer.status != 206) return 0;
  if (length > exchange.bytes.size() - exchange.got) {
    exchange.is_too_long = true;
    return 0;
  }
  std::memcpy(exchange.bytes.data() + exchange.got, bytes, length);
  exchange.got += length;
  return length;
}

// The site's file of certificate authorities; empty: the system's.
std::string authorities() {
  for (const char* name : {"CURL_CA_BUNDLE", "SSL_CERT_FILE"}) {
    const char* const path = std::getenv(name);
    if (path != nullptr && *path != '\0') return path;
  }
  return {};
}

class HttpOrigin final : public Origin {
 public:
  explicit HttpOrigin(std::string url) : url_(std::move(url)), shown_(shown_source(url_)) {}

  [[nodiscard]] const Blob& blob() const override { return blob_; }

  base::Status look() {
    std::vector<char> head(kBlobEdgeBytes);
    Exchange first{{0, {}, {}, {}}, head, {}, 0, false};
    RR_TRY(exchange(first, fmt::format("0-{}", kBlobEdgeBytes - 1), {}));
    const HttpRange range = RR_TRY(check_answer(first.answer, first.wanted, shown_));
    if (range.total > kBlobBytesMax || range.last + 1 != std::min(range.total, kBlobEdgeBytes)) {
      return base::fail(
          base::Errc::kProtocol,
          fmt::format("cannot read '{}': it is too long, or the server returned a wrong "
                      "range ('{}')",
                      shown_, base::printable(first.answer.content_range)));
    }
    head.resize(range.last + 1);
    if (first.got != head.size()) return ended_early();
    blob_.length = range.total;
    blob_.validator = first.answer.validator();
    is_etag_ = first.answer.etag.starts_with('"');
    std::vector<char> tail(head.size());
    RR_TRY(read(blob_.length - tail.size(), tail));
    blob_.key = blob_key(blob_.length, blob_.validator, {head.data(), head.size()},
                         {tail.data(), tail.size()});
    return {};
  }

  base::Result<base::Nanos> read(std::uint64_t offset, std::span<char> bytes) override {
    Exchange wanted;
    wanted.wanted = {offset, offset + bytes.size() - 1, blob_.length, blob_.validator};
    wanted.bytes = bytes;
    return exchange(wanted, fmt::format("{}-{}", offset, offset + bytes.size() - 1), condition());
  }

 private:
  // The header that makes the server check whether the file is still the same.
  [[nodiscard]] std::string condition() const {
    if (blob_.validator.empty()) return {};
    const std::string value = blob_.validator.substr(blob_.validator.find(' ') + 1);
    return (is_etag_ ? "If-Match: " : "If-Unmodified-Since: ") + value;
  }

  base::Result<base::Nanos> exchange(Exchange& exchange, const std::string& range,
                                     const std::string& condition) {
    CurlHandle handle = take_handle();
    if (!handle) return base::fail(base::Errc::kInternal, "cannot make an HTTP client");
    CurlList headers(curl().slist_append(nullptr, "Accept-Encoding: identity"));
    if (!condition.empty()) {
      headers.reset(curl().slist_append(headers.release(), condition.c_str()));
    }
    curl().easy_setopt(handle.get(), CURLOPT_RANGE, range.c_str());
    curl().easy_setopt(handle.get(), CURLOPT_HTTPHEADER, headers.get());
    curl().easy_setopt(handle.get(), CURLOPT_HEADERDATA, &exchange);
    curl().easy_setopt(handle.get(), CURLOPT_WRITEDATA, &exchange);
    std::array<char, CURL_ERROR_SIZE> words{};  // more detailed than the code
    curl().easy_setopt(handle.get(), CURLOPT_ERRORBUFFER, words.data());
    const CURLcode code = curl().easy_perform(handle.get());
    curl().easy_setopt(handle.get(), CURLOPT_ERRORBUFFER, nullptr);
    curl_off_t first_us = 0;
    curl().easy_getinfo(handle.get(), CURLINFO_STARTTRANSFER_TIME_T, &first_us);
    curl().easy_setopt(handle.get(), CURLOPT_HTTPHEADER, nullptr);
    if (code == CURLE_OK) give_handle(std::move(handle));
    RR_TRY(judge(exchange, code, words.data()));
    return base::Nanos(std::chrono::microseconds(first_us));
  }

  base::Status judge(const Exchange& exchange, CURLcode code, const char* words) const {
    const bool is_answered = exchange.answer.status >= 200;
    const bool is_redirect = exchange.answer.status >= 300 && exchange.answer.status < 400;
    if (code == CURLE_TOO_MANY_REDIRECTS || (is_redirect && code != CURLE_OK)) {
      return base::fail(base::Errc::kProtocol,
                        fmt::format("cannot read '{}': the server redirects too often, or not to "
                                    "an http(s) address",
                                    shown_));
    }
    // The server's response takes precedence over how the connection ended.
    if (is_answered) {
      RR_TRY(check_answer(exchange.answer, exchange.wanted, shown_));
    }
    if (exchange.is_too_long) {
      return base::fail(base::Errc::kProtocol,
                        fmt::format("cannot read '{}': the server sent more than the range that "
                                    "it announced",
                                    shown_));
    }
    if (code != CURLE_OK) return refused(code, words);
    if (exchange.wanted.last && exchange.got != exchange.bytes.size()) return ended_early();
    return {};
  }

  [[nodiscard]] std::unexpected<base::Error> ended_early() const {
    return base::fail(base::Errc::kUnavailable,
                      fmt::format("cannot read '{}': the server ended its answer early", shown_));
  }

  [[nodiscard]] std::unexpected<base::Error> refused(CURLcode code, const char* words) const {
    const auto what = fmt::format(
        "cannot read '{}': {}", shown_,
        *words != '\0' ? base::printable(words) : std::string(curl().easy_strerror(code)));
    switch (static_cast<int>(code)) {
      case CURLE_OPERATION_TIMEDOUT: return base::fail(base::Errc::kTimeout, what);
      case CURLE_URL_MALFORMAT:
      case CURLE_UNSUPPORTED_PROTOCOL: return base::fail(base::Errc::kInvalidArgument, what);
      case CURLE_PEER_FAILED_VERIFICATION: return base::fail(base::Errc::kPermission, what);
      default: return base::fail(base::Errc::kUnavailable, what);
    }
  }

  CurlHandle take_handle() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        CurlHandle handle = std::move(idle_.back());
        idle_.pop_back();
        return handle;
      }
    }
    CurlHandle handle(curl().easy_init());
    if (!handle) return handle;
    const auto set = [easy = handle.get()](CURLoption option, auto value) {
      return curl().easy_setopt(easy, option, value);
    };
    set(CURLOPT_URL, url_.c_str());
    set(CURLOPT_NOSIGNAL, 1L);
    if (!authorities_.empty()) set(CURLOPT_CAINFO, authorities_.c_str());
    if (set(CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK) {
      set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    } else {  // before 7.85
      set(CURLOPT_PROTOCOLS, long{CURLPROTO_HTTP | CURLPROTO_HTTPS});
      set(CURLOPT_REDIR_PROTOCOLS, long{CURLPROTO_HTTP | CURLPROTO_HTTPS});
    }
    set(CURLOPT_FOLLOWLOCATION, 1L);
    set(CURLOPT_MAXREDIRS, kRedirectsMax);
    set(CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
    set(CURLOPT_LOW_SPEED_TIME, kStallSeconds);
    set(CURLOPT_LOW_SPEED_LIMIT, kStallBytes);
    set(CURLOPT_TCP_KEEPALIVE, 1L);
    set(CURLOPT_BUFFERSIZE, 256L << 10);
    set(CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
    set(CURLOPT_USERAGENT, "robustrun-blocks/" ROBUSTRUN_VERSION);
    set(CURLOPT_HEADERFUNCTION, take_header);
    set(CURLOPT_WRITEFUNCTION, take_body);
    return handle;
  }

  void give_handle(CurlHandle handle) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(handle));
  }

  std::string url_;
  std::string shown_;
  const std::string authorities_ = authorities();
  Blob blob_;
  bool is_etag_ = false;
  std::mutex mutex_;
  std::vector<CurlHandle> idle_;  // with their connections; at most one per thread
};

}  // namespace

base::Result<std::unique_ptr<Origin>> open_http_origin(const std::string& url) {
  if (const auto library = base::load_curl(); !library) {
    return base::fail(library.error().code,
                      fmt::format("cannot read '{}': {}", shown_source(url), library.error().what));
  }
  auto origin = std::make_unique<HttpOrigin>(url);
  RR_TRY(origin->look());
  return origin;
}

}  // namespace robustrun::bootstrap
