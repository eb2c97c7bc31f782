#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/core/text.h"
#include "supervisor/core/report/page.h"
#include "supervisor/core/report/render.h"
#include "tests/paths.h"
#include "tests/supervisor/report_scenarios.h"

namespace robustrun::supervisor::report_render_test {
namespace {

std::string golden_path(const std::string& name, int width) {
  return in_source(fmt::format("tests/golden/report/{}_{}.txt", name, width));
}

std::string content(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

constexpr int kWidths[] = {60, 100};

// What `robustrun report` shows at the narrow width, the summary at the wide one.
std::string rendered(const scenarios::Story& story, int width) {
  return render_report(build_report(story.entries),
                       {false, width, width == 60 ? Detail::kFull : Detail::kShort});
}

std::size_t code_points(std::string_view line) {
  return static_cast<std::size_t>(std::ranges::count_if(
      line, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

// RR_UPDATE_GOLDEN=1 after a wanted change of the layout; look at the difference before keeping it.
TEST_CASE("reports look as their golden files") {
  const bool may_write = std::getenv("RR_UPDATE_GOLDEN") != nullptr;
  for (const auto& [name, story] : scenarios::all()) {
    for (const int width : kWidths) {
      CAPTURE(name);
      if (may_write) std::ofstream(golden_path(name, width)) << rendered(story, width);
      CHECK(rendered(story, width) == content(golden_path(name, width)));
    }
  }
}

TEST_CASE("no line but a path's is wider than the terminal and none ends in spaces") {
  for (const auto& [name, story] : scenarios::all()) {
    for (const int width : {40, 60, 83, 100}) {
      CAPTURE(name);
      const std::string text =
          render_report(build_report(story.entries), {false, width, Detail::kFull});
      for (const std::string_view line : base::split(text, '\n')) {
        if (!line.starts_with("  logs ")) {
          CHECK(code_points(line) <= static_cast<std::size_t>(width));
        }
        CHECK_FALSE(line.ends_with(' '));
      }
    }
  }
}

TEST_CASE("waits for training data are told, in the short report only if they are long") {
  RunReport report = build_report(scenarios::clean().entries);
  const auto told = [&](Detail detail) {
    const std::string text = render_report(report, {false, 100, detail});
    return text.find("rank 3 waited longest for batches, 1.50 s in all") != std::string::npos;
  };
  report.data_rank = 3;
  report.data_waited = std::chrono::milliseconds(1500);
  report.duration = std::chrono::seconds(20);
  CHECK(told(Detail::kFull));
  CHECK(told(Detail::kShort));
  report.duration = std::chrono::seconds(40);
  CHECK(told(Detail::kFull));
  CHECK_FALSE(told(Detail::kShort));
  report.data_waited = std::chrono::milliseconds(500);
  CHECK(render_report(report, {false, 100, Detail::kFull}).find("batches") == std::string::npos);
  report.data_skipped = 2;
  CHECK(render_report(report, {false, 100, Detail::kShort}).find("2 records skipped") !=
        std::string::npos);
}

TEST_CASE("the short report is short") {
  const auto lines = [](const RunReport& report) {
    return std::ranges::count(render_report(report, {}), '\n');
  };
  CHECK(lines(build_report(scenarios::clean().entries)) <= 5);
  RunReport without = build_report(scenarios::recovered().entries);
  without.incidents.clear();
  const auto head = lines(without);
  // An incident that tells everything.
  RunReport one = build_report(scenarios::recovered().entries);
  CHECK(lines(one) - head <= 25);
  one.incidents[0].stderr_tail.assign(100, "a line of output");
  one.incidents[0].also_failed.assign(100, "rank 7: SIGABRT, 3 ms later");
  one.incidents[0].cold.assign(100, "rank 7: its standby worker was still importing");
  one.incidents[0].looks_like = Classification{"a", "b", {}, {}, {}, false, "\"c\"", "d"};
  one.incidents[0].injected = "kill of rank 1 on node0";
  CHECK(lines(one) - head <= 25);
}

TEST_CASE("of several incidents each has a line, and the one that ended the run is shown") {
  const RunReport report = build_report(scenarios::failed().entries);
  const std::string text = render_report(report, {});
  CHECK(text.find("\n2 incidents\n") != std::string::npos);
  CHECK(text.find("\n  1         5.00 s: rank 2 on beta: SIGKILL") != std::string::npos);
  CHECK(text.find("\nIncident 2 of 2: rank 1 on alpha") != std::string::npos);
  CHECK(text.find("Incident 1 of 2") == std::string::npos);
}

TEST_CASE("colour adds escapes and changes nothing else") {
  const RunReport report = build_report(scenarios::failed().entries);
  std::string coloured = render_report(report, {true, 100, Detail::kFull});
  CHECK(coloured.starts_with("\x1b[1;31m"));
  std::size_t at = 0;
  while ((at = coloured.find('\x1b')) != std::string::npos) {
    coloured.erase(at, coloured.find('m', at) - at + 1);
  }
  const std::string plain = render_report(report, {false, 100, Detail::kFull});
  CHECK(coloured == plain);
  CHECK(plain.find('\x1b') == std::string::npos);
}

TEST_CASE("what a worker wrote cannot move the cursor") {
  RunReport report = build_report(scenarios::recovered().entries);
  report.incidents[0].stderr_tail = {"\x1b]0;title\x07 \x1b[2J\x1b[31mred\x1b[0m\r\b", "\x1b["};
  report.incidents[0].error_message = "two\nlines\x1b[1A";
  report.program = "a\x1b[2Jb\nc";
  for (const char byte : render_report(report, {false, 80, Detail::kFull})) {
    CHECK((byte == '\n' || static_cast<unsigned char>(byte) >= 0x20));
  }
}

TEST_CASE("many incidents are cut in the middle") {
  RunReport report = build_report(scenarios::recovered().entries);
  report.incidents.assign(50, report.incidents.front());
  const std::string text = render_report(report, {false, 100, Detail::kFull});
  CHECK(text.find("Incident 5 of 50") != std::string::npos);
  CHECK(text.find("Incident 6 of 50") == std::string::npos);
  CHECK(text.find("30 incidents more") != std::string::npos);
  CHECK(text.find("Incident 36 of 50") != std::string::npos);
  CHECK(text.find("Incident 50 of 50") != std::string::npos);
}

TEST_CASE("wrap breaks at spaces, and long words where it must") {
  CHECK(wrap("", 5) == std::vector<std::string>{""});
  CHECK(wrap("ab cd ef", 5) == std::vector<std::string>{"ab cd", "ef"});
  CHECK(wrap("abcdefgh", 3) == std::vector<std::string>{"abc", "def", "gh"});
  CHECK(wrap("\xc3\xa4\xc3\xb6\xc3\xbc", 2) ==
        std::vector<std::string>{"\xc3\xa4\xc3\xb6", "\xc3\xbc"});
}

}  // namespace
}  // namespace robustrun::supervisor::report_render_test
