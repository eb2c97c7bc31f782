#include "base/core/name_ranges.h"

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

#include "base/core/name_list.h"
#include "base/core/text.h"

namespace robustrun::base {
namespace {

// "gpu-" "007" ".lan"; a name without a number is all head.
struct Parts {
  std::string_view head, digits, tail;
};

bool is_decimal(char c) { return c >= '0' && c <= '9'; }

Parts parts_of(std::string_view name) {
  std::size_t end = name.size();
  while (end > 0 && !is_decimal(name[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && is_decimal(name[begin - 1]) && end - begin < kRangeDigitsMax) --begin;
  if (begin == end) return {name, {}, {}};
  return {name.substr(0, begin), name.substr(begin, end - begin), name.substr(end)};
}

bool follows(const Parts& before, const Parts& after) {
  if (after.digits.empty() || before.digits.empty()) return false;
  if (before.head != after.head || before.tail != after.tail) return false;
  const auto a = parse_int<std::uint32_t>(before.digits);
  const auto b = parse_int<std::uint32_t>(after.digits);
  if (!a || !b || *b != *a + 1) return false;
  // [9-10] and [09-10] are ranges, [9-010] is not.
  return before.digits.size() == after.digits.size() ||
         (before.digits.front() != '0' && after.digits.front() != '0');
}

}  // namespace

std::string name_ranges(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size();) {
    const Parts first = parts_of(names[i]);
    std::size_t last = i;
    while (last + 1 < names.size() && follows(parts_of(names[last]), parts_of(names[last + 1]))) {
      ++last;
    }
    if (!out.empty()) out += ',';
    out += last == i ? names[i]
                     : fmt::format("{}[{}-{}]{}", first.head, first.digits,
                                   parts_of(names[last]).digits, first.tail);
    i = last + 1;
  }
  return out;
}

}  // namespace robustrun::base
