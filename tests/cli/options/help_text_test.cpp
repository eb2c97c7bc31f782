#include "cli/options/help_text.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "cli/options/help_pages.h"
#include "cli/options/limits.h"
#include "cli/options/options_table.h"
#include "wire/messages/injection.h"

namespace robustrun::cli::help_text_test {
namespace {

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("the first page fits a screen and names every group and subcommand") {
  for (const int columns : {80, 100}) {
    CHECK(lines_of(first_help(columns)).size() <= kFirstHelpLinesMax);
  }
  const std::string text = first_help(80);
  for (const std::string& topic : help_topics()) {
    INFO(topic);
    CHECK(has(text, "\n  " + topic + " "));
  }
  CHECK(has(text, "--nproc-per-node"));
}

TEST_CASE("no line of any page is wider than the terminal") {
  for (const int columns : {80, 100, 300}) {
    const auto widest = static_cast<std::size_t>(std::min(columns, kHelpColumnsMax));
    std::vector<std::string> pages = {first_help(columns), options_help("torchrun", columns)};
    for (const std::string& topic : help_topics()) pages.push_back(*topic_help(topic, columns));
    for (const std::string& page : pages) {
      for (const std::string& line : lines_of(page)) {
        INFO(line);
        CHECK(line.size() <= widest);
        CHECK_FALSE(line.ends_with(' '));
      }
    }
  }
}

TEST_CASE("help all has every option, torchrun's marked, and every subcommand") {
  const std::string text = *topic_help("all", 80);
  const std::string torchrun = *topic_help("torchrun", 80);
  for (const Option& row : options()) {
    INFO(row.name);
    CHECK(has(text, std::string("--") + row.name));
    CHECK(has(torchrun, std::string("--") + row.name) >= row.torchrun);
  }
  CHECK(has(text, "--nnodes N|MIN:MAX *"));
  for (const std::string& name : command_names()) CHECK(has(text, command_usage(name)));
}

TEST_CASE("every page has a usage line or a title, and ends with an example") {
  for (const std::string& name : command_names()) {
    INFO(name);
    const std::string text = command_help(name, 80);
    CHECK(text.starts_with(command_usage(name)));
    CHECK(text.starts_with("usage: robustrun "));
    CHECK(has(text, "\nExample:\n  robustrun "));
  }
  for (const GroupPage& page : group_pages()) {
    if (page.summary.empty()) continue;
    const std::string text = *topic_help(page.topic, 80);
    CHECK(has(text, title(page.group)));
    CHECK(text.ends_with("\nExample:\n  " + std::string(page.example) + "\n"));
  }
}

TEST_CASE("topics are distinct, and others have no page") {
  const auto topics = help_topics();
  CHECK(std::set<std::string>(topics.begin(), topics.end()).size() == topics.size());
  CHECK_FALSE(topic_help("failure", 80).has_value());
  CHECK_FALSE(topic_help("", 80).has_value());
}

TEST_CASE("pages of subcommands hold their own options") {
  CHECK(has(command_help("submit", 80), "--partition NAME"));
  CHECK(has(command_help("plan", 80), "--explain NODE"));
  CHECK(has(command_help("plan", 80), "--topology FILE|auto|off"));
  CHECK(has(command_help("check", 80), "--gpu"));
  CHECK(has(command_help("replay", 80), "--unit N"));
}

TEST_CASE("rows are aligned and wrapped, also over several lines of the source") {
  const std::string text = command_help("stop", 60);
  CHECK(has(text,
            "  --grace TIME   instead of the run's --shutdown-timeout; 0:\n"
            "                 kill at once\n"));
  CHECK(has(command_help("diagnose", 80),
            "  - dumps of PyTorch's Flight Recorder, pickle or JSON, one per rank, named with\n"
            "    the rank at the end (nccl_trace_rank_7), as torch names them\n"));
}

TEST_CASE("the page of inject names every kind and every option") {
  const std::string text = command_help("inject", 80);
  for (const wire::FaultRow& row : wire::fault_rows()) CHECK(has(text, row.name));
  for (const char* const option :
       {"--rank", "--node", "--for", "--delay", "--after", "--every", "--seed"}) {
    CHECK(has(text, option));
  }
}

}  // namespace robustrun::cli::help_text_test
