#include "cli/options/command_words.h"

#include <doctest/doctest.h>

#include "cli/options/limits.h"

namespace robustrun::cli::command_words_test {
namespace {

using Words = std::vector<std::string>;

std::string error_of(std::string_view text) {
  const auto words = command_words(text);
  return words ? "no error" : words.error().what;
}

}  // namespace

TEST_CASE("commands are split at blanks, with quotes and backslashes as in a shell") {
  CHECK(command_words("ssh").value() == Words{"ssh"});
  CHECK(command_words("  ssh\t-o  A=b\n").value() == Words{"ssh", "-o", "A=b"});
  CHECK(command_words(R"(ssh -i 'my key' "a \"b\" \n" c\ d '')").value() ==
        Words{"ssh", "-i", "my key", R"(a "b" \n)", "c d", ""});
  CHECK(command_words(R"(a"b"'c'd)").value() == Words{"abcd"});
  CHECK(command_words("a\\").value() == Words{"a\\"});
}

TEST_CASE("nothing else of a shell works") {
  CHECK(command_words("ssh $HOME `x` ; rm *").value() ==
        Words{"ssh", "$HOME", "`x`", ";", "rm", "*"});
}

TEST_CASE("an empty or unclosed command is refused") {
  CHECK(error_of("") == "it names no program");
  CHECK(error_of("  ") == "it names no program");
  CHECK(error_of("'' a") == "it names no program");
  CHECK(error_of("ssh 'a") == "a quote is not closed");
  std::string many = "ssh";
  for (std::size_t i = 1; i < kCommandWordsMax; ++i) many += " x";
  CHECK(command_words(many)->size() == kCommandWordsMax);
  CHECK(error_of(many + " x x").find("more than") != std::string::npos);
}

}  // namespace robustrun::cli::command_words_test
