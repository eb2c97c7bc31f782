#pragma once
// Numbers and times in words, for people. Pure.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/core/clock.h"

namespace robustrun::base {

// "1 step", "3 steps".
[[nodiscard]] std::string counted(std::uint64_t count, std::string_view noun);

// As it was given, to four digits: "1.5 s", "0.25 s", "3600 s"; from 10,000 s on "1.234e+04 s".
[[nodiscard]] std::string in_seconds(Nanos time);
// Of what was measured: "0.4 ms", "12 ms", "2.41 s", "3 min 12 s", "2 h 05 min".
[[nodiscard]] std::string duration_words(Nanos duration);
// The same where the exact value matters little: "950 ms", "4.1 s", "2 min 5 s".
[[nodiscard]] std::string rough_duration_words(Nanos duration);
// As a clock shows it, to the second: "0:06", "6:16:40".
[[nodiscard]] std::string clock_words(Nanos duration);

}  // namespace robustrun::base
