#include "supervisor/core/fault/failure_signature.h"

#include <algorithm>
#include <ranges>

#include "base/core/text.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {
namespace {

constexpr std::size_t kHexWordMin = 8;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Length of the number or address that `text` begins with; 0: none.
std::size_t number_length(std::string_view text) {
  if (text.size() > 2 && text[0] == '0' && lower(text[1]) == 'x' && is_hex(text[2])) {
    return 2 + static_cast<std::size_t>(std::ranges::find_if_not(text.substr(2), is_hex) -
                                        text.substr(2).begin());
  }
  const auto hex = static_cast<std::size_t>(std::ranges::find_if_not(text, is_hex) - text.begin());
  if (hex >= kHexWordMin && std::ranges::any_of(text.substr(0, hex), is_digit)) return hex;
  return static_cast<std::size_t>(std::ranges::find_if_not(text, is_digit) - text.begin());
}

bool contains_ignoring_case(std::string_view text, std::string_view lower_case) {
  return !std::ranges::search(text, lower_case, {}, lower).empty();
}

bool names_address_in_use(std::string_view text) {
  return contains_ignoring_case(text, "eaddrinuse") ||
         contains_ignoring_case(text, "address already in use");
}

std::string_view last_words(const WorkerExited& exited) {
  if (!base::trim(exited.error_message).empty()) return base::trim(exited.error_message);
  for (const std::string& line : exited.stderr_tail | std::views::reverse) {
    if (!base::trim(line).empty()) return base::trim(line);
  }
  return {};
}

}  // namespace

std::string without_numbers(std::string_view text) {
  text = text.substr(0, text.find('\n'));
  std::string out;
  while (!text.empty() && out.size() < kSignatureBytesMax) {
    std::size_t length = number_length(text);
    if (length > 0) {
      if (out.empty() || out.back() != '#') out += '#';
    } else if (is_space(text.front())) {
      length = 1;
      if (!out.empty() && out.back() != ' ') out += ' ';
    } else {
      length = 1;
      out += text.front();
    }
    text.remove_prefix(length);
  }
  return out;
}

std::string failure_signature(const WorkerExited& exited) {
  return base::describe({exited.kind, exited.code, false}) + ": " +
         without_numbers(last_words(exited));
}

std::string failure_signature(const WorkerStartFailed& failed) {
  return "cannot start, error " + std::to_string(failed.os_errno);
}

bool says_address_in_use(const WorkerExited& exited) {
  return names_address_in_use(exited.error_message) ||
         names_address_in_use(exited.error_callstack) ||
         std::ranges::any_of(exited.stderr_tail, names_address_in_use);
}

}  // namespace robustrun::supervisor
