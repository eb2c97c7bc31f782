#pragma once
// A small HTTP(S) request that posts a text, by the host's libcurl (curl_library.h).
//
// Blocks: call it from a blocking pool. The answer's body is dropped, redirects are not followed.

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/core/result.h"

namespace robustrun::base {

struct HttpPost {
  std::string url;  // http:// or https://
  std::vector<std::string> headers;  // "Name: value", printable
  std::string body;
  std::string authorities;  // file of certificate authorities; empty: the system's
  std::chrono::milliseconds time_max{10'000};
};

// The status of the answer (200, 404, …). kTimeout: no connection within 5 s, or no whole answer
// within time_max. An error gives only the cause. Errors never contain the URL, which may be a
// secret. `stop`, not null: once true, the request is given up within about a second, with
// kUnavailable.
Result<int> http_post(const HttpPost& request, const std::shared_ptr<std::atomic<bool>>& stop);

}  // namespace robustrun::base
