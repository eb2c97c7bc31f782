// Starts that fail for want of something that the script is not to blame for: tried again, but not
// for ever. And what of all restarts workers are told.
#include <doctest/doctest.h>

#include <cerrno>
#include <utility>

#include "supervisor/core/job/job.h"
#include "supervisor/core/types/limits.h"
#include "tests/supervisor/job_harness.h"

namespace robustrun::supervisor::test::job_failed_start_test {
namespace {

// From a group that is complete to one that is stopped, because a worker lacks a descriptor.
void fail_to_start(Harness& h) {
  if (h.job.state() == JobState::kReserving) h.reserve();
  REQUIRE(h.job.state() == JobState::kStarting);
  h.tell(WorkerStarted{h.job.attempt(), {0}, 100}, h.node_of[0]);
  h.tell(WorkerStartFailed{h.job.attempt(), {1}, EMFILE, "too many open files"}, h.node_of[1]);
  h.all_gone();
}

struct Row {
  std::uint32_t failures = 0;
  Nanos lasted{};
};

Row fail_until_the_end(Harness& h) {
  Row row;
  Nanos first{};
  for (; h.job.state() != JobState::kFinished; ++row.failures) {
    if (h.job.state() == JobState::kBackoff) h.fire(TimerId::kBackoff);
    fail_to_start(h);
    if (row.failures == 0) first = h.now;
    row.lasted = h.now - first;
  }
  return row;
}

TEST_CASE("on one machine three starts that fail in a row end the run with 94") {
  Harness h;
  h.join_all();
  CHECK(fail_until_the_end(h).failures == 3);
  CHECK(h.text(Rule::kInfrastructureGivenUp) ==
        "giving up: the workers could not be started 3 times in a row and there is no other "
        "machine to try: rank 1 on node0 could not be started: too many open files");
  CHECK(h.exit_code() == 94);
}

TEST_CASE("on several machines ten in a row do, within 5 minutes at the earliest") {
  JobSpec spec = make_spec({1, 1});
  spec.group.wait_for_nodes = std::chrono::minutes(10);
  SUBCASE("of attempts that follow one another quickly") {
    spec.restart.backoff_max = seconds(1);
    spec.restart.max_infrastructure_restarts = 1000;
    Harness h(spec);
    h.join_all();
    const Row row = fail_until_the_end(h);
    CHECK(row.failures > kFailedStartsMax);
    CHECK(row.lasted >= kFailedStartsFor);
    CHECK(row.lasted < kFailedStartsFor + seconds(2));
    CHECK(h.exit_code() == 94);
  }
  SUBCASE("of attempts that follow one another slowly") {
    spec.restart.backoff_first = std::chrono::minutes(1);
    spec.restart.backoff_max = std::chrono::minutes(1);
    Harness h(spec);
    h.join_all();
    const Row row = fail_until_the_end(h);
    CHECK(row.failures == kFailedStartsMax);
    CHECK(row.lasted >= kFailedStartsFor);
    CHECK(h.text(Rule::kInfrastructureGivenUp)
              .starts_with("giving up: the workers could not be started 10 times in a row within"));
  }
  SUBCASE("unless other nodes are not waited for that long") {
    spec.group.wait_for_nodes = seconds(30);
    Harness h(spec);
    h.join_all();
    const Row row = fail_until_the_end(h);
    CHECK(row.failures < kFailedStartsMax);
    CHECK(row.lasted >= seconds(30));
  }
}

TEST_CASE("a port that is not found is a failed start") {
  Harness h;
  h.join_all();
  for (int i = 0; i < 2; ++i) {
    h.tell(PortReserved{h.job.attempt(), 0, "none free"});
    if (h.job.state() == JobState::kBackoff) h.fire(TimerId::kBackoff);
    REQUIRE(h.job.state() == JobState::kReserving);
  }
  h.tell(PortReserved{h.job.attempt(), 0, "none free"});
  CHECK(h.text(Rule::kInfrastructureGivenUp).ends_with("no free port on node0: none free"));
  CHECK(h.exit_code() == 94);
}

TEST_CASE("an agent that joins and is lost before anything starts is a failed start, too") {
  Harness h;
  int lost = 0;
  for (; h.job.state() != JobState::kFinished && lost < 10; ++lost) {
    if (h.job.state() == JobState::kBackoff) h.fire(TimerId::kBackoff);
    h.join(0);
    h.lose(0, "cannot use /tmp/robustrun-7");
  }
  CHECK(lost == 3);
  CHECK(h.text(Rule::kInfrastructureGivenUp) ==
        "giving up: the workers could not be started 3 times in a row and there is no other "
        "machine to try: the agent of node0 was lost: cannot use /tmp/robustrun-7");
  CHECK(h.exit_code() == 94);
}

TEST_CASE("an attempt whose workers all run ends the row") {
  Harness h;
  h.join_all();
  for (int i = 0; i < 5; ++i) {
    fail_to_start(h);
    if (h.job.state() == JobState::kBackoff) h.fire(TimerId::kBackoff);
    h.begin();
    h.tell(AgentLost{"killed", true}, 0);
    h.join(0);
    if (h.job.state() == JobState::kBackoff) h.fire(TimerId::kBackoff);
    if (h.job.state() == JobState::kJoining) h.join(0);
  }
  CHECK(h.job.state() == JobState::kReserving);
}

TEST_CASE("workers are told of counted restarts alone, whatever the number of their attempt") {
  Harness h(group_spec({1, 1}, 1, 2));
  h.run();
  const auto restarts = [&h] {
    if (h.job.state() == JobState::kBackoff) h.fire(TimerId::kBackoff);
    REQUIRE(h.job.state() == JobState::kReserving);
    h.reserve();
    const auto orders = h.all<StartWorkers>();
    REQUIRE(!orders.empty());
    CHECK(std::ranges::all_of(orders, [&](const StartWorkers& order) {
      return order.restarts == orders.front().restarts;
    }));
    h.start_all();
    return std::pair(h.job.attempt().value, orders.front().restarts);
  };
  h.tell_exit(exited(0, 0, 1));
  h.all_gone();
  CHECK(restarts() == std::pair(1U, 1U));
  h.lose_machine(1);
  CHECK(restarts() == std::pair(2U, 1U));
  h.fire(TimerId::kNodes);
  h.join(1);
  REQUIRE(h.decided(Rule::kGroupGrew));
  h.all_gone();
  CHECK(restarts() == std::pair(3U, 1U));
  h.first_step();
  h.tell_exit(exited(3, 0, 1));
  h.all_gone();
  CHECK(restarts() == std::pair(4U, 2U));
}

}  // namespace
}  // namespace robustrun::supervisor::test::job_failed_start_test
