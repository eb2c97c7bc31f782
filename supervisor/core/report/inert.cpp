#include "supervisor/core/report/inert.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>

#include "supervisor/core/report/page.h"

namespace robustrun::supervisor {
namespace {

// U+061C, U+200E, U+200F, U+202A to U+202E, U+2028, U+2029, U+2066 to U+2069. 0: no such mark
// begins at `at`.
std::uint32_t direction_mark(std::string_view text, std::size_t at) {
  if (text.substr(at, 2) == "\xd8\x9c") return 0x061c;
  if (text.size() - at < 3 || text[at] != '\xe2') return 0;
  const auto second = static_cast<unsigned char>(text[at + 1]);
  const auto third = static_cast<unsigned char>(text[at + 2]);
  const std::uint32_t mark = 0x2000U | ((second & 0x3fU) << 6U) | (third & 0x3fU);
  if (second == 0x80 && (mark == 0x200e || mark == 0x200f)) return mark;
  if (second == 0x80 && mark >= 0x2028 && mark <= 0x202e) return mark;
  return second == 0x81 && mark >= 0x2066 && mark <= 0x2069 ? mark : 0;
}

std::string without_direction_marks(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::uint32_t mark = direction_mark(text, i);
    if (mark == 0) {
      out += text[i];
      continue;
    }
    out += fmt::format("\\u{:04x}", mark);
    i += mark == 0x061c ? 1 : 2;
  }
  return out;
}

bool is_inner_byte(char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U; }

}  // namespace

std::string inert_text(std::string_view text, std::size_t bytes_max) {
  std::size_t end = text.size();
  if (end > bytes_max) {
    end = bytes_max;
    while (end > 0 && is_inner_byte(text[end])) --end;
  }
  std::string out = without_direction_marks(plain_line(text.substr(0, end)));
  if (end < text.size()) out += fmt::format(" … ({} more bytes)", text.size() - end);
  return out;
}

std::string with_escapes(std::string_view text, std::initializer_list<Escape> escapes) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto* const escape = std::ranges::find(escapes, c, &Escape::character);
    if (escape == escapes.end()) {
      out += c;
    } else {
      out += escape->becomes;
    }
  }
  return out;
}

std::string html_text(std::string_view text) {
  return with_escapes(
      text, {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}});
}

std::string script_json(std::string_view json) {
  return with_escapes(json, {{'&', "\\u0026"}, {'<', "\\u003c"}, {'>', "\\u003e"}});
}

}  // namespace robustrun::supervisor
