#include "base/io/http/post.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/core/text.h"
#include "base/io/http/curl_library.h"

namespace robustrun::base {
namespace {

constexpr long kConnectMaxMs = 5000;

std::size_t drop_body(char* /*bytes*/, std::size_t size, std::size_t count, void* /*unused*/) {
  return size * count;
}

// Not 0: libcurl gives the request up.
int give_up(void* stop, curl_off_t /*to_load*/, curl_off_t /*loaded*/, curl_off_t /*to_send*/,
            curl_off_t /*sent*/) {
  return static_cast<const std::atomic<bool>*>(stop)->load() ? 1 : 0;
}

}  // namespace

Result<int> http_post(const HttpPost& request, const std::shared_ptr<std::atomic<bool>>& stop) {
  const CurlLibrary& curl = *RR_TRY(load_curl());
  const auto end_handle = [&](CURL* one) { curl.easy_cleanup(one); };
  const std::unique_ptr<CURL, decltype(end_handle)> handle(curl.easy_init(), end_handle);
  if (!handle) return fail(Errc::kInternal, "cannot make an HTTP client");
  const auto end_list = [&](curl_slist* one) { curl.slist_free_all(one); };
  std::unique_ptr<curl_slist, decltype(end_list)> headers(nullptr, end_list);
  for (const std::string& header : request.headers) {
    headers.reset(curl.slist_append(headers.release(), header.c_str()));
  }
  std::array<char, CURL_ERROR_SIZE> words{};  // more detailed than the code
  CURL* const to = handle.get();
  curl.easy_setopt(to, CURLOPT_ERRORBUFFER, words.data());
  curl.easy_setopt(to, CURLOPT_URL, request.url.c_str());
  curl.easy_setopt(to, CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
  curl.easy_setopt(to, CURLOPT_NOSIGNAL, 1L);
  curl.easy_setopt(to, CURLOPT_USERAGENT, "robustrun");
  curl.easy_setopt(to, CURLOPT_HTTPHEADER, headers.get());
  curl.easy_setopt(to, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  curl.easy_setopt(to, CURLOPT_POSTFIELDS, request.body.data());
  curl.easy_setopt(to, CURLOPT_WRITEFUNCTION, &drop_body);
  curl.easy_setopt(to, CURLOPT_CONNECTTIMEOUT_MS, kConnectMaxMs);
  curl.easy_setopt(to, CURLOPT_TIMEOUT_MS, static_cast<long>(request.time_max.count()));
  curl.easy_setopt(to, CURLOPT_NOPROGRESS, 0L);
  curl.easy_setopt(to, CURLOPT_XFERINFOFUNCTION, &give_up);
  curl.easy_setopt(to, CURLOPT_XFERINFODATA, stop.get());
  if (!request.authorities.empty()) {
    curl.easy_setopt(to, CURLOPT_CAINFO, request.authorities.c_str());
  }
  const CURLcode code = curl.easy_perform(to);
  if (code == CURLE_OPERATION_TIMEDOUT) {
    return fail(Errc::kTimeout, "the server does not answer in time");
  }
  if (code != CURLE_OK) {
    const std::string cause = words[0] != '\0' ? words.data() : curl.easy_strerror(code);
    const bool has_url = cause.find("://") != std::string::npos;
    return fail(Errc::kUnavailable, printable(has_url ? curl.easy_strerror(code) : cause));
  }
  long status = 0;
  curl.easy_getinfo(to, CURLINFO_RESPONSE_CODE, &status);
  return static_cast<int>(status);
}

}  // namespace robustrun::base
