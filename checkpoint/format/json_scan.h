#pragma once
// As much of JSON as the header of a safetensors file needs: strings, whole numbers and single
// characters, one after the other. Strict; the first error ends it (`ok`). No recursion: the header
// has a fixed depth. Pure.

#include <cstdint>
#include <string>
#include <string_view>

namespace robustrun::checkpoint {

class JsonScan {
 public:
  explicit JsonScan(std::string_view text) : left_(text) {}

  // Takes `wanted` if it comes next; spaces before it are passed over.
  bool accept(char wanted);
  void expect(char wanted) { ok_ = accept(wanted) && ok_; }
  // A string's value in UTF-8; escapes that are no characters are errors.
  std::string string(std::size_t bytes_max);
  std::uint64_t number();  // without sign, fraction and exponent
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
