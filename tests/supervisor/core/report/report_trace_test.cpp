#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include "base/core/text.h"
#include "supervisor/core/report/report.h"
#include "supervisor/core/report/trace.h"
#include "tests/supervisor/big_story.h"
#include "tests/supervisor/report_scenarios.h"

namespace robustrun::supervisor::report_trace_test {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Each event stands on a line of its own.
std::vector<std::string> events(const std::string& trace) {
  std::vector<std::string> out;
  for (const std::string_view line : base::split(trace, '\n')) {
    if (line.starts_with("{\"ph\"")) out.emplace_back(line);
  }
  return out;
}

double number(const std::string& event, const std::string& member) {
  const std::size_t at = event.find("\"" + member + "\":");
  REQUIRE(at != std::string::npos);
  return std::atof(event.c_str() + at + member.size() + 3);
}

char kind(const std::string& event) { return event.at(7); }

// Whole microseconds: sums of decimals would not be exact.
std::int64_t us(const std::string& event, const std::string& member) {
  const double value = number(event, member);
  CHECK(value == std::floor(value));
  return static_cast<std::int64_t>(value);
}

// The format's rules: known kinds, times of 0 or more, spans of a track nest or are disjoint.
void check_rules(const std::string& trace) {
  CHECK(trace.starts_with("{\"displayTimeUnit\":\"ms\",\"otherData\":{"));
  CHECK(trace.ends_with("\n]}\n"));
  std::map<std::pair<double, double>, std::vector<std::pair<std::int64_t, std::int64_t>>> tracks;
  for (const std::string& event : events(trace)) {
    CAPTURE(event);
    CHECK(std::string("XiMC").find(kind(event)) != std::string::npos);
    CHECK(us(event, "ts") >= 0);
    if (kind(event) != 'X') continue;
    CHECK(us(event, "dur") > 0);
    tracks[{number(event, "pid"), number(event, "tid")}].emplace_back(us(event, "ts"),
                                                                      -us(event, "dur"));
  }
  CHECK_FALSE(tracks.empty());
  for (auto& [track, spans] : tracks) {
    std::ranges::sort(spans);  // outer ones first
    std::vector<std::int64_t> open;
    for (const auto& [from, minus] : spans) {
      while (!open.empty() && open.back() <= from) open.pop_back();
      if (!open.empty()) CHECK(from - minus <= open.back());
      open.push_back(from - minus);
    }
  }
}

TEST_CASE("traces keep the format's rules") {
  for (const auto& [name, story] : scenarios::all()) {
    CAPTURE(name);
    check_rules(trace_events(story.entries));
    std::vector<JournalEntry> entries = story.entries;
    while (entries.size() > 1) {
      entries.pop_back();
      CHECK(trace_events(entries).ends_with("\n]}\n"));
    }
  }
  check_rules(trace_events(scenarios::big(4, 2, 5).entries));
  CHECK(has(trace_events({}), "\"traceEvents\":["));
}

TEST_CASE("the run's time, attempts, workers, numbers and incidents have tracks") {
  const std::string trace = trace_events(scenarios::recovered().entries);
  CAPTURE(trace);
  const auto all = events(trace);
  const auto count = [&](char of, const std::string& part) {
    return std::ranges::count_if(
        all, [&](const std::string& event) { return kind(event) == of && has(event, part); });
  };
  CHECK(count('M', "\"process_name\"") == 2);  // the run and its node
  CHECK(count('M', "\"name\":\"rank 1\"") == 1);
  CHECK(count('X', "\"tid\":2,\"name\":\"attempt 1\"") >= 1);
  CHECK(count('X', "\"name\":\"restarting\"") == 1);
  CHECK(count('X', "\"end\":\"SIGKILL\"") == 1);
  CHECK(count('i', "rank 1 on node0") == 1);
  CHECK(count('C', "\"name\":\"loss\"") == 5);
  CHECK(count('C', "\"name\":\"steps per second\"") >= 2);
  std::int64_t wall = 0;
  for (const std::string& event : all) {
    if (kind(event) == 'X' && has(event, "\"pid\":0,\"tid\":1,")) wall += us(event, "dur");
  }
  CHECK(wall == 24'100'000);
}

TEST_CASE("where no step was done there is no rate, not a rate of zero") {
  const auto rates = [](const scenarios::Story& story) {
    return std::ranges::count_if(events(trace_events(story.entries)), [](const std::string& event) {
      return has(event, "\"name\":\"steps per second\"");
    });
  };
  auto story = scenarios::unfinished();
  const auto before = rates(story);
  story.progress(20000, 1, Progress::Mark::kSummary, 19990, 20, 120, 0.3);
  CHECK(rates(story) == before);
  story.progress(30000, 1, Progress::Mark::kSummary, 29990, 21, 121, 0.3);
  CHECK(rates(story) == before + 1);
}

TEST_CASE("stages of a node are spans of its track") {
  const std::string trace = trace_events(scenarios::big(2, 2, 1).entries);
  for (const char* stage : {"allocate", "connect", "imports", "process group", "first step"}) {
    CAPTURE(stage);
    CHECK(has(trace, std::string("{\"ph\":\"X\",\"pid\":2,\"tid\":1,\"name\":\"") + stage + "\""));
  }
  CHECK(has(trace, "\"name\":\"committed: step 100\""));
}

TEST_CASE("ranks that wait and the rank that blocks them have spans within their attempt") {
  scenarios::Story story;
  story.run({{"alpha", "10.0.0.1", 2}}).event(3, AgentJoined{4200, {}, 0}).start(4, 0, 2);
  Diagnosed hang;
  hang.attempt = base::Attempt{0};
  hang.verdict.finding = tracer::Finding::kNeverEntered;
  hang.verdict.culprits = {base::Rank{1}};
  hang.verdict.victims = {base::Rank{0}};
  hang.verdict.sentence = "rank 1 is in \"load\"";
  hang.verdict.lasting = scenarios::ms(2000);
  story.event(5000, hang);
  hang.stage = Diagnosed::Stage::kConvicted;
  hang.verdict.lasting = scenarios::ms(6000);
  story.event(9001, hang).event(9100, WorkersGone{base::Attempt{0}, 0, {}, {}});
  const std::string trace = trace_events(story.finish(9200, 1).entries);
  check_rules(trace);
  CHECK(has(trace,
            "\"tid\":3,\"name\":\"blocks others: never entered\",\"ts\":3000000,"
            "\"dur\":6001000"));
  CHECK(has(trace, "\"tid\":2,\"name\":\"waits for rank 1\""));
  CHECK(has(trace, R"("verdict":"rank 1 is in \"load\"")"));
}

TEST_CASE("hostile names cannot leave their string") {
  scenarios::Story story = scenarios::recovered();
  std::get<RunStarted>(std::get<Event>(story.entries[0].what).body).spec.nodes[0].name =
      "\"},{\"ph\":\"X\n\x1b[2J\xe2\x80\xae\xff" + std::string(1 << 20, 'x');
  const std::string trace = trace_events(story.entries);
  check_rules(trace);
  CHECK_FALSE(has(trace, "\x1b"));
  CHECK_FALSE(has(trace, "\xe2\x80\xae"));
  CHECK(trace.size() < 20'000);
}

}  // namespace
}  // namespace robustrun::supervisor::report_trace_test
