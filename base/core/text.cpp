#include "base/core/text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace robustrun::base {
namespace {

// Longer words are not typing mistakes, and the distance takes quadratic time.
constexpr std::size_t kNearestWordMax = 64;

std::uint8_t byte_at(std::string_view bytes, std::size_t i) {
  return static_cast<std::uint8_t>(bytes[i]);
}

// Length of the UTF-8 character that `bytes` begins with (RFC 3629: no overlong forms, no
// surrogates, at most U+10FFFF); 0 when `bytes` begins with no such character.
std::size_t character_length(std::string_view bytes) {
  const std::uint8_t lead = byte_at(bytes, 0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || bytes.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte_at(bytes, i) & 0xC0) != 0x80) return 0;
  }
  const std::uint8_t second = byte_at(bytes, 1);
  const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool outside = (lead == 0xED && second > 0x9F) || (lead == 0xF4 && second > 0x8F);
  return overlong || outside ? 0 : length;
}

// A whole UTF-8 character.
std::uint32_t code_point(std::string_view character) {
  const std::uint32_t lead = byte_at(character, 0);
  std::uint32_t code = character.size() == 1 ? lead : lead & (0x7FU >> character.size());
  for (std::size_t i = 1; i < character.size(); ++i)
    code = code << 6 | (byte_at(character, i) & 0x3F);
  return code;
}

// C0, DEL, and the C1 controls U+0080 to U+009F, which terminals obey too; marks that change the
// direction of text, and separators of lines, so that what is shown is in the order of the bytes.
bool is_control(std::string_view character) {
  const std::uint32_t code = code_point(character);
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x061C || code == 0x200E ||
         code == 0x200F || (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

void append_hex(std::string& out, std::string_view prefix, std::uint8_t byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += prefix;
  out += kDigits[byte >> 4];
  out += kDigits[byte & 15];
}

void append_json_character(std::string& out, std::string_view character) {
  const char first = character[0];
  if (first == '"' || first == '\\') {
    out += '\\';
    out += first;
  } else if (first == '\n') {
    out += "\\n";
  } else if (first == '\t') {
    out += "\\t";
  } else if (is_control(character)) {
    const std::uint32_t code = code_point(character);
    append_hex(out, "\\u", static_cast<std::uint8_t>(code >> 8));
    append_hex(out, "", static_cast<std::uint8_t>(code & 0xFF));
  } else {
    out += character;
  }
}

// Number of edits (insert, delete, replace, swap neighbours) from `a` to `b`.
std::size_t distance(std::string_view a, std::string_view b) {
  std::array<std::size_t, kNearestWordMax + 1> before{};
  std::array<std::size_t, kNearestWordMax + 1> above{};
  std::array<std::size_t, kNearestWordMax + 1> row{};
  std::iota(above.begin(), above.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before = above;
    above = row;
  }
  return above[b.size()];
}

}  // namespace

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  while (true) {
    const std::size_t at = text.find(separator);
    pieces.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return pieces;
    text.remove_prefix(at + 1);
  }
}

std::string join(std::span<const std::string> pieces, std::string_view separator) {
  std::string out;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (i > 0) out += separator;
    out += pieces[i];
  }
  return out;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n\v\f";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

bool natural_less(std::string_view a, std::string_view b) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (!is_digit(a[i]) || !is_digit(b[j])) {
      if (a[i] != b[j]) return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
      ++i;
      ++j;
      continue;
    }
    const auto number = [&](std::string_view text, std::size_t& at) {
      while (at < text.size() && text[at] == '0') ++at;
      const std::size_t start = at;
      while (at < text.size() && is_digit(text[at])) ++at;
      return text.substr(start, at - start);
    };
    const std::string_view one = number(a, i);
    const std::string_view two = number(b, j);
    if (one.size() != two.size()) return one.size() < two.size();
    if (one != two) return one < two;
  }
  if ((i == a.size()) != (j == b.size())) return i == a.size();
  return a < b;
}

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  if (word.size() > kNearestWordMax) return {};
  std::string best;
  std::size_t best_distance = SIZE_MAX;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kNearestWordMax) continue;
    const std::size_t longer = std::max(word.size(), candidate.size());
    const std::size_t edits = distance(word, candidate);
    if (edits * 3 > std::max<std::size_t>(longer, 3) || edits >= longer) continue;
    if (edits < best_distance) {
      best_distance = edits;
      best = candidate;
    }
  }
  return best;
}

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 15U];
  }
  return out;
}

std::string printable(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t length = character_length(bytes);
    const std::string_view character = bytes.substr(0, std::max<std::size_t>(length, 1));
    if (length > 0 && !is_control(character)) {
      out += character;
    } else {
      for (const char c : character) append_hex(out, "\\x", static_cast<std::uint8_t>(c));
    }
    bytes.remove_prefix(character.size());
  }
  return out;
}

std::string json_string(std::string_view bytes) {
  std::string out = "\"";
  out.reserve(bytes.size() + 2);
  while (!bytes.empty()) {
    const std::size_t length = character_length(bytes);
    if (length == 0) {
      append_hex(out, "\\\\x", byte_at(bytes, 0));
      bytes.remove_prefix(1);
    } else {
      append_json_character(out, bytes.substr(0, length));
      bytes.remove_prefix(length);
    }
  }
  out += '"';
  return out;
}

std::string json_strings(std::span<const std::string> texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ",") + json_string(text);
  return "[" + list + "]";
}

}  // namespace robustrun::base
