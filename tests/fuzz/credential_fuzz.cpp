// One line as an agent reads it from its standard input: refused, or written and read again the
// same.

#include <cstdint>
#include <string>
#include <string_view>

#include "wire/tls/credential.h"

using robustrun::wire::parse_credential;
using robustrun::wire::to_line;

namespace {

void check(std::string_view line) {
  const auto credential = parse_credential(line);
  if (!credential) return;
  const std::string again = to_line(*credential);
  const auto same = parse_credential(again);
  // Writing unknown defaults out may make a line that was short too long.
  RR_ASSERT(same ? to_line(*same) == again : same.error().code == robustrun::base::Errc::kLimit);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check(text);
  check("robustrun-credential-1 " + text);
  return 0;
}
