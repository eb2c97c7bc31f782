#include "base/core/text_template.h"

#include <algorithm>

namespace robustrun::base {
namespace {

bool starts_name(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::string_view leading_name(std::string_view text) {
  if (text.empty() || !starts_name(text.front())) return {};
  std::size_t size = 1;
  while (size < text.size() &&
         (starts_name(text[size]) || (text[size] >= '0' && text[size] <= '9'))) {
    ++size;
  }
  return text.substr(0, size);
}

}  // namespace

std::string substitute(std::string_view text, std::span<const TemplateValue> values) {
  std::string out;
  while (true) {
    const std::size_t dollar = text.find('$');
    out.append(text.substr(0, dollar));
    if (dollar == std::string_view::npos) return out;
    text.remove_prefix(dollar);
    if (text.starts_with("$$")) {
      out += '$';
      text.remove_prefix(2);
      continue;
    }
    const bool braced = text.starts_with("${");
    const std::string_view name = leading_name(text.substr(braced ? 2 : 1));
    const std::size_t size = name.size() + (braced ? 3 : 1);
    const bool closed = !braced || (text.size() >= size && text[size - 1] == '}');
    const auto found = std::ranges::find_if(
        values, [&](const TemplateValue& value) { return value.first == name; });
    if (name.empty() || !closed || found == values.end()) {
      out += '$';
      text.remove_prefix(1);
      continue;
    }
    out.append(found->second);
    text.remove_prefix(size);
  }
}

}  // namespace robustrun::base
