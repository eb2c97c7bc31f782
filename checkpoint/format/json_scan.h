#pragma once
// The part of JSON that a safetensors header needs: strings, unsigned integers and single
// characters, read one after the other. Strict: after the first error, ok() is false. There is no
// recursion, because the header has a fixed depth. Pure.

#include <cstdint>
#include <string>
#include <string_view>

namespace robustrun::checkpoint {

class JsonScan {
 public:
  explicit JsonScan(std::string_view text) : left_(text) {}

  // Skips spaces; consumes `wanted` and returns true if it comes next.
  bool accept(char wanted);
  void expect(char wanted) { ok_ = accept(wanted) && ok_; }
  // The value of a string in UTF-8. Escapes that encode no character are errors.
  std::string string(std::size_t bytes_max);
  std::uint64_t number();  // no sign, fraction or exponent
  // Only spaces are left.
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
