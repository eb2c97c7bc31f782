#pragma once
// Text in lines of a width. Pure.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace robustrun::base {

// `text` in lines of at most `width` code points, broken at spaces. A longer word stays whole, so
// that a path can be copied. A number stays with its unit.
[[nodiscard]] std::vector<std::string> wrap_words(std::string_view text, std::size_t width);

// wrap_words() of width `width` - `indent`, in one text: `indent` blanks are put before all lines
// but the first. Ends without a newline.
[[nodiscard]] std::string wrap_indented(std::string_view text, std::size_t width,
                                        std::size_t indent);

}  // namespace robustrun::base
