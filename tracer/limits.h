#pragma once
// Every bound of the tracer room (style.md, "Bounded").

#include <cstdint>

namespace robustrun::tracer {

// Tries to read a record between two writes of its worker, without waiting in between.
inline constexpr int kReadAttemptsMax = 3;

// What a record may claim; beyond that it is nonsense and left out.
inline constexpr std::uint32_t kMembersMax = 1U << 20U;     // of a communicator
inline constexpr std::uint64_t kOrdinalMax = 1ULL << 40U;   // what a signature has room for
inline constexpr std::uint32_t kFlowStepsMax = 1U << 20U;  // what the plugin's handles tell apart
inline constexpr std::uint32_t kChannelsMax = 64;  // MAXCHANNELS of NCCL

}  // namespace robustrun::tracer
