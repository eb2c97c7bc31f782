#include "base/core/name_list.h"

#include <doctest/doctest.h>

namespace robustrun::base::name_list_test {
namespace {

using Names = std::vector<std::string>;

constexpr NameListRules kRules{100, "switch", "switches"};

Names names(std::string_view list) {
  const auto expanded = expand_names(list, kRules);
  return expanded ? *expanded : Names{expanded.error().what};
}

}  // namespace

TEST_CASE("lists of names are expanded in order, with duplicates") {
  CHECK(names("s1") == Names{"s1"});
  CHECK(names("s[08-11,20],x") == Names{"s08", "s09", "s10", "s11", "s20", "x"});
  CHECK(names("s[1-2].[a,b]") == Names{"s1.a", "s1.b", "s2.a", "s2.b"});
  CHECK(names("b,a,b") == Names{"b", "a", "b"});
  CHECK(names("7,[1-2]") == Names{"7", "1", "2"});
}

TEST_CASE("an invalid list of names is refused in the caller's words") {
  CHECK(names("") == Names{"at character 1: a switch is missing"});
  CHECK(names("a,") == Names{"at character 3: a switch is missing"});
  CHECK(names(",a") == Names{"at character 1: a switch is missing"});
  CHECK(names("a, b") == Names{"at character 3: a switch is missing"});
  CHECK(names("a b") == Names{"at character 2: names are separated by commas without blanks"});
  CHECK(names("a$") == Names{"at character 2: no switch has the character '$'"});
  CHECK(names("a[$]") == Names{"at character 3: '$' cannot be part of a switch"});
  CHECK(names("x,a[1-200]") == Names{"at character 5: more than 100 switches"});
  CHECK(names("a[1-60],b[1-60]") == Names{"at character 9: more than 100 switches"});
  CHECK(names("a[1-60][1-2]") == Names{"at character 8: more than 100 switches"});
  CHECK(names(std::string(256, 'a')) == Names{"at character 1: a switch is longer than 255 "
                                              "characters"});
}

TEST_CASE("a limit of 0 names is allowed") {
  CHECK(expand_names("a", {0}).error().code == Errc::kLimit);
  CHECK(expand_names("[a]", {0}).error().code == Errc::kLimit);
}

}  // namespace robustrun::base::name_list_test
