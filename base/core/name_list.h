#pragma once
// Names as people write them when there are many: "node[01-16,20]", "rack[1-2]-[a,b]". Pure.
//
//   name   = letters, digits, "." "_" "-", with up to kBracketGroupsMax groups of
//            "[" choice *("," choice) "]": all combinations, the last group varies fastest
//   choice = word of letters, digits, "." "_" / number "-" number; leading zeros of the
//            first number are kept: [08-11]
//
// An Error gives the position in the whole text, from 1, and the cause: "at character 5: …".

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace robustrun::base {

inline constexpr std::size_t kListedNameBytesMax = 255;  // a host name's limit by RFC 1035
inline constexpr std::size_t kRangeDigitsMax = 9;        // of one number in brackets
inline constexpr std::size_t kBracketGroupsMax = 8;      // of one name

struct NameListRules {
  std::size_t names_max = 0;        // in one list
  std::string_view one = "name";    // in messages: what one such name is called
  std::string_view many = "names";  // in messages: the plural of `one`
};

// A piece of a list that knows its position in the whole list.
struct ListPiece {
  std::string_view text;
  std::size_t at = 0;  // position of its first character, from 0

  [[nodiscard]] ListPiece from(std::size_t offset) const {
    return {text.substr(offset), at + offset};
  }
  [[nodiscard]] ListPiece until(std::size_t offset) const { return {text.substr(0, offset), at}; }
};

// kInvalidArgument, "at character N: what", where N is `at` + 1.
std::unexpected<Error> wrong_in_list(std::size_t at, const std::string& what);

bool is_listed_name_character(char c);

// The names that `item`, such as "a[1-2]", stands for: at least one, none empty.
Result<std::vector<std::string>> expand_name(ListPiece item, const NameListRules& rules);

// Length of the item at the front of `text`: up to a comma or blank outside brackets.
std::size_t list_item_size(std::string_view text);

// The names of all items of `list`, such as "a[1-2],b": at least one. Repeated names stay.
Result<std::vector<std::string>> expand_names(std::string_view list, const NameListRules& rules);

}  // namespace robustrun::base
