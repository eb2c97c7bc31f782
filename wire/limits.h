#pragma once
// Every bound of the wire room (style.md, "Bounded").

#include <chrono>
#include <cstddef>

namespace robustrun::wire {

inline constexpr std::size_t kFrameBytesMax = std::size_t{1} << 20;     // one frame's payload
inline constexpr std::size_t kMessageBytesMax = std::size_t{16} << 20;  // frames of one message
inline constexpr int kNestingMax = 8;
inline constexpr std::size_t kFieldsMax = std::size_t{1} << 20;         // fields in one message
// What a channel asks the kernel for in one read, and how much it reads before others get a turn.
inline constexpr std::size_t kReadBytes = std::size_t{256} << 10;
inline constexpr std::size_t kReadTurnBytes = std::size_t{1} << 20;
// Bulk senders pause above the first and go on below the second.
inline constexpr std::size_t kCongestedBytes = std::size_t{1} << 20;
inline constexpr std::size_t kDrainedBytes = kCongestedBytes / 2;
// What an idle channel keeps of a grown send buffer.
inline constexpr std::size_t kIdleBufferBytes = std::size_t{64} << 10;
// A send queue above this closes the channel: the peer is not reading.
inline constexpr std::size_t kSendQueueBytesMax = std::size_t{64} << 20;
// How long close() goes on writing what was queued.
inline constexpr std::chrono::milliseconds kCloseLinger{1000};

}  // namespace robustrun::wire
