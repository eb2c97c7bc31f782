#include "cli/options/toml_tree.h"

#include <doctest/doctest.h>

#include <string>

namespace robustrun::cli::toml_tree_test {
namespace {

std::string repeated(const std::string& piece, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += piece;
  return text;
}

std::string error_of(const std::string& text) {
  const auto parsed = parse_toml(text, "job.toml");
  return parsed ? "" : parsed.error().what;
}

TEST_CASE("what is nested too deep is refused, with its line, whatever it is made of") {
  const std::string dots = repeated("a.", 40'000) + "a";
  for (const std::string& text :
       {dots + " = 1", "[" + dots + "]", "[[" + dots + "]]", "x = { " + dots + " = 1 }",
        "x = " + repeated("[", 40'000) + repeated("]", 40'000),
        "x = " + repeated("{ a.b = ", 40'000), repeated("\"a\".", 40'000) + "a = 1",
        repeated("a . ", 40'000) + "a = 1"}) {
    CHECK(error_of("# a.b.c\n" + text) ==
          "job.toml:2: tables and arrays are nested more than 64 deep");
  }
}

TEST_CASE("dots in comments and strings, and of many keys, are no depth") {
  const std::string dots = repeated("a.", 1000);
  CHECK(error_of("# " + dots) == "");
  CHECK(error_of("s = \"" + dots + "\\\"" + dots + "\"") == "");
  CHECK(error_of("s = '" + dots + "'") == "");
  CHECK(error_of("s = \"\"\"\n" + dots + "\n\"\"\"\n") == "");
  CHECK(error_of("s = '''\n" + dots + "'''\n") == "");
  CHECK(error_of("n = [" + repeated("1.5, ", 1000) + "]") == "");
  CHECK(error_of("[table]\n" + repeated("a.", 50) + "b = [[1], [2]]\nc.d = 1\n") == "");
}

}  // namespace
}  // namespace robustrun::cli::toml_tree_test
