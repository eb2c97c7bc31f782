#pragma once
// Reads the part of JSON that a safetensors header needs: strings, unsigned integers and single
// characters, one after the other. From the first error on, ok() is false. Pure.

#include <cstdint>
#include <string>
#include <string_view>

namespace robustrun::checkpoint {

class JsonScan {
 public:
  explicit JsonScan(std::string_view text) : left_(text) {}

  // Skips spaces. If `wanted` comes next, consumes it and returns true.
  bool accept(char wanted);
  void expect(char wanted) { ok_ = accept(wanted) && ok_; }
  // Reads a string and decodes its escapes to UTF-8. An escape that encodes no character is an
  // error, and so is a value longer than `bytes_max`.
  std::string string(std::size_t bytes_max);
  std::uint64_t number();  // no sign, fraction or exponent
  // Whether there was no error and only spaces are left.
  [[nodiscard]] bool ended();
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  void pass_spaces();
  void escape(std::string& value);
  std::uint32_t four_hex();

  std::string_view left_;
  bool ok_ = true;
};

}  // namespace robustrun::checkpoint
