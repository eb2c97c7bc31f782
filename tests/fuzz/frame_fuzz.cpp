// A peer's bytes, cut into pieces, through the frame reader: whole messages or an error, and what
// was read is written and read again the same.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "wire/messages/frame.h"

using robustrun::wire::append_frames;
using robustrun::wire::FrameReader;
using robustrun::wire::Message;

namespace {

void check_round_trip(const Message& message) {
  std::string bytes;
  RR_ASSERT(append_frames(message, bytes));
  FrameReader reader;
  reader.feed(bytes);
  const auto again = reader.next();
  RR_ASSERT(again && *again && (*again)->index() == message.index());
  std::string same;
  RR_ASSERT(append_frames(**again, same));
  RR_ASSERT(same == bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.empty()) return 0;
  const std::size_t piece = static_cast<std::uint8_t>(input[0]) + std::size_t{1};
  input.remove_prefix(1);
  FrameReader reader;
  while (!input.empty()) {
    reader.feed(input.substr(0, piece));
    input.remove_prefix(std::min(piece, input.size()));
    while (true) {
      const auto message = reader.next();
      if (!message) return 0;
      if (!*message) break;
      check_round_trip(**message);
    }
    reader.release_if_empty();
  }
  return 0;
}
