#include "base/core/wrap.h"

#include <algorithm>
#include <iterator>

#include "base/core/text.h"

namespace robustrun::base {
namespace {

std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) != 0x80U; }));
}

bool is_number(std::string_view word) {
  return !word.empty() && word.back() >= '0' && word.back() <= '9';
}

bool is_unit(std::string_view word) {
  static constexpr std::string_view kUnits[] = {"ms", "s", "min", "h", "%", "kB", "MiB", "GiB"};
  return std::ranges::find(kUnits, word.substr(0, word.find_first_of(",;:.)"))) != std::end(kUnits);
}

}  // namespace

std::vector<std::string> wrap_words(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  std::string_view before;  // the word that ends the last line
  for (const std::string_view word : split(text, ' ')) {
    std::string& line = lines.back();
    if (line.empty()) {
      line = word;
    } else if (code_points(line) + 1 + code_points(word) <= width) {
      line.append(" ").append(word);
    } else if (is_unit(word) && is_number(before) && before.size() < line.size()) {
      line.resize(line.size() - before.size());
      lines.push_back(std::string(before) + " " + std::string(word));
    } else {
      lines.emplace_back(word);
    }
    before = word;
  }
  for (std::string& line : lines) line.resize(line.find_last_not_of(' ') + 1);
  return lines;
}

std::string wrap_indented(std::string_view text, std::size_t width, std::size_t indent) {
  const std::size_t room = width > indent ? width - indent : 1;
  return join(wrap_words(text, room), "\n" + std::string(indent, ' '));
}

}  // namespace robustrun::base
