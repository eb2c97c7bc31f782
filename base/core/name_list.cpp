#include "base/core/name_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <iterator>

#include "base/core/text.h"

namespace robustrun::base {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::unexpected<Error> too_many(std::size_t at, const NameListRules& rules) {
  return fail(Errc::kLimit,
              fmt::format("at character {}: more than {} {}", at + 1, rules.names_max, rules.many));
}

// Expands "01-16" to 01, 02 … 16.
Status add_range(const ListPiece& choice, std::size_t dash, const NameListRules& rules,
                 std::vector<std::string>& words) {
  const std::string_view first = choice.text.substr(0, dash);
  const std::string_view last = choice.text.substr(dash + 1);
  const bool numbers = !first.empty() && !last.empty() && std::ranges::all_of(first, is_digit) &&
                       std::ranges::all_of(last, is_digit);
  if (!numbers) {
    return wrong_in_list(choice.at,
                         fmt::format("'{}' is not a range of numbers; write [1-8] or [a,b]",
                                     printable(choice.text)));
  }
  if (std::max(first.size(), last.size()) > kRangeDigitsMax) {
    return wrong_in_list(choice.at,
                         fmt::format("a number has more than {} digits", kRangeDigitsMax));
  }
  if (last.starts_with('0') && last.size() > 1 && last.size() != first.size()) {
    return wrong_in_list(
        choice.at, fmt::format("the ends of the range {} have different widths", choice.text));
  }
  const std::uint64_t low = *parse_int<std::uint64_t>(first);
  const std::uint64_t high = *parse_int<std::uint64_t>(last);
  if (low > high) {
    return wrong_in_list(choice.at, fmt::format("the range {} runs backwards", choice.text));
  }
  if (high - low + 1 > rules.names_max - words.size()) return too_many(choice.at, rules);
  const std::size_t width = first.starts_with('0') ? first.size() : 0;
  for (std::uint64_t number = low; number <= high; ++number) {
    words.push_back(fmt::format("{:0{}}", number, width));
  }
  return {};
}

Result<std::vector<std::string>> parse_group(const ListPiece& group, const NameListRules& rules) {
  std::vector<std::string> words;
  std::size_t at = 0;
  for (const std::string_view text : split(group.text, ',')) {
    const ListPiece choice{text, group.at + at};
    at += text.size() + 1;
    const auto dash = text.find('-');
    if (dash != std::string_view::npos) {
      RR_TRY(add_range(choice, dash, rules, words));
      continue;
    }
    if (text.empty()) {
      return wrong_in_list(choice.at, "there is nothing between the brackets or commas");
    }
    if (!std::ranges::all_of(text, is_listed_name_character)) {
      return wrong_in_list(choice.at,
                           fmt::format("'{}' cannot be part of a {}", printable(text), rules.one));
    }
    if (words.size() >= rules.names_max) return too_many(choice.at, rules);
    words.emplace_back(text);
  }
  return words;
}

// Appends each of `words` to each of `names`.
Status multiply(std::vector<std::string>& names, const std::vector<std::string>& words,
                std::size_t at, const NameListRules& rules) {
  if (words.size() > rules.names_max / names.size()) return too_many(at, rules);
  std::vector<std::string> products;
  products.reserve(names.size() * words.size());
  for (const std::string& name : names) {
    for (const std::string& word : words) {
      if (name.size() + word.size() > kListedNameBytesMax) {
        return wrong_in_list(
            at, fmt::format("a {} is longer than {} characters", rules.one, kListedNameBytesMax));
      }
      products.push_back(name + word);
    }
  }
  names = std::move(products);
  return {};
}

}  // namespace

std::unexpected<Error> wrong_in_list(std::size_t at, const std::string& what) {
  return fail(Errc::kInvalidArgument, fmt::format("at character {}: {}", at + 1, what));
}

bool is_listed_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
}

Result<std::vector<std::string>> expand_name(ListPiece item, const NameListRules& rules) {
  const std::size_t start = item.at;
  std::vector<std::string> names = {""};
  for (std::size_t groups = 0; !item.text.empty();) {
    if (item.text.front() == '[') {
      if (++groups > kBracketGroupsMax) {
        return wrong_in_list(
            item.at, fmt::format("a name has more than {} pairs of brackets", kBracketGroupsMax));
      }
      const auto close = item.text.find(']');
      if (close == std::string_view::npos) {
        return wrong_in_list(item.at, "the bracket is not closed");
      }
      const auto words = RR_TRY(parse_group(item.until(close).from(1), rules));
      RR_TRY(multiply(names, words, item.at, rules));
      item = item.from(close + 1);
      continue;
    }
    const std::size_t size = std::min(item.text.find('['), item.text.size());
    const std::string literal(item.text.substr(0, size));
    const auto bad = std::ranges::find_if_not(literal, is_listed_name_character);
    if (bad != literal.end()) {
      return wrong_in_list(
          item.at + static_cast<std::size_t>(bad - literal.begin()),
          fmt::format("no {} has the character '{}'", rules.one, printable(std::string(1, *bad))));
    }
    RR_TRY(multiply(names, {literal}, item.at, rules));
    item = item.from(size);
  }
  if (names.front().empty()) return wrong_in_list(start, fmt::format("a {} is missing", rules.one));
  return names;
}

std::size_t list_item_size(std::string_view text) {
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') inside = true;
    if (text[i] == ']') inside = false;
    if (!inside && (text[i] == ',' || is_blank(text[i]))) return i;
  }
  return text.size();
}

Result<std::vector<std::string>> expand_names(std::string_view list, const NameListRules& rules) {
  std::vector<std::string> names;
  for (ListPiece rest{list};;) {
    const std::size_t size = list_item_size(rest.text);
    auto more = RR_TRY(expand_name(rest.until(size), rules));
    if (more.size() > rules.names_max - names.size()) return too_many(rest.at, rules);
    names.insert(names.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
    rest = rest.from(size);
    if (rest.text.empty()) return names;
    if (!rest.text.starts_with(',')) {
      return wrong_in_list(rest.at, "names are separated by commas without blanks");
    }
    rest = rest.from(1);
  }
}

}  // namespace robustrun::base
