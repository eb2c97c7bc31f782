#include <doctest/doctest.h>
#include <fmt/core.h>

#include <cmath>

#include "base/io/sha256.h"
#include "supervisor/core/report/html/assets.h"
#include "supervisor/core/report/html/html.h"
#include "supervisor/core/report/html/page_data.h"
#include "supervisor/core/report/inert.h"
#include "supervisor/core/report/report.h"
#include "tests/supervisor/big_story.h"
#include "tests/supervisor/report_scenarios.h"

namespace robustrun::supervisor::report_html_test {
namespace {

using scenarios::Story;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) {
    ++count;
  }
  return count;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = i; j < i + 3; ++j) {
      group = group << 8U | (j < bytes.size() ? static_cast<unsigned char>(bytes[j]) : 0U);
    }
    for (std::uint32_t j = 0; j < 4; ++j) {
      out += i + j > bytes.size() ? '=' : kDigits[(group >> (18 - 6 * j)) & 63U];
    }
  }
  return out;
}

TEST_CASE("the page is one file that lets only its own script and style sheet take effect") {
  const std::string page = html_report(scenarios::recovered().entries);
  const PageAssets assets = page_assets(PageKind::kReport);
  CHECK(assets.script_hash == "sha256-" + base64(base::sha256(assets.script)));
  CHECK(assets.style_hash == "sha256-" + base64(base::sha256(assets.style)));
  CHECK(has(page, fmt::format("default-src 'none'; script-src '{}'; style-src '{}'",
                              assets.script_hash, assets.style_hash)));
  CHECK(has(page, "<script>" + std::string(assets.script) + "</script>"));
  CHECK(has(page, "<style>" + std::string(assets.style) + "</style>"));
  for (const char* outside : {"src=", "href=", "url(", "@import", "fetch(", "innerHTML"}) {
    CAPTURE(outside);
    CHECK_FALSE(has(page, outside));
  }
}

TEST_CASE("the summary has at most three lines, outcome first") {
  for (const auto& [name, story] : scenarios::all()) {
    CAPTURE(name);
    const PageData page = page_data(story.entries);
    CHECK(page.summary.size() >= 2);
    CHECK(page.summary.size() <= 3);
    CHECK(has(page.summary[0], "train.py"));
  }
  const PageData page = page_data(scenarios::recovered().entries);
  CHECK(page.summary[0] == "train.py succeeded after 24.10 s, with 1 incident on the way");
  CHECK(page.summary[1].ends_with("recomputing 1.60 s"));
  CHECK(page_data(scenarios::failed().entries).summary[2].starts_with("Rank 1 on alpha"));
}

TEST_CASE("causes and stretches add up to the wall time") {
  for (const auto& [name, story] : scenarios::all()) {
    CAPTURE(name);
    const PageData page = page_data(story.entries);
    double shares = 0, percent = 0, reached = 0;
    for (const PageShare& share : page.shares) {
      shares += share.ms;
      percent += share.percent;
    }
    CHECK(std::abs(shares - page.duration) < 1e-6 * page.duration);
    CHECK(std::abs(percent - 100) < 1e-6);
    for (const auto& row : page.timeline) {
      CHECK(row.at(1) == reached);
      reached = row.at(2);
    }
    CHECK(reached == page.duration);
  }
}

TEST_CASE("an incident has its verdict, evidence, stack, last lines and what was done") {
  const PageData page = page_data(scenarios::failed().entries);
  REQUIRE(page.incidents.size() == 2);
  const PageIncident& error = page.incidents[1];
  CHECK(error.rank == 1);
  CHECK(error.node == "alpha");
  CHECK(has(error.what, "rank 1 on alpha: RuntimeError"));
  CHECK(error.verdict == "no restart left: 1 of 1 used");
  CHECK(error.evidence == std::vector<std::string>{"rank 1 on alpha: exit code 1"});
  CHECK(error.not_done == std::vector<std::string>{"restart: --max-restarts is 1"});
  REQUIRE(error.stacks.size() == 1);
  CHECK(error.stacks[0].trace.size() == 3);
  CHECK(error.stacks[0].output.size() == 4);
  // Ranks that failed together stand side by side.
  REQUIRE(page.incidents[0].stacks.size() == 2);
  CHECK(has(page.incidents[0].stacks[1].title, "rank 0 on alpha: exit code 1, 29 ms later"));
  CHECK(page.incidents[0].phases.size() >= 3);
  CHECK(page.causes.size() == 2);
}

