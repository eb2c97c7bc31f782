#pragma once
// Writes and reads little-endian fields. A reader never goes beyond its bytes: from the first field
// that is cut short, every read returns zero or an empty text, and ok() is false. So a decoder
// needs only one check per record.

#include <array>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace robustrun::checkpoint {

class ByteWriter {
 public:
  template <std::unsigned_integral T>
  void number(T value) {
    std::array<char, sizeof(T)> field;  // one append per number: manifests have millions of them
    for (char& byte : field) {
      byte = static_cast<char>(value & 0xFFU);
      if constexpr (sizeof(T) > 1) value = static_cast<T>(value >> 8U);
    }
    bytes_.append(field.data(), field.size());
  }
  void raw(std::string_view bytes) { bytes_.append(bytes); }
  // Writes a u32 length, then the bytes.
  void text(std::string_view bytes) {
    number(static_cast<std::uint32_t>(bytes.size()));
    raw(bytes);
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : left_(bytes) {}

  template <std::unsigned_integral T>
  T number() {
    const std::string_view field = raw(sizeof(T));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < field.size(); ++i) {
      value |= std::uint64_t{static_cast<unsigned char>(field[i])} << (8 * i);
    }
    return static_cast<T>(value);
  }
  std::string_view raw(std::uint64_t size) {
    if (!ok_ || size > left_.size()) {
      ok_ = false;
      return {};
    }
    const std::string_view field = left_.substr(0, size);
    left_.remove_prefix(size);
    return field;
  }
  // Reads what ByteWriter::text() wrote. Makes ok() false if it is longer than `bytes_max`.
  std::string text(std::size_t bytes_max) {
    const auto size = number<std::uint32_t>();
    if (size > bytes_max) ok_ = false;
    return std::string(raw(size));
  }
  // Reads a u32 count of records of at least `record_bytes` each. Returns 0 and makes ok() false if
  // the count exceeds `max` or the remaining bytes cannot hold that many records. So a caller may
  // allocate memory for all of them.
  std::size_t count(std::size_t max, std::size_t record_bytes) {
    const auto value = number<std::uint32_t>();
    if (value > max || value > left_.size() / record_bytes) ok_ = false;
    return ok_ ? value : 0;
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool ended() const { return ok_ && left_.empty(); }

 private:
  std::string_view left_;
  bool ok_ = true;
};

}  // namespace robustrun::checkpoint
