#include "cli/top/key_decoder.h"

#include <optional>

namespace robustrun::cli {
namespace {

using Kind = Key::Kind;
constexpr char kEsc = '\x1b';

std::optional<Kind> kind_of_final(char final, char parameter) {
  switch (final) {
    case 'A': return Kind::kUp;
    case 'B': return Kind::kDown;
    case 'C': return Kind::kRight;
    case 'D': return Kind::kLeft;
    case 'H': return Kind::kHome;
    case 'F': return Kind::kEnd;
    case '~': break;
    default: return std::nullopt;
  }
  switch (parameter) {
    case '1':
    case '7': return Kind::kHome;
    case '4':
    case '8': return Kind::kEnd;
    case '5': return Kind::kPageUp;
    case '6': return Kind::kPageDown;
    default: return std::nullopt;
  }
}

std::optional<Kind> kind_of_control(char byte) {
  switch (byte) {
    case '\x03': return Kind::kInterrupt;
    case '\x0c': return Kind::kRedraw;
    case '\t': return Kind::kTab;
    case '\r':
    case '\n': return Kind::kEnter;
    case '\x08':
    case '\x7f': return Kind::kBackspace;
    default: return std::nullopt;
  }
}

// Length of the sequence that begins with ESC at the start of `bytes`: at least 2.
std::size_t take_sequence(std::string_view bytes, std::vector<Key>& keys) {
  const char second = bytes[1];
  if (second != '[' && second != 'O') {
    keys.push_back({Kind::kEscape});
    return 1;
  }
  std::size_t end = 2;
  while (end < bytes.size() && bytes[end] >= ' ' && bytes[end] < '@') ++end;
  if (end == bytes.size()) return end;
  if (const auto kind = kind_of_final(bytes[end], end > 2 ? bytes[2] : 0)) keys.push_back({*kind});
  return end + 1;
}

}  // namespace

std::vector<Key> keys_of(std::string_view bytes) {
  std::vector<Key> keys;
  for (std::size_t i = 0; i < bytes.size();) {
    const char byte = bytes[i];
    if (byte == kEsc && i + 1 < bytes.size()) {
      i += take_sequence(bytes.substr(i), keys);
      continue;
    }
    ++i;
    if (byte == kEsc) {
      keys.push_back({Kind::kEscape});
    } else if (const auto kind = kind_of_control(byte)) {
      keys.push_back({*kind});
    } else if (byte >= ' ' && byte < '\x7f') {
      keys.push_back({Kind::kCharacter, byte});
    }
  }
  return keys;
}

}  // namespace robustrun::cli
