#pragma once
// Small helpers for text from outside and text for people. Pure.
//
// Text here is bytes: input from users and workers need not be UTF-8. printable() and json_string()
// make any bytes safe to show: nothing that a worker wrote can move a terminal's cursor or break a
// JSON document.

#include <charconv>
#include <concepts>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/core/result.h"

namespace robustrun::base {

// At least one piece; empty pieces are kept: split("a,,b", ',') is "a", "", "b".
std::vector<std::string_view> split(std::string_view text, char separator);
std::string join(std::span<const std::string> pieces, std::string_view separator);
// `text` without the white space at both ends.
std::string_view trim(std::string_view text);

// Whether `a` comes before `b` when runs of digits count as numbers: node2 before node10. A total
// order: names that differ only in leading zeros compare by their bytes.
bool natural_less(std::string_view a, std::string_view b);

// The candidate that `word` was most likely meant to be, by restricted Damerau-Levenshtein
// distance: at most a third of the longer word's length; one edit if the longer word has two
// letters. Empty when no candidate is near; of equally near ones the first.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

// Lower-case hex of any bytes.
std::string to_hex(std::string_view bytes);

// Control characters, marks of text direction, separators of lines and bytes that are not UTF-8
// become \xNN; the rest is unchanged.
std::string printable(std::string_view bytes);
// A JSON string with its quotes; bytes that are not UTF-8 become the four characters \xNN.
std::string json_string(std::string_view bytes);
// A JSON array of strings, each as by json_string().
std::string json_strings(std::span<const std::string> texts);

// The whole of `text` as a decimal number within T's range, without spaces or a plus sign.
template <std::integral T>
Result<T> parse_int(std::string_view text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec == std::errc::result_out_of_range) {
    return fail(Errc::kInvalidArgument, "cannot use '" + printable(text) + "': out of range");
  }
  if (parsed.ec != std::errc{} || parsed.ptr != end) {
    return fail(Errc::kInvalidArgument,
                "cannot use '" + printable(text) + "': expected a whole number");
  }
  return value;
}

}  // namespace robustrun::base
