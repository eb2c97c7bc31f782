#pragma once
// Every bound of the wire room (style.md, "Bounded").

#include <cstddef>

namespace robustrun::wire {

inline constexpr std::size_t kFrameBytesMax = std::size_t{1} << 20;     // one frame's payload
inline constexpr std::size_t kMessageBytesMax = std::size_t{16} << 20;  // frames of one message
inline constexpr int kNestingMax = 8;
inline constexpr std::size_t kFieldsMax = std::size_t{1} << 20;         // fields in one message
// A send queue above this closes the channel: the peer is not reading.
inline constexpr std::size_t kSendQueueBytesMax = std::size_t{64} << 20;

}  // namespace robustrun::wire
