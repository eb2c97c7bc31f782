#include "bootstrap/store/source_digest.h"

#include <cstddef>
#include <utility>

#include "bootstrap/store/blob.h"

namespace robustrun::bootstrap {
namespace {

constexpr std::string_view kDigestMark = "#sha256=";
constexpr std::size_t kSha256Digits = 64;

}  // namespace

bool is_sha256(std::string_view text) {
  return text.size() == kSha256Digits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

base::Result<DigestedSource> split_digest(std::string_view source) {
  const std::size_t at = is_http_source(source) ? source.find(kDigestMark) : std::string_view::npos;
  if (at == std::string_view::npos) return DigestedSource{std::string(source), {}};
  std::string digest(source.substr(at + kDigestMark.size()));
  for (char& digit : digest) {
    if (digit >= 'A' && digit <= 'F') digit = static_cast<char>(digit - 'A' + 'a');
  }
  if (!is_sha256(digest)) {
    return base::fail(
        base::Errc::kInvalidArgument,
        "#sha256= must be followed by 64 hexadecimal digits, as sha256sum prints them");
  }
  return DigestedSource{std::string(source.substr(0, at)), std::move(digest)};
}

}  // namespace robustrun::bootstrap
