#include "base/core/wrap.h"

#include <doctest/doctest.h>

namespace robustrun::base::wrap_test {
namespace {

using Lines = std::vector<std::string>;

TEST_CASE("lines break at spaces, and a word that is too long sticks out") {
  CHECK(wrap_words("", 5) == Lines{""});
  CHECK(wrap_words("ab cd ef", 5) == Lines{"ab cd", "ef"});
  CHECK(wrap_words("a /long/path b", 5) == Lines{"a", "/long/path", "b"});
  CHECK(wrap_words("\xc3\xa4\xc3\xb6 \xc3\xbc", 4) == Lines{"\xc3\xa4\xc3\xb6 \xc3\xbc"});
  CHECK(wrap_words("ab  cd ", 4) == Lines{"ab", "cd"});
}

TEST_CASE("a number stays with its unit where both fit on a line") {
  CHECK(wrap_words("took 12 ms, 3 s", 7) == Lines{"took", "12 ms,", "3 s"});
  CHECK(wrap_words("12 ms", 3) == Lines{"12", "ms"});
  CHECK(wrap_words("took 12 mice", 7) == Lines{"took 12", "mice"});
}

TEST_CASE("all lines but the first are indented, within the width") {
  CHECK(wrap_indented("ab cd ef", 7, 2) == "ab cd\n  ef");
  CHECK(wrap_indented("ab cd", 1, 4) == "ab\n    cd");
}

}  // namespace
}  // namespace robustrun::base::wrap_test
