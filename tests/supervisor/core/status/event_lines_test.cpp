#include "supervisor/core/status/event_lines.h"

#include <doctest/doctest.h>

#include "tests/supervisor/report_scenarios.h"

namespace robustrun::supervisor::event_lines_test {
namespace {

using namespace scenarios;

std::vector<std::string> lines_of(const Story& story) {
  EventLines lines;
  std::vector<std::string> told;
  for (const JournalEntry& entry : story.entries) {
    if (const auto event = lines.take(entry)) told.push_back(lines.json(*event));
  }
  return told;
}

const std::string kBegin = R"({"time":"2026-08-01T10:00:)";
const std::string kRun = R"(,"run_id":"brave-otter-4711","program":"train.py","event":)";

TEST_CASE("a failure in lines: how workers ended, what was decided and why") {
  const auto lines = lines_of(recovered());
  REQUIRE(lines.size() > 12);
  CHECK(lines[0] == kBegin + R"(00.000Z","since_start_s":0.000000)" + kRun +
                        R"("run_started","text":"robustrun 0.1.0"})");
  CHECK(lines[1] == kBegin + R"(00.003Z","since_start_s":0.003000)" + kRun +
                        R"("agent_joined","node":"node0"})");
  CHECK(lines[3] == kBegin + R"(00.006Z","since_start_s":0.006000)" + kRun +
                        R"("worker_started","attempt":0,"node":"node0","rank":0})");
  CHECK(lines[8] == kBegin + R"(10.000Z","since_start_s":10.000400)" + kRun +
                        R"("worker_exited","attempt":0,"node":"node0","rank":1,)"
                        R"("text":"SIGKILL"})");
  CHECK(lines[9] == kBegin + R"(10.000Z","since_start_s":10.000400)" + kRun +
                        R"("decision","rule":"worker_failed","attempt":0,)"
                        R"("text":"rank 1 on node0: SIGKILL; stopping the other rank",)"
                        R"("evidence":["rank 1 on node0: SIGKILL"],"incident":true})");
  CHECK(lines[11] == kBegin + R"(10.012Z","since_start_s":10.012500)" + kRun +
                         R"("decision","rule":"restart","attempt":0,)"
                         R"("text":"restart 1 of 3: starting 2 workers on 1 node again",)"
                         R"("evidence":["rank 1 on node0: SIGKILL"],)"
                         R"("alternatives":["no restart: 0 of 3 used"]})");
  CHECK(lines.back() ==
        kBegin + R"(24.100Z","since_start_s":24.100000)" + kRun + R"("finished","exit_code":0})");
}

TEST_CASE("every decision is a line, and giving up is marked") {
  for (const auto& [name, story] : all()) {
    std::size_t decisions = 0;
    for (const JournalEntry& entry : story.entries) {
      decisions += std::holds_alternative<Decision>(entry.what) ? 1 : 0;
    }
    std::size_t told = 0;
    for (const std::string& line : lines_of(story)) {
      INFO(line);
      CHECK(line.find('\n') == std::string::npos);
      told += line.find(R"("event":"decision")") != std::string::npos ? 1 : 0;
    }
    INFO(name);
    CHECK(told == decisions);
  }
  const auto lines = lines_of(failed());
  CHECK(lines[lines.size() - 2].ends_with(R"("gave_up":true})"));
}

TEST_CASE("progress tells steps, a drill its victim") {
  Story story;
  story.run({{"node0", "127.0.0.1", 2}}).progress(500, 0, Progress::Mark::kFirstStep, 400, 1, 7, 2);
  story.event(600,
              FaultInjected{"kill", Attempt{0}, base::NodeId{0}, Rank{1}, 4241, "SIG\"KILL\n"});
  const auto lines = lines_of(story);
  REQUIRE(lines.size() == 3);
  CHECK(lines[1].ends_with(R"("progress","attempt":0,"text":"every rank has done a step",)"
                           R"("steps":1,"step":7})"));
  CHECK(lines[2].find(R"("node":"node0","rank":1,"text":"kill: SIG\"KILL)") != std::string::npos);
}

TEST_CASE("a group is told by its size") {
  Story story;
  story.group(
      1, 2,
      {{base::NodeId{0}, "alpha", "10.0.0.1", 0, 2}, {base::NodeId{1}, "beta", "10.0.0.2", 2, 1}});
  CHECK(lines_of(story).front().ends_with(
      R"("event":"group_formed","attempt":2,"text":"3 workers on 2 nodes"})"));
}

TEST_CASE("a state is told when it changes") {
  EventLines lines;
  CHECK_FALSE(lines.take(JobState::kIdle, kStart));
  const auto event = lines.take(JobState::kRunning, kStart);
  REQUIRE(event);
  CHECK(lines.json(*event).ends_with(R"("event":"state","from":"idle","to":"running"})"));
  CHECK_FALSE(lines.take(JobState::kRunning, kStart));
}

TEST_CASE("times of day are UTC, to the millisecond") {
  using namespace std::chrono_literals;
  CHECK(utc_text({}) == "1970-01-01T00:00:00.000Z");
  CHECK(utc_text(1785578402s + 400999us) == "2026-08-01T10:00:02.400Z");
  CHECK(utc_text(951782399s) == "2000-02-28T23:59:59.000Z");
  CHECK(utc_text(951782400s) == "2000-02-29T00:00:00.000Z");
}

}  // namespace
}  // namespace robustrun::supervisor::event_lines_test
