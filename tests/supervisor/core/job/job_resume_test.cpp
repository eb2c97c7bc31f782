// Another supervisor takes a job over: from every state, with whatever was on its way lost.
#include <doctest/doctest.h>

#include <csignal>

#include "supervisor/core/status/fold.h"
#include "tests/supervisor/job_harness.h"

namespace robustrun::supervisor::test::job_resume_test {
namespace {

SupervisorResumed resumed() {
  SupervisorResumed body;
  body.incarnation = 2;
  body.host = "other";
  body.pid = 77;
  body.away = seconds(3);
  return body;
}

// The job as a successor knows it: everything before is forgotten but the journal.
std::vector<Action> take_over(Harness& h) {
  std::vector<JournalEntry> entries;
  for (const Event& event : h.journal) entries.push_back({event.at, event});
  auto folded = fold(entries);
  REQUIRE(folded.has_value());
  CHECK(folded->job.digest() == h.job.digest());
  h.job = std::move(folded->job);
  h.now += seconds(3);
  return h.tell(resumed());
}

std::vector<std::uint32_t> expected(const std::vector<Action>& actions, AdoptNode::Agent agent) {
  std::vector<std::uint32_t> nodes;
  for (const Action& action : actions) {
    const auto* adopt = std::get_if<AdoptNode>(&action);
    if (adopt != nullptr && adopt->agent == agent) nodes.push_back(adopt->node.value);
  }
  return nodes;
}

using Nodes = std::vector<std::uint32_t>;

TEST_CASE("a running job goes on untouched: orders are said again, nothing else happens") {
  Harness h(make_spec({2, 2}));
  h.run();
  const auto actions = take_over(h);
  CHECK(h.job.state() == JobState::kRunning);
  CHECK(h.job.attempt().value == 0);
  CHECK(h.job.incarnation() == 2);
  CHECK(expected(actions, AdoptNode::Agent::kJoined) == Nodes{0, 1});
  REQUIRE(h.all<StartWorkers>().size() == 2);
  CHECK(h.all<StartWorkers>().front().master_port == h.next_port - 1);
  CHECK(h.all<LaunchAgent>().empty());
  CHECK(h.all<StopWorkers>().empty());
  CHECK(h.text(Rule::kResumed)
            .starts_with(
                "supervisor 2 takes over, 3.00 s after its predecessor was last heard of (on "
                "other, pid 77)"));
  SUBCASE("what workers report again is no news") {
    h.start_all();
    CHECK(h.actions.empty());
    for (std::uint32_t rank = 0; rank < 4; ++rank) h.tell_exit(exited(0, rank, 0));
    CHECK(h.decided(Rule::kSucceeded));
  }
  SUBCASE("an agent that does not come back is lost like any other") {
    h.lose(1);
    CHECK(h.job.state() == JobState::kStopping);
  }
}

TEST_CASE("agents that were on their way are launched again, with a newer generation") {
  Harness h(make_spec({1, 1}));
  h.join(0);
  const std::uint32_t before = h.generation[1];
  const auto actions = take_over(h);
  CHECK(expected(actions, AdoptNode::Agent::kJoined) == Nodes{0});
  CHECK(expected(actions, AdoptNode::Agent::kExpected) == Nodes{1});
  REQUIRE(h.all<LaunchAgent>().size() == 1);
  CHECK(h.generation[1] == before + 1);
  h.join(1);
  h.begin();
}

TEST_CASE("a volunteer on its way cannot be launched, and is waited for") {
  Harness h(open_spec(2, 2));
  h.offer("a");
  h.offer("b");
  h.join(0);
  take_over(h);
  CHECK(h.all<LaunchAgent>().empty());
  h.join(1);
  CHECK(h.job.state() == JobState::kReserving);
}

TEST_CASE("a port that was asked for is asked for again") {
  Harness h(make_spec({1, 1}));
  h.join_all();
  REQUIRE(h.job.state() == JobState::kReserving);
  take_over(h);
  REQUIRE(h.all<ReservePort>().size() == 1);
  h.begin();
}

TEST_CASE("a stop goes on where it was, and ends in the restart") {
  Harness h(make_spec({1, 1}));
  h.run();
  h.tell_exit(exited(0, 0, 1));
  REQUIRE(h.job.state() == JobState::kStopping);
  h.gone(0);
  take_over(h);
  REQUIRE(h.all<StopWorkers>().size() == 1);
  CHECK(h.all<StopWorkers>().front().node.value == 1);
  CHECK(h.all<StopWorkers>().front().reason == StopReason::kRestart);
  CHECK(h.all<StopWorkers>().front().grace == seconds(27));
  h.gone(1);
  CHECK(h.job.state() == JobState::kReserving);
  CHECK(h.job.attempt().value == 1);
}

TEST_CASE("deadlines count again from when the others can be heard") {
  Harness h(make_spec({1, 1}));
  h.join_all();
  h.reserve();
  REQUIRE(h.job.state() == JobState::kStarting);
  h.now += seconds(3600);  // the deadline is long over
  take_over(h);
  CHECK(h.timers[static_cast<std::size_t>(TimerId::kState)].at >= h.now + seconds(10));
  h.start_all();
  CHECK(h.job.state() == JobState::kRunning);
}

TEST_CASE("a back-off ends when it would have ended") {
  Harness h(make_spec({1, 1}));
  h.run();
  h.tell_exit(exited(0, 0, 1));
  h.recover();
  h.tell_exit(exited(1, 0, 1));
  h.all_gone();
  if (h.job.state() != JobState::kBackoff) return;
  const Nanos due = h.timers[static_cast<std::size_t>(TimerId::kBackoff)].at;
  take_over(h);
  CHECK(h.timers[static_cast<std::size_t>(TimerId::kBackoff)].at == due);
  h.fire(TimerId::kBackoff);
  CHECK(h.job.state() == JobState::kReserving);
}

TEST_CASE("an end that was decided is carried out") {
  Harness h(make_spec({1, 1}));
  h.run();
  h.tell(SignalReceived{SIGTERM, false});
  REQUIRE(h.job.state() == JobState::kFinishing);
  SUBCASE("workers are still there") {
    take_over(h);
    CHECK(h.all<StopWorkers>().size() == 2);
    CHECK(h.all<StopWorkers>().front().reason == StopReason::kStop);
    h.all_gone();
    CHECK(h.exit_code() == 143);
  }
  SUBCASE("only the goodbye is missing") {
    h.all_gone();
    REQUIRE(h.job.state() == JobState::kFinished);
    take_over(h);
    CHECK(h.all<DismissAgent>().size() == 2);
    CHECK(h.exit_code() == 143);
  }
}

TEST_CASE("every prefix of a journal can be gone on with, to the same end") {
  Harness story(group_spec({1, 2, 2}, 2, 2));
  story.run();
  story.first_step();
  story.join(2);
  story.tell_exit(exited(0, 1, 1));
  story.recover();
  story.lose_machine(1);
  if (story.job.state() == JobState::kBackoff) story.fire(TimerId::kBackoff);
  story.begin();
  story.tell(SignalReceived{SIGTERM, false});
  for (std::size_t size = 1; size <= story.journal.size(); ++size) {
    std::vector<JournalEntry> entries;
    for (std::size_t i = 0; i < size; ++i) {
      entries.push_back({story.journal[i].at, story.journal[i]});
    }
    auto folded = fold(entries);
    REQUIRE(folded.has_value());
    CAPTURE(size);
    // Twice in a row is as good as once.
    Event event{folded->last + seconds(1), {}, {}, resumed()};
    static_cast<void>(folded->job.handle(event));
    static_cast<void>(folded->job.handle(event));
    CHECK(folded->job.incarnation() == 3);
    Event end{folded->last + seconds(2), {}, {}, SignalReceived{SIGTERM, false}};
    static_cast<void>(folded->job.handle(end));
    const JobState state = folded->job.state();
    CHECK((state == JobState::kFinishing || state == JobState::kFinished));
  }
}

TEST_CASE("what followed from the last event and was not written is told apart") {
  Harness h(make_spec({1, 1}));
  h.run();
  std::vector<JournalEntry> entries;
  for (const Event& event : h.journal) entries.push_back({event.at, event});
  const std::vector<Action> followed = h.tell_exit(exited(0, 0, 1));
  entries.push_back({h.journal.back().at, h.journal.back()});
  auto folded = fold(entries);
  REQUIRE(folded->unwritten.size() == 1);
  CHECK(std::get<Decision>(folded->unwritten.front().what).rule == Rule::kWorkerFailed);
  entries.push_back(folded->unwritten.front());
  CHECK(fold(entries)->unwritten.empty());
  CHECK_FALSE(fold(entries)->exit_code.has_value());
  entries.push_back({h.now, Finish{17}});
  CHECK(fold(entries)->exit_code == 17);
}

TEST_CASE("a journal without a beginning is nothing to go on with") {
  CHECK(fold({}).error().code == base::Errc::kCorrupt);
  CHECK(fold({{seconds(1), Finish{0}}}).error().code == base::Errc::kCorrupt);
  CHECK_FALSE(fold({{seconds(1), Event{seconds(1), {}, {}, AgentJoined{}}}}).has_value());
}

TEST_CASE("a start of a run that has no worker, or too many, is nothing to go on with") {
  const auto folded = [](std::vector<std::uint32_t> slots) {
    RunStarted started;
    started.spec = make_spec(slots);
    return fold({{seconds(1), Event{seconds(1), {}, {}, started}}});
  };
  CHECK(folded({1, 1}).has_value());
  CHECK(folded({}).error().code == base::Errc::kCorrupt);
  CHECK(folded({1U << 20U, 1}).error().code == base::Errc::kCorrupt);
}

}  // namespace
}  // namespace robustrun::supervisor::test::job_resume_test
