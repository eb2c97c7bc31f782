#pragma once
// Ages and sizes in words, for tables. Pure.

#include <cstdint>
#include <string>

namespace robustrun::cli {

// "50 s", "90 min", "3 h", "14 d"; a negative age counts as 0.
[[nodiscard]] std::string age_in_words(std::int64_t seconds);

// "12 KiB", "3 MiB", rounded up.
[[nodiscard]] std::string bytes_in_words(std::uint64_t bytes);

}  // namespace robustrun::cli
