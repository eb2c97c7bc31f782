#pragma once
// Converts messages to frames and back. Pure.
//
// A frame, little-endian (docs/formats/wire.md):
//   u32 payload length | u8 kind | u8 flags | u16 reserved (0) | payload of at most kFrameBytesMax
// A message with a larger payload is cut into frames of the same kind, all but the last with
// kFlagMore. An unknown kind is a protocol error: both ends agreed on a version in Hello and
// Welcome.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "wire/messages/limits.h"
#include "wire/messages/messages.h"

namespace robustrun::wire {

inline constexpr std::size_t kFrameHeaderBytes = 8;
inline constexpr std::uint8_t kFlagMore = 1;

// Appends the frames of `message` to `out`. kLimit when it exceeds kMessageBytesMax; `out` is then
// unchanged.
base::Status append_frames(const Message& message, std::string& out);

// Takes bytes as they arrive and returns whole messages, in order.
class FrameReader {
 public:
  // From now on, next() refuses messages above `size` bytes (kLimit). Initially kMessageBytesMax.
  void limit_messages(std::size_t size) { message_bytes_max_ = size; }
  // Provides at least `size` bytes at the end of the buffer, for a read(2) into them. The caller
  // then tells commit() how many bytes came. The span is valid until the next call of prepare(),
  // commit(), feed() or release_if_empty().
  [[nodiscard]] std::span<char> prepare(std::size_t size);
  void commit(std::size_t size);
  void feed(std::string_view bytes);

  // The next whole message; nullopt when more bytes are needed. An error (kProtocol, kCorrupt,
  // kLimit) ends the connection: do not use the reader afterwards.
  [[nodiscard]] base::Result<std::optional<Message>> next();

  // Releases the buffer if it is empty.
  void release_if_empty();

 private:
  std::unique_ptr<char[]> buffer_;
  std::size_t message_bytes_max_ = kMessageBytesMax;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;  // unread bytes: [begin_, end_)
  std::size_t end_ = 0;
  std::string assembled_;  // payload of a message whose last frame has not come yet
  std::optional<std::uint8_t> kind_;  // of that message
};

}  // namespace robustrun::wire
