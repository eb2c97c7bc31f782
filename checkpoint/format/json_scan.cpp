#include "checkpoint/format/json_scan.h"

#include <charconv>

namespace robustrun::checkpoint {
namespace {

void put_utf8(std::uint32_t code, std::string& out) {
  const auto put = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0U | code >> 6U);
    put(0x80U | (code & 0x3FU));
  } else if (code < 0x10000) {
    put(0xE0U | code >> 12U);
    put(0x80U | (code >> 6U & 0x3FU));
    put(0x80U | (code & 0x3FU));
  } else {
    put(0xF0U | code >> 18U);
    put(0x80U | (code >> 12U & 0x3FU));
    put(0x80U | (code >> 6U & 0x3FU));
    put(0x80U | (code & 0x3FU));
  }
}

}  // namespace

void JsonScan::pass_spaces() {
  const auto first = left_.find_first_not_of(" \t\r\n");
  left_.remove_prefix(first == std::string_view::npos ? left_.size() : first);
}

bool JsonScan::ended() {
  pass_spaces();
  return ok_ && left_.empty();
}

bool JsonScan::accept(char wanted) {
  pass_spaces();
  if (!ok_ || left_.empty() || left_.front() != wanted) return false;
  left_.remove_prefix(1);
  return true;
}

std::uint32_t JsonScan::four_hex() {
  std::uint32_t value = 0;
  const char* const end = left_.data() + (left_.size() < 4 ? left_.size() : 4);
  const auto parsed = std::from_chars(left_.data(), end, value, 16);
  if (parsed.ec != std::errc{} || parsed.ptr != left_.data() + 4) {
    ok_ = false;
    return 0;
  }
  left_.remove_prefix(4);
  return value;
}

void JsonScan::escape(std::string& value) {
  if (left_.empty()) {
    ok_ = false;
    return;
  }
  const char kind = left_.front();
  left_.remove_prefix(1);
  constexpr std::string_view kFrom = "\"\\/bfnrt";
  constexpr std::string_view kTo = "\"\\/\b\f\n\r\t";
  if (const auto simple = kFrom.find(kind); simple != std::string_view::npos) {
    value.push_back(kTo[simple]);
    return;
  }
  std::uint32_t code = kind == 'u' ? four_hex() : 0xDC00;
  if (code >= 0xD800 && code < 0xDC00) {  // the first half of a pair
    const bool second = left_.starts_with("\\u");
    if (second) left_.remove_prefix(2);
    const std::uint32_t low = second ? four_hex() : 0;
    if (low < 0xDC00 || low > 0xDFFF) ok_ = false;
    code = 0x10000 + ((code - 0xD800) << 10U) + (low & 0x3FFU);
  } else if (code >= 0xDC00 && code <= 0xDFFF) {
    ok_ = false;
  }
  if (ok_) put_utf8(code, value);
}

std::string JsonScan::string(std::size_t bytes_max) {
  std::string value;
  expect('"');
  while (ok_) {
    if (left_.empty() || value.size() > bytes_max) {
      ok_ = false;
      break;
    }
    const char next = left_.front();
    left_.remove_prefix(1);
    if (next == '"') break;
    if (static_cast<unsigned char>(next) < ' ') ok_ = false;
    if (next == '\\') {
      escape(value);
    } else {
      value.push_back(next);
    }
  }
  return value;
}

std::uint64_t JsonScan::number() {
  pass_spaces();
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(left_.data(), left_.data() + left_.size(), value);
  if (parsed.ec != std::errc{}) {
    ok_ = false;
    return 0;
  }
  const auto digits = static_cast<std::size_t>(parsed.ptr - left_.data());
  if (digits > 1 && left_.front() == '0') ok_ = false;
  left_.remove_prefix(digits);
  return value;
}

}  // namespace robustrun::checkpoint
