#pragma once
// What a server's answer to a range request says, and whether it is the answer that was wanted.
// Pure: without libcurl, so that tests can play servers of all kinds.

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

  // A header line, or the status line of the next answer (of a redirect, say), which clears it.
  void take_line(std::string_view line);
  // A strong ETag, else Last-Modified, else nothing.
  [[nodiscard]] std::string validator() const;
};

struct HttpRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t total = 0;
  bool operator==(const HttpRange&) const = default;
};
// "bytes 0-9/100" (RFC 9110, 14.4); nothing when it is something else or the total is unknown.
[[nodiscard]] std::optional<HttpRange> parse_content_range(std::string_view value);

// `what` names the source in the error. kConflict when the validator or the length is not
// `wanted`'s; nothing is compared that is not given.
struct WantedAnswer {
  std::uint64_t first = 0;
  std::optional<std::uint64_t> last;    // nothing: as far as the server has bytes
  std::optional<std::uint64_t> length;  // of the whole
  std::optional<std::string> validator;
};
[[nodiscard]] base::Result<HttpRange> check_answer(const HttpAnswer& answer,
                                                   const WantedAnswer& wanted,
                                                   std::string_view what);

}  // namespace robustrun::bootstrap
