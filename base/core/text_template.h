#pragma once
// As Python's string.Template(text).safe_substitute(…): for torchrun's line prefixes and arguments.
//
// $name and ${name} become the value of a known name, $$ becomes $, everything else stays as it is.
// Names are ASCII identifiers. Pure.

#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace robustrun::base {

using TemplateValue = std::pair<std::string_view, std::string_view>;  // name, value

std::string substitute(std::string_view text, std::span<const TemplateValue> values);

}  // namespace robustrun::base
