#pragma once
// Numbers and times in words, for people. Pure.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/core/clock.h"

namespace robustrun::base {

// "1 step", "3 steps".
[[nodiscard]] std::string counted(std::uint64_t count, std::string_view noun);

// To four digits, above 10,000 s to the second: "1.5 s", "0.25 s", "3600 s", "12345 s".
[[nodiscard]] std::string in_seconds(Nanos time);
// For measured durations: "0.4 ms", "12 ms", "2.41 s", "3 min 12 s", "2 h 05 min".
[[nodiscard]] std::string duration_words(Nanos duration);
// For durations whose exact value matters little: "950 ms", "4.1 s", "2 min 5 s".
[[nodiscard]] std::string rough_duration_words(Nanos duration);
// As a clock shows a duration, to the second: "0:06", "6:16:40".
[[nodiscard]] std::string clock_words(Nanos duration);

}  // namespace robustrun::base
