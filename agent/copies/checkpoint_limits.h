#pragma once
// Bounds of what workers may say of their checkpoints.

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace robustrun::agent {

// checkpoint_notes: of one worker.
inline constexpr std::chrono::seconds kCheckpointNoteInterval{5};
inline constexpr std::size_t kLoadsAtOnceMax = 16;
inline constexpr std::size_t kBlockingSamplesMax = 256;
inline constexpr std::chrono::nanoseconds kBlockingSumMax{std::int64_t{1} << 61};
// checkpoint_demotion: orders that wait for a directory that hangs.
inline constexpr std::size_t kDemotionsMax = 4;

}  // namespace robustrun::agent
