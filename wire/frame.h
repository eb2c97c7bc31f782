#pragma once
// Messages to frames and back: pure, no I/O.
//
// A frame is  u32 payload length | u8 kind | u8 flags | u16 reserved (0) | payload,  little
// endian, payload at most kFrameBytesMax. A message larger than that is cut into frames of the
// same kind, all but the last with kFlagMore. Written out in docs/formats/wire.md.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "wire/messages.h"

namespace robustrun::wire {

inline constexpr std::size_t kFrameHeaderBytes = 8;
inline constexpr std::uint8_t kFlagMore = 1;

// Appends the frames of `message` to `out`. kLimit when it exceeds kMessageBytesMax.
base::Status append_frames(const Message& message, std::string& out);

// Takes bytes as they arrive and gives back whole messages, in order.
class FrameReader {
 public:
  void feed(std::string_view bytes);
  // The next whole message; nullopt when more bytes are needed; an error (kProtocol, kCorrupt,
  // kLimit) ends the connection: after it the reader must not be used again.
  [[nodiscard]] base::Result<std::optional<Message>> next();

 private:
  std::string buffer_;
  std::size_t consumed_ = 0;
  std::string assembled_;           // payload of a message whose last frame is not here yet
  std::optional<std::uint8_t> kind_;  // of that message
};

}  // namespace robustrun::wire
