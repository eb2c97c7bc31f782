#pragma once
// Text from workers, hosts and users, made harmless for an HTML page, a trace or another format.
// Pure.

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace robustrun::supervisor {

// One line of valid UTF-8: at most the first `bytes_max` bytes of `text`, and a note of how many
// were cut off. So the result can be longer than `bytes_max`. Terminal colours are removed; control
// characters, bytes that are not UTF-8, and marks that change the direction of text are written as
// escapes (\x1b, \u202e).
[[nodiscard]] std::string inert_text(std::string_view text, std::size_t bytes_max);

struct Escape {
  char character;
  std::string_view becomes;
};
[[nodiscard]] std::string with_escapes(std::string_view text,
                                       std::initializer_list<Escape> escapes);

// For an element's content or a quoted attribute of HTML or XML.
[[nodiscard]] std::string html_text(std::string_view text);

// A JSON document that cannot end the script element around it, nor start a comment there.
[[nodiscard]] std::string script_json(std::string_view json);

}  // namespace robustrun::supervisor
