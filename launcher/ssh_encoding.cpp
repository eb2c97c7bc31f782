#include "launcher/ssh_encoding.h"

namespace robustrun::launcher {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::uint32_t byte_at(std::string_view bytes, std::size_t at) {
  return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0U;
}

}  // namespace

std::string encode_base64(std::string_view bytes, bool padded) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::uint32_t group =
        byte_at(bytes, at) << 16U | byte_at(bytes, at + 1) << 8U | byte_at(bytes, at + 2);
    const std::size_t left = bytes.size() - at;
    for (std::size_t i = 0; i < 4; ++i) {
      if (i <= left) {
        out += kAlphabet[group >> (18 - 6 * i) & 63U];
      } else if (padded) {
        out += '=';
      }
    }
  }
  return out;
}

std::optional<std::string> decode_base64(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::string out;
  std::uint32_t bits = 0;
  unsigned held = 0;
  for (const char c : text) {
    const std::size_t value = kAlphabet.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    bits = bits << 6U | static_cast<std::uint32_t>(value);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    out += static_cast<char>(bits >> held & 255U);
  }
  return out;
}

std::string fingerprint_text(std::string_view hash) {
  return "SHA256:" + encode_base64(hash, false);
}

void put_u32(std::string& out, std::uint32_t value) {
  for (const unsigned shift : {24U, 16U, 8U, 0U}) out += static_cast<char>(value >> shift & 255U);
}

void put_u64(std::string& out, std::uint64_t value) {
  put_u32(out, static_cast<std::uint32_t>(value >> 32U));
  put_u32(out, static_cast<std::uint32_t>(value));
}

void put_text(std::string& out, std::string_view text) {
  put_u32(out, static_cast<std::uint32_t>(text.size()));
  out += text;
}

std::optional<std::string_view> SshReader::take(std::size_t size) {
  if (failed_ || size > rest_.size()) {
    failed_ = true;
    return std::nullopt;
  }
  const std::string_view taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return taken;
}

std::optional<std::uint8_t> SshReader::u8() {
  const auto bytes = take(1);
  if (!bytes) return std::nullopt;
  return static_cast<std::uint8_t>((*bytes)[0]);
}

std::optional<std::uint32_t> SshReader::u32() {
  const auto bytes = take(4);
  if (!bytes) return std::nullopt;
  return byte_at(*bytes, 0) << 24U | byte_at(*bytes, 1) << 16U | byte_at(*bytes, 2) << 8U |
         byte_at(*bytes, 3);
}

std::optional<std::string_view> SshReader::text() {
  const auto size = u32();
  return size ? take(*size) : std::nullopt;
}

}  // namespace robustrun::launcher
