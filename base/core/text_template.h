#pragma once
// Python's string.Template(text).safe_substitute(…): torchrun's line prefixes and arguments.
//
// $name and ${name} become their value, $$ becomes $, everything else stays as it is. Names are
// ASCII identifiers. Pure.

#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace robustrun::base {

using TemplateValue = std::pair<std::string_view, std::string_view>;  // name, value

std::string substitute(std::string_view text, std::span<const TemplateValue> values);

}  // namespace robustrun::base
