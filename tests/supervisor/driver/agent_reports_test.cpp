// Reports of agents become events: with ranks, by our clock, and only of workers that there are.
#include "supervisor/driver/agent_reports.h"

#include <doctest/doctest.h>

#include <optional>
#include <utility>
#include <vector>

#include "tests/supervisor/agents/fake_nodes.h"
#include "tests/supervisor/job_harness.h"
#include "tests/support/captured_log.h"
#include "tests/support/loop.h"

namespace robustrun::supervisor::test::agent_reports_test {
namespace {

using namespace std::chrono_literals;

// Two nodes with two ranks each, all of which run.
struct Reports {
  Reports() {
    job.run();
    progress.begin_attempt(job.job.attempt(), 4, clock.time);
    AgentReports::Hands hands;
    hands.on_event = [this](EventBody event, base::NodeId) { events.push_back(std::move(event)); };
    hands.on_foreign = [this](base::NodeId node) { foreign.push_back(node.value); };
    hands.on_ended_well = [this] { ++ended_well; };
    hands.takes_port = [this](base::NodeId, const wire::PortReserved&) { return is_of_replay; };
    reports.emplace(job.job, nodes.table, progress, true, std::move(hands));
  }
  template <class Event>
  [[nodiscard]] const Event& last() const {
    REQUIRE_FALSE(events.empty());
    const auto* one = std::get_if<Event>(&events.back());
    REQUIRE(one != nullptr);
    return *one;
  }

  Harness job{make_spec({2, 2})};
  robustrun::test::CapturedLog log;
  robustrun::test::Loop loop{};
  SetClock clock;
  FakeNodes nodes{2};
  std::vector<EventBody> events;
  GroupProgress progress{
      loop.executor(),
      clock,
      nodes.table,
      {},
      false,
      {[this] { return job.job.attempt(); }, [] { return std::vector<Bandwidth>(); },
       [this](EventBody event, base::NodeId) { events.push_back(std::move(event)); }}};
  std::vector<std::uint32_t> foreign;
  int ended_well = 0;
  bool is_of_replay = false;
  std::optional<AgentReports> reports;
};

TEST_CASE("an exit comes after the last steps, with the rank, its steps and our time") {
  Reports run;
  run.nodes.table[{1}].clock_offset = 100s;
  wire::WorkerProgress reading;
  reading.attempt = run.job.job.attempt();
  reading.local_rank = {1};
  reading.steps = 9;
  run.progress.on_report({1}, reading);
  wire::WorkerExited report;
  report.attempt = run.job.job.attempt();
  report.local_rank = {1};
  report.at = 5s;
  run.reports->on_report({1}, report);
  const auto& exited = run.last<WorkerExited>();
  CHECK(exited.rank == base::Rank{3});
  CHECK(exited.seen_at == base::Nanos(105s));
  CHECK(exited.steps == 9);
  CHECK(exited.traced);
  REQUIRE(run.events.size() == 2);
  CHECK(std::holds_alternative<Progress>(run.events[0]));
  CHECK(run.ended_well == 1);
}

TEST_CASE("the wait for data in which a worker ended is journaled with its end, by our time") {
  Reports run;
  run.nodes.table[{1}].clock_offset = 100s;
  wire::WorkerProgress reading;
  reading.attempt = run.job.job.attempt();
  reading.data_wait_since = 2s;
  run.progress.on_report({1}, reading);
  wire::WorkerExited report;
  report.attempt = run.job.job.attempt();
  report.at = 5s;
  run.clock.time = 4000s;
  run.reports->on_report({1}, report);
  REQUIRE(run.events.size() == 2);
  CHECK(std::get<Progress>(run.events[0]).data_waited == base::Nanos(3s));
  run.progress.journal_steps();
  CHECK(run.events.size() == 2);
}

TEST_CASE("an exit of an earlier attempt has no steps of this one, and does not count as its end") {
  Reports run;
  run.job.tell_exit(exited(0, 0, 1));
  run.job.recover();
  wire::WorkerExited report;
  report.attempt = {0};
  run.reports->on_report({0}, report);
  CHECK(run.last<WorkerExited>().steps == 0);
  CHECK(run.ended_well == 0);
}

TEST_CASE("reports of workers that the attempt does not have are ignored") {
  Reports run;
  wire::WorkerExited exited;
  exited.local_rank = {2};
  run.reports->on_report({0}, exited);
  wire::WorkerStarted started;
  started.local_rank = {2};
  run.reports->on_report({0}, started);
  wire::WorkerStartFailed failed;
  failed.local_rank = {2};
  run.reports->on_report({0}, failed);
  CHECK(run.events.empty());
}

TEST_CASE("a worker that another supervisor ordered makes its node foreign") {
  Reports run;
  wire::WorkerStarted started;
  started.attempt = run.job.job.attempt();
  started.ordered_by = 7;
  run.reports->on_report({1}, started);
  CHECK(run.foreign == std::vector<std::uint32_t>{1});
  CHECK(run.events.empty());
  started.ordered_by = 1;
  run.reports->on_report({1}, started);
  CHECK(run.last<WorkerStarted>().rank == base::Rank{2});
}

TEST_CASE("a port that a replay asked for is not the attempt's") {
  Reports run;
  wire::PortReserved report;
  run.is_of_replay = true;
  run.reports->on_report({0}, report);
  CHECK(run.events.empty());
  run.is_of_replay = false;
  run.reports->on_report({0}, report);
  CHECK(std::holds_alternative<PortReserved>(run.events.back()));
}

TEST_CASE("stages of a start are kept for the status, by our clock") {
  Reports run;
  run.nodes.table[{0}].clock_offset = 100s;
  wire::StageNews news;
  news.since = 1s;
  news.ranks.push_back({wire::StageName::kProcessGroup, 2s, false, false});
  run.reports->on_report({0}, news);
  CHECK(run.nodes.table[{0}].stage.since == base::Nanos(101s));
  CHECK(run.nodes.table[{0}].stage.ranks[0].since == base::Nanos(102s));
  CHECK(run.events.empty());
}

TEST_CASE("stages of an earlier attempt are no event") {
  Reports run;
  wire::NodeStages report;
  report.attempt = {7};
  report.stages.resize(1);
  run.reports->on_report({0}, report);
  CHECK(run.events.empty());
}

TEST_CASE("an agent's line is logged, whatever level a newer agent gives it") {
  Reports run;
  wire::Notice notice;
  notice.level = 200;
  notice.text = "a disk is slow";
  run.reports->on_report({0}, notice);
  CHECK(run.log.text() == "a disk is slow\n");
}

}  // namespace
}  // namespace robustrun::supervisor::test::agent_reports_test
