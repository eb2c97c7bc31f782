// The status of a run: its journal, the newest readings, and the links to its nodes.
#include "supervisor/driver/status_view.h"

#include <doctest/doctest.h>

#include <optional>
#include <utility>

#include "supervisor/limits.h"
#include "tests/supervisor/agents/fake_nodes.h"
#include "tests/supervisor/job_harness.h"
#include "tests/support/captured_log.h"
#include "tests/support/loop.h"
#include "tests/support/scratch.h"

namespace robustrun::supervisor::test::status_view_test {
namespace {

using namespace std::chrono_literals;

// Two nodes with two ranks each, all of which run.
struct View {
  View() {
    job.run();
    auto journal = Journal::create(folder / "journal");
    REQUIRE(journal);
    record.record_to(*std::move(journal));
    Job replayed;
    for (const Event& event : job.journal) {
      record.write({event.at, event});
      for (const Action& action : replayed.handle(event)) {
        if (const auto* formed = std::get_if<GroupFormed>(&action)) {
          record.write({event.at, *formed});
        }
      }
    }
    nodes.table.each([&](base::NodeId, NodeLink& link) { link.heard_at = clock.time; });
    request.run_directory = "/runs/r";
    request.spec.run_id = "r";
    progress.begin_attempt(job.job.attempt(), 4, clock.time);
    view.emplace(clock,
                 StatusView::Sources{request, job.job, record, nodes.table, progress, bandwidth});
  }
  [[nodiscard]] NodeStatus node(std::size_t which) const { return view->status().nodes[which]; }

  Harness job{make_spec({2, 2})};
  const robustrun::test::Scratch folder;
  robustrun::test::CapturedLog log;
  robustrun::test::Loop loop{};
  SetClock clock;
  FakeNodes nodes{2};
  RunRequest request;
  RunRecord record;
  GroupProgress progress{loop.executor(),
                         clock,
                         nodes.table,
                         {},
                         false,
                         {[this] { return job.job.attempt(); },
                          [] { return std::vector<Bandwidth>(); }, [](EventBody, base::NodeId) {}}};
  BandwidthWatch bandwidth;
  std::optional<StatusView> view;
};

TEST_CASE("the state is the job's, and the run's directory the request's") {
  const View run;
  const RunStatus status = run.view->status();
  CHECK(status.supervisor == SupervisorStatus::kAnswers);
  CHECK(status.state == JobState::kRunning);
  CHECK(status.run_directory == "/runs/r");
  CHECK(status.console_log.empty());
  REQUIRE(status.nodes.size() == 2);
  CHECK(status.nodes[1].ranks.size() == 2);
}

TEST_CASE("an agent is starting, joined, suspect or lost, as its link is") {
  View run;
  NodeLink& link = run.nodes.table[{1}];
  run.clock.time += 2s;
  CHECK(run.node(1).agent == AgentStatus::kJoined);
  CHECK(run.node(1).heard == base::Nanos(2s));
  link.broken_at = run.clock.time;
  link.broken_why = "reset by peer";
  CHECK(run.node(1).agent == AgentStatus::kSuspect);
  CHECK(run.node(1).trouble == "reset by peer");
  link.joined = false;
  CHECK(run.node(1).agent == AgentStatus::kStarting);
  link.lost = true;
  CHECK(run.node(1).agent == AgentStatus::kLost);
  CHECK(run.node(0).agent == AgentStatus::kJoined);
}

TEST_CASE("readings are newer than the journal: steps of the group and of each rank") {
  View run;
  for (const std::uint32_t node : {0, 1}) {
    for (const std::uint32_t local : {0, 1}) {
      wire::WorkerProgress reading;
      reading.attempt = run.job.job.attempt();
      reading.local_rank = {local};
      reading.steps = 7 + 2 * node + local;
      reading.first_step_at = reading.user_code_at = run.clock.time;
      run.progress.on_report({node}, reading);
    }
  }
  run.progress.watch();
  run.clock.time += 3s;
  const RunStatus status = run.view->status();
  CHECK(status.steps == 7);
  CHECK(status.stepped == base::Nanos(3s));
  CHECK(status.nodes[1].ranks[0].steps == 9);
  CHECK(status.nodes[1].ranks[1].steps == 10);
}

TEST_CASE("a node's stage is shown with the rank that is furthest behind, of this attempt alone") {
  View run;
  run.job.tell_exit(exited(0, 0, 1));
  run.job.recover();
  wire::StageNews& news = run.nodes.table[{1}].stage;
  news.attempt = run.job.job.attempt();
  news.stage = wire::StageName::kProcessGroup;
  news.rank = base::LocalRank{1};
  news.since = run.clock.time - 4s;
  CHECK(run.node(1).stage_rank == 3U);
  CHECK(run.node(1).stage_took == base::Nanos(4s));
  --news.attempt.value;
  CHECK(run.node(1).stage.empty());
}

TEST_CASE("that ranks wait for others in init_process_group is logged once, after a while") {
  View run;
  run.view->begin_attempt();
  wire::StageNews& news = run.nodes.table[{0}].stage;
  news.attempt = run.job.job.attempt();
  news.stage = wire::StageName::kProcessGroup;
  news.rank = base::LocalRank{0};
  news.ranks.assign(2, {wire::StageName::kProcessGroup, run.clock.time, false, true});
  run.clock.time += kGroupWaitSaidAfter - 1s;
  run.view->watch_group_wait();
  CHECK(run.log.text().empty());
  run.clock.time += 2s;
  run.view->watch_group_wait();
  const std::string text = run.log.text();
  CHECK(text.starts_with("waiting "));
  CHECK(text.ends_with("; stacks: robustrun diagnose r\n"));
  run.clock.time += 2s;
  run.view->watch_group_wait();
  CHECK(run.log.text() == text);
}

}  // namespace
}  // namespace robustrun::supervisor::test::status_view_test
