#pragma once
// Every bound of the tracer room (style.md, "Bounded").

namespace robustrun::tracer {

// Tries to read a record between two writes of its worker, without waiting in between.
inline constexpr int kReadAttemptsMax = 3;

}  // namespace robustrun::tracer
