#include "cli/manual/completion.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "cli/manual/command_syntax.h"
#include "cli/manual/man_page.h"
#include "cli/options/help_text.h"
#include "tests/paths.h"

namespace robustrun::cli::completion_test {
namespace {

using Kind = ValueSyntax::Kind;
using Words = std::vector<std::string>;

std::string text_of(std::string_view name) {
  std::ifstream file(in_source(name));
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

CommandSyntax syntax(std::string_view name) {
  const auto commands = command_syntaxes();
  const auto found = std::ranges::find(commands, name, &CommandSyntax::name);
  REQUIRE(found != commands.end());
  return *found;
}

OptionSyntax own_option(const CommandSyntax& command, std::string_view name) {
  for (const OptionSyntax& option : command.options) {
    if (option.names.back() == name) return option;
  }
  FAIL("no option " << name);
  return {};
}

}  // namespace

TEST_CASE("the scripts and the manual page are what the tables make of them") {
  // To renew them: robustrun completion bash > scripts/completions/robustrun.bash
  CHECK(text_of("scripts/completions/robustrun.bash") == completion_script("bash", "robustrun"));
  // robustrun completion zsh > scripts/completions/_robustrun
  CHECK(text_of("scripts/completions/_robustrun") == completion_script("zsh", "robustrun"));
  // robustrun help --man > docs/robustrun.1
  CHECK(text_of("docs/robustrun.1") == man_page());
}

TEST_CASE("every subcommand has the options of its page, and --help") {
  for (const CommandSyntax& command : command_syntaxes()) {
    INFO(command.name);
    CHECK(command.options.back().names == Words{"-h", "--help"});
    const std::string page = command_help(command.name, 100);
    for (const OptionSyntax& option : command.options) {
      if (option.names.back() != "--help") CHECK(has(page, option.names.back()));
    }
  }
  // Of a page without rows: from its usage line.
  CHECK(own_option(syntax("policy"), "--policy").value.kind == Kind::kFile);
}

TEST_CASE("placeholders say what may stand for them") {
  CHECK(value_syntax("DIR").kind == Kind::kFolder);
  CHECK(value_syntax("DIRECTORY").kind == Kind::kFolder);
  CHECK(value_syntax("RUN...").kind == Kind::kRun);
  CHECK(value_syntax("FILE,...").kind == Kind::kFile);
  const ValueSyntax either = value_syntax("FILE|auto|off");
  CHECK(either.kind == Kind::kFile);
  CHECK(either.words == Words{"auto", "off"});
  CHECK(value_syntax("N|auto|cpu").words == Words{"auto", "cpu"});
  CHECK(value_syntax("0-3|RANK:0-3,...").words.empty());
  CHECK(value_syntax("").words.empty());
}

TEST_CASE("verbs, arguments and values come from usage lines and tables") {
  CHECK(syntax("cache").verbs == Words{"ls", "verify", "gc"});
  CHECK(syntax("ckpt").verbs.size() == 8);
  CHECK(syntax("ls").verbs.empty());
  REQUIRE(syntax("status").arguments.size() == 1);
  CHECK(syntax("status").arguments[0].value.kind == Kind::kRun);
  REQUIRE(syntax("inject").arguments.size() == 2);
  CHECK(std::ranges::count(syntax("inject").arguments[1].value.words, "kill") == 1);
  CHECK(syntax("plan").takes_run_options);
  CHECK(syntax("replay").takes_run_options);
  CHECK_FALSE(syntax("sim").takes_run_options);
  CHECK(own_option(syntax("plan"), "--colour-by").value.words.size() == 5);
  CHECK(own_option(syntax("attach"), "--lines").names == Words{"-n", "--lines"});
}

TEST_CASE("words that only prose lists are on their page") {
  const std::pair<const char*, const char*> listed[] = {
      {"ckpt", "--to"}, {"sim", "--preset"}, {"sim", "--compare"}};
  for (const auto& [command, option] : listed) {
    const std::string page = command_help(command, 100);
    const Words words = own_option(syntax(command), option).value.words;
    CHECK_FALSE(words.empty());
    for (const std::string& word : words) {
      INFO(command, " ", option, " ", word);
      CHECK(has(page, word));
    }
  }
}

TEST_CASE("under torchrun's name there are options and no subcommands") {
  for (const char* const shell : {"bash", "zsh"}) {
    const std::string script = completion_script(shell, "torchrun");
    CHECK(has(script, "--nproc-per-node"));
    CHECK_FALSE(has(script, "diagnose"));
    CHECK(has(script, "_torchrun"));
  }
  CHECK(has(bash_completion("torchrun"), "complete -o default -F _torchrun torchrun\n"));
  CHECK(completion_function("torch.distributed.launch") == "_torch_distributed_launch");
}

TEST_CASE("the manual page is ASCII and has a section for each subcommand") {
  const std::string page = man_page();
  CHECK(std::ranges::all_of(page, [](char c) { return c > 0; }));
  for (const std::string& name : command_names()) CHECK(has(page, ".SS robustrun " + name + "\n"));
  CHECK(has(page, "\\fB\\-\\-max\\-restarts\\fR \\fIN\\fR *\n"));
  CHECK_FALSE(has(page, "\n'"));  // roff would take the line for a request
}

}  // namespace robustrun::cli::completion_test
