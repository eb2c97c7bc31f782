#include "supervisor/core/report/inert.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>

#include "supervisor/core/report/page.h"

namespace robustrun::supervisor {
namespace {

bool is_inner_byte(char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U; }

}  // namespace

std::string inert_text(std::string_view text, std::size_t bytes_max) {
  std::size_t end = text.size();
  if (end > bytes_max) {
    end = bytes_max;
    while (end > 0 && is_inner_byte(text[end])) --end;
  }
  std::string out = plain_line(text.substr(0, end));
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
