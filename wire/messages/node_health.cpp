#include "wire/messages/node_health.h"

#include "base/core/text.h"

namespace robustrun::wire {

std::string short_text(std::string_view bytes, std::size_t bytes_max) {
  constexpr std::size_t kCharacterBytesMax = 4;
  std::string text = base::printable(bytes.substr(0, bytes_max + kCharacterBytesMax));
  if (text.size() <= bytes_max) return text;
  constexpr unsigned char kContinuation = 0xC0, kContinues = 0x80;
  while (bytes_max > 0 &&
         (static_cast<unsigned char>(text[bytes_max]) & kContinuation) == kContinues) {
    --bytes_max;
  }
  text.resize(bytes_max);
  return text;
}

}  // namespace robustrun::wire
