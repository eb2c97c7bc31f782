#pragma once
// Parses a server's response to a range request and checks that it has the wanted range of the
// wanted file. Pure and without libcurl, so that tests can imitate all kinds of servers.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/result.h"

namespace robustrun::bootstrap {

struct HttpAnswer {
  long status = 0;
  std::string etag;
  std::string last_modified;
  std::string content_range;

  // Takes a header line or a status line. A status line begins a new response (for example after a
  // redirect) and clears the fields.
  void take_line(std::string_view line);
  // The strong ETag, or else the Last-Modified; empty: the response has neither.
  [[nodiscard]] std::string validator() const;
};

struct HttpRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t total = 0;
  bool operator==(const HttpRange&) const = default;
};
// Parses a value like "bytes 0-9/100" (RFC 9110, 14.4); nullopt: malformed, or the total is
// unknown.
[[nodiscard]] std::optional<HttpRange> parse_content_range(std::string_view value);

// The response that is wanted. Members that are nullopt are not compared.
struct WantedAnswer {
  std::uint64_t first = 0;
  std::optional<std::uint64_t> last;
  std::optional<std::uint64_t> length;  // of the whole file
  std::optional<std::string> validator;
};
// Checks `answer`; `what` names the source in errors. kConflict: validator or length differ, or
// status 412 or 416. Other statuses: kPermission (401, 403), kNotFound (404, 410), kUnavailable
// (408, 425, 429, from 500 on). kProtocol: any other status, or another range than the wanted one.
[[nodiscard]] base::Result<HttpRange> check_answer(const HttpAnswer& answer,
                                                   const WantedAnswer& wanted,
                                                   std::string_view what);

}  // namespace robustrun::bootstrap
