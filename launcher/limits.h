#pragma once
// Every bound of the launcher room (style.md, "Bounded").

#include <chrono>

namespace robustrun::launcher {

// Between two looks at what a killed agent left behind.
inline constexpr std::chrono::milliseconds kStraySweepInterval{5};

}  // namespace robustrun::launcher
