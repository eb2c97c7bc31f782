#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <set>

#include "cli/options/help_text.h"
#include "cli/options/options_table.h"
#include "cli/options/values.h"
#include "tests/paths.h"

namespace robustrun::cli::options_table_test {

TEST_CASE("no option of ours has the name of one of torchrun's, nor an abbreviation of one") {
  for (const Option& own : options()) {
    if (own.torchrun) continue;
    for (const Option& theirs : options()) {
      if (!theirs.torchrun) continue;
      for (const std::string& spelling : {std::string(theirs.name), underscored(theirs.name)}) {
        INFO(own.name, " ", spelling);
        CHECK_FALSE(spelling.starts_with(own.name));
        if (own.alias != nullptr) CHECK_FALSE(spelling.starts_with(own.alias));
      }
      CHECK((own.short_name == '\0' || own.short_name != theirs.short_name));
    }
  }
}

TEST_CASE("names, keys and variables are unique") {
  std::set<std::string> names;
  std::set<std::string> variables;
  for (const Option& row : options()) {
    CHECK(names.insert(row.name).second);
    const std::string variable = variable_name(row);
    if (!variable.empty()) CHECK(variables.insert(variable).second);
    if (row.file) CHECK(find_by_key(underscored(row.name)) == &row);
  }
}

TEST_CASE("every default is a value of its own option") {
  for (const Option& row : options()) {
    for (const char* text : {row.native, row.compat}) {
      INFO(row.name);
      if (text != nullptr) CHECK_FALSE(value_error(row, text).has_value());
    }
  }
}

TEST_CASE("torchrun's options read PET variables, ours ROBUSTRUN variables") {
  CHECK(variable_name(option(OptionId::kNprocPerNode)) == "PET_NPROC_PER_NODE");
  CHECK(variable_name(option(OptionId::kModule)) == "PET_MODULE");
  CHECK(variable_name(option(OptionId::kTimeLimit)) == "ROBUSTRUN_TIME_LIMIT");
  // torchrun declares these without its env action, so that no variable sets them.
  CHECK(variable_name(option(OptionId::kLogsSpecs)).empty());
  CHECK(variable_name(option(OptionId::kNumaBinding)).empty());
}

TEST_CASE("docs/cli.md is what the tables make of it") {
  std::ifstream file(in_source("docs/cli.md"));
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  // To renew it: robustrun help --markdown > docs/cli.md
  CHECK(text == help_markdown());
}

}  // namespace robustrun::cli::options_table_test
