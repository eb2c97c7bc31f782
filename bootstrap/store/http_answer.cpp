#include "bootstrap/store/http_answer.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "base/core/text.h"
#include "bootstrap/store/limits.h"

namespace robustrun::bootstrap {
namespace {

using base::Errc;
using base::fail;

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

// The error for a status other than 206.
std::unexpected<base::Error> refuse_status(const HttpAnswer& answer, std::string_view what) {
  switch (answer.status) {
    case 200:
      return fail(Errc::kProtocol,
                  fmt::format("cannot read '{}': the server does not serve ranges (it answered 200 "
                              "to a range request); use one that does, such as nginx",
                              what));
    case 401:
    case 403:
      return fail(Errc::kPermission,
                  fmt::format("cannot read '{}': the server refuses it ({})", what, answer.status));
    case 404:
    case 410:
      return fail(Errc::kNotFound, fmt::format("cannot read '{}': the server has no such file ({})",
                                               what, answer.status));
    case 412:
      return fail(Errc::kConflict,
                  fmt::format("cannot read '{}': it changed while it was served (412)", what));
    case 416:
      return fail(Errc::kConflict,
                  fmt::format("cannot read '{}': it is shorter than it was, or empty (416)", what));
    case 408:
    case 425:
    case 429:
      return fail(Errc::kUnavailable,
                  fmt::format("cannot read '{}': the server answered {}", what, answer.status));
    default:
      return fail(answer.status >= 500 ? Errc::kUnavailable : Errc::kProtocol,
                  fmt::format("cannot read '{}': the server answered {}", what, answer.status));
  }
}

std::unexpected<base::Error> changed_answer(std::string_view what, std::string_view before,
                                            std::string_view now) {
  return fail(Errc::kConflict,
              fmt::format("cannot read '{}': it changed while it was served (was '{}', now "
                          "'{}'); give a new image a new name",
                          what, base::printable(before), base::printable(now)));
}

}  // namespace

void HttpAnswer::take_line(std::string_view line) {
  line = base::trim(line);
  if (line.starts_with("HTTP/")) {
    *this = {};
    const auto words = base::split(line, ' ');
    const auto code = words.size() > 1 ? base::parse_int<long>(words[1]) : 0;
    status = code ? *code : 0;
    return;
  }
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = base::trim(line.substr(colon + 1)).substr(0, kHeaderBytesMax);
  if (same_name(name, "etag")) etag = value;
  if (same_name(name, "last-modified")) last_modified = value;
  if (same_name(name, "content-range")) content_range = value;
}

std::string HttpAnswer::validator() const {
  // A weak ETag (W/"…") means equivalent content, not equal bytes.
  if (etag.starts_with('"')) return "etag " + etag;
  return last_modified.empty() ? std::string() : "last-modified " + last_modified;
}

std::optional<HttpRange> parse_content_range(std::string_view value) {
  if (value.size() < 6 || !same_name(value.substr(0, 6), "bytes ")) return std::nullopt;
  value = base::trim(value.substr(6));
  const auto dash = value.find('-');
  const auto slash = value.find('/');
  if (dash == std::string_view::npos || slash == std::string_view::npos || dash > slash) {
    return std::nullopt;
  }
  const auto first = base::parse_int<std::uint64_t>(value.substr(0, dash));
  const auto last = base::parse_int<std::uint64_t>(value.substr(dash + 1, slash - dash - 1));
  const auto total = base::parse_int<std::uint64_t>(value.substr(slash + 1));
  if (!first || !last || !total || *first > *last || *last >= *total) return std::nullopt;
  return HttpRange{*first, *last, *total};
}

base::Result<HttpRange> check_answer(const HttpAnswer& answer, const WantedAnswer& wanted,
                                     std::string_view what) {
  // A server that honours If-Match answers 412; with any other, compare the validator.
  const bool has_content = answer.status == 200 || answer.status == 206;
  if (has_content && wanted.validator && answer.validator() != *wanted.validator) {
    return changed_answer(what, *wanted.validator, answer.validator());
  }
  if (answer.status != 206) return refuse_status(answer, what);
  const auto range = parse_content_range(answer.content_range);
  const bool is_wanted =
      range && range->first == wanted.first && (!wanted.last || range->last == *wanted.last);
  if (range && wanted.length && range->total != *wanted.length) {
    return changed_answer(what, fmt::format("{} bytes", *wanted.length),
                          fmt::format("{} bytes", range->total));
  }
  if (!is_wanted) {
    return fail(Errc::kProtocol,
                fmt::format("cannot read '{}': the server answered with the wrong range ('{}')",
                            what, base::printable(answer.content_range)));
  }
  return *range;
}

}  // namespace robustrun::bootstrap
