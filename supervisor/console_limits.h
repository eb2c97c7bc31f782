#pragma once
// Every bound of the console (style.md, "Bounded").

#include <chrono>
#include <cstddef>

namespace robustrun::supervisor {

inline constexpr std::size_t kConsoleCongestedBytes = std::size_t{1} << 20;  // agents must wait
inline constexpr std::size_t kConsoleQueueBytesMax = std::size_t{4} << 20;   // beyond: dropped
// A terminal or pipe that takes nothing for so long does not hold the workers up any longer.
inline constexpr std::chrono::seconds kConsoleStallMax{5};
inline constexpr std::chrono::seconds kConsoleRetryAfter{1};  // after a write error (full disk)

}  // namespace robustrun::supervisor