TEST_CASE("a run that has not ended, and any beginning of a journal, gives a page") {
  CHECK(page_data(scenarios::unfinished().entries).outcome == "unfinished");
  for (const auto& [name, story] : scenarios::all()) {
    CAPTURE(name);
    std::vector<JournalEntry> entries = story.entries;
    while (!entries.empty()) {
      entries.pop_back();
      CHECK(has(html_report(entries), "</html>"));
    }
  }
  // Without its beginning a journal still gives one.
  std::vector<JournalEntry> entries = scenarios::failed().entries;
  entries.erase(entries.begin(), entries.begin() + 3);
  CHECK(has(html_report(entries), "</html>"));
}

TEST_CASE("hostile text stays text") {
  const std::string evil =
      "</script><script>alert(1)</script><!--\x1b[2J\xe2\x80\xae\xd8\x9c\xe2\x81\xa7 \"' & \xff";
  Story story;
  story.run({{evil, "10.0.0.1", 1}}).event(3, AgentJoined{4200, {}, 0});
  story.start(4, 0, 1);
  NodeHealth health;
  health.subject = evil;
  health.line = evil;
  story.event(5, health);
  Progress reading;
  reading.attempt = base::Attempt{0};
  reading.steps = 3;
  reading.metric_names = {evil};
  reading.metric_values = {1};
  story.event(6, reading);
  WorkerExited failed = scenarios::exited(0, 0, base::ExitStatus::Kind::kExited, 1, 9);
  failed.error_message = evil;
  failed.error_callstack = evil + "\n" + evil;
  failed.stderr_tail = {evil, std::string(1 << 20, 'x'), std::string(1 << 20, '<')};
  story.event(10, failed);
  story.decide(10, Rule::kWorkerFailed, 0, evil, {evil}, {evil});
  story.finish(11, 1);
  std::get<RunStarted>(std::get<Event>(story.entries[0].what).body).spec.program = evil;
  const std::string page = html_report(story.entries);
  CHECK(count_of(page, "<script") == 2);
  CHECK(count_of(page, "</script") == 2);
  CHECK(count_of(page, "<!--") == 0);
  CHECK_FALSE(has(page, "alert(1)</"));
  for (const char* raw : {"\x1b", "\xe2\x80\xae", "\xd8\x9c", "\xe2\x81\xa7", "\xff"}) {
    CHECK_FALSE(has(page, raw));
  }
  CHECK(page.size() < 120'000);
}

TEST_CASE("inert text shows what it cannot pass on") {
  CHECK(inert_text("a\tb\x1b[31mred\x1b[0m\x07", 100) == "a    bred\\x07");
  CHECK(inert_text("\xe2\x80\xae"
                   "evil",
                   100) == "\\xe2\\x80\\xaeevil");
  CHECK(inert_text("caf\xc3\xa9", 4) == "caf … (2 more bytes)");
  CHECK(html_text("<a href='x'>&\"") == "&lt;a href=&#39;x&#39;&gt;&amp;&quot;");
  CHECK(script_json("[\"</script>&\"]") == "[\"\\u003c/script\\u003e\\u0026\"]");
}

TEST_CASE("a hundred incidents on 64 nodes stay below 1 MB, a thousand below 3 MB") {
  const std::string page = html_report(scenarios::big(64, 8, 100).entries);
  MESSAGE("100 incidents: " << page.size() / 1000 << " kB");
  CHECK(page.size() < 800'000);  // 1 MB is the promise
  const PageData data = page_data(scenarios::big(64, 8, 100).entries);
  CHECK(data.incidents.size() == 100);
  CHECK(data.nodes.size() == 64);
  CHECK(data.nodes[5].parts.size() == 101);
  CHECK(data.nodes[5].parts[99] == std::vector<double>{99, 10, 6400, 600'905});
  REQUIRE(data.nodes[5].stages.size() > 10);
  CHECK(data.nodes[5].stages[0].size() > 10);
  const std::string most = html_report(scenarios::big(16, 1, 1000).entries);
  MESSAGE("1000 incidents: " << most.size() / 1000 << " kB");
  CHECK(most.size() < 3'000'000);
}

}  // namespace
}  // namespace robustrun::supervisor::report_html_test
