// Any bytes shown to people: no control character gets through, and JSON stays one string.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/text.h"

using namespace robustrun::base;

namespace {

bool has_control(std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) return true;
  }
  return false;
}

// Quotes only at both ends, or escaped.
bool is_one_string(std::string_view json) {
  std::size_t i = 1;
  while (i + 1 < json.size() && json[i] != '"') i += json[i] == '\\' ? 2 : 1;
  return json.front() == '"' && i + 1 == json.size() && json[i] == '"';
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string shown = printable(input);
  RR_ASSERT(!has_control(shown));
  RR_ASSERT(printable(shown) == shown);
  const std::string json = json_string(input);
  RR_ASSERT(!has_control(json));
  RR_ASSERT(is_one_string(json));
  static_cast<void>(parse_int<int>(input));
  const auto pieces = split(input, ',');
  RR_ASSERT(join(std::vector<std::string>(pieces.begin(), pieces.end()), ",") == input);
  const std::vector<std::string> words = {std::string(input.substr(0, size / 2)), "--nproc"};
  static_cast<void>(nearest(input.substr(size / 2), words));
  return 0;
}
