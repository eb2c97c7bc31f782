#pragma once
// Keys from a terminal's bytes. Pure.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace robustrun::cli {

struct Key {
  enum class Kind : std::uint8_t {
    kCharacter,
    kUp,
    kDown,
    kLeft,
    kRight,
    kPageUp,
    kPageDown,
    kHome,
    kEnd,
    kEnter,
    kEscape,
    kTab,
    kBackspace,
    kInterrupt,  // Ctrl-C
    kRedraw,  // Ctrl-L
  };
  Kind kind = Kind::kCharacter;
  char character = 0;  // printable ASCII; of kCharacter
};

// The keys in `bytes`, the result of one read(). Unknown escape sequences are skipped; an ESC at
// the end is the Escape key.
[[nodiscard]] std::vector<Key> keys_of(std::string_view bytes);

}  // namespace robustrun::cli
