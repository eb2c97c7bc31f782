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

// The keys in what one read() returned. Unknown sequences are skipped; an ESC at the end is the
// key.
[[nodiscard]] std::vector<Key> keys_of(std::string_view bytes);

}  // namespace robustrun::cli
