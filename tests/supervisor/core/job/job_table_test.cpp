// The product of states and events: which are handled, which ignored; and that a replay of the
// journal restores the machine.
#include <doctest/doctest.h>

#include <csignal>
#include <string_view>

#include "supervisor/core/job/job.h"
#include "tests/supervisor/job_harness.h"
#include "tests/supervisor/policy_words.h"
#include "tests/supervisor/preflight_facts.h"

namespace robustrun::supervisor::test::job_table_test {
namespace {

// A two-node run, one worker each, and a spare that has not said hello, brought into each state.
// The second node's agent has been replaced and not yet joined where that can be, so that
// AgentJoined has something to say.
Harness in_state(JobState state) {
  JobSpec spec = make_spec({1, 1, 1});
  spec.time_limit = std::chrono::hours(10);
  spec.group.max_nodes = 2;
  spec.group.open = true;
  spec.faults = {
      row_of("link", Layer::kInfrastructure, Confidence::kMedium, FirstAction::kTolerate),
      row_of("drifts", Layer::kUnclear, Confidence::kMedium, FirstAction::kReplay)};
  if (state == JobState::kIdle) return Harness(make_spec({}));
  if (state == JobState::kChecking) spec.preflight = PreflightDepth::kFast;
  if (state == JobState::kPlacing) spec.placement = PlacementUse::kSurvivorsStay;
  if (state == JobState::kReplaying) spec.policy = full_policy();
  Harness h(spec);
  if (state == JobState::kJoining) return h;
  h.join(0);
  h.join(1);
  if (state == JobState::kChecking) return h;
  if (state == JobState::kPlacing) {
    h.fire(TimerId::kState);  // the spare is not waited for any longer
    return h;
  }
  if (state == JobState::kReserving) return h;
  h.reserve();
  if (state == JobState::kStarting) return h;
  h.start_all();
  if (state == JobState::kRunning) return h;
  if (state == JobState::kReplaying) {
    h.tell_exit(says(0, 0, "drifts"));
    h.all_gone();
    return h;
  }
  h.tell_exit(exited(0, 0, 1));
  h.recover();
  h.tell(AgentLost{"killed", true}, 1);
  if (state == JobState::kStopping) return h;
  if (state == JobState::kBackoff) {
    h.tell(WorkersGone{{1}, 0, {}, {}}, 0);
    return h;
  }
  h.tell(SignalReceived{SIGTERM, false});
  if (state == JobState::kFinishing) return h;
  h.tell(WorkersGone{{1}, 0, {}, {}}, 0);
  return h;
}

struct Row {
  const char* name;
  // By state: idle joining reserving starting running stopping backoff finishing finished
  // checking placing replaying.
  // '+' acts, 'n' only takes note, '.' ignores.
  std::string_view cells;
  EventBody (*make)(const Harness&);
  std::uint32_t node = 0;
};

constexpr JobState kAll[] = {JobState::kIdle,     JobState::kJoining,   JobState::kReserving,
                             JobState::kStarting, JobState::kRunning,   JobState::kStopping,
                             JobState::kBackoff,  JobState::kFinishing, JobState::kFinished,
                             JobState::kChecking, JobState::kPlacing,   JobState::kReplaying};

EventBody timer(const Harness& h, TimerId id) {
  return TimerFired{id, h.timers[static_cast<std::size_t>(id)].sequence};
}

const Row kRows[] = {
    {"RunStarted", "+...........",
     [](const Harness&) -> EventBody {
       RunStarted started;
       started.spec = make_spec({1});
       return started;
     }},
    {"AgentJoined", ".+...nnn....",
     [](const Harness&) -> EventBody { return AgentJoined{10, {}, 0}; }, 1},
    {"AgentJoined of a spare", ".++++++n.n++",
     [](const Harness&) -> EventBody { return AgentJoined{10, {}, 0}; }, 2},
    {"AgentLost of a spare", ".++++++n.+++",
     [](const Harness&) -> EventBody { return AgentLost{"x", true}; }, 2},
    {"AgentLost", ".++++++n.+++", [](const Harness&) -> EventBody { return AgentLost{"x", true}; },
     1},
    {"PortReserved", "..+.........",
     [](const Harness& h) -> EventBody { return PortReserved{h.job.attempt(), 29500, {}}; }},
    {"WorkerStarted", "...n........",
     [](const Harness& h) -> EventBody { return WorkerStarted{h.job.attempt(), {0}, 5}; }},
    {"WorkerStartFailed", "...+.n......",
     [](const Harness& h) -> EventBody { return WorkerStartFailed{h.job.attempt(), {0}, 5, "x"}; }},
    {"WorkerExited", "...++n......",
     [](const Harness& h) -> EventBody { return exited(h.job.attempt().value, 0, 1); }},
    {"WorkersGone", "...+++.+....",
     [](const Harness& h) -> EventBody { return WorkersGone{h.job.attempt(), 0, {}, {}}; }},
    {"Progress", "...nnn......",
     [](const Harness& h) -> EventBody {
       return Progress{h.job.attempt(), Progress::Mark::kFirstStep, h.now, 1, {}, {}, {}};
     }},
    {"StepGoalReached", "...++.......",
     [](const Harness& h) -> EventBody { return StepGoalReached{h.job.attempt(), 1}; }},
    {"end signal", ".+++++++.+++",
     [](const Harness&) -> EventBody { return SignalReceived{SIGTERM, false}; }},
    {"user signal", "...++.......",
     [](const Harness&) -> EventBody { return SignalReceived{SIGUSR1, true}; }},
    {"state timer", ".+++.+.+.+++", [](const Harness& h) { return timer(h, TimerId::kState); }},
    {"back-off timer", "......+.....",
     [](const Harness& h) { return timer(h, TimerId::kBackoff); }},
    {"time limit", ".++++++n.+++", [](const Harness& h) { return timer(h, TimerId::kTimeLimit); }},
    {"uptime timer", "....+.......", [](const Harness& h) { return timer(h, TimerId::kUptime); }},
    {"nodes timer", ".++++++n.+++", [](const Harness& h) { return timer(h, TimerId::kNodes); }},
    // Only a vote sets it: job_slow_test.cpp.
    {"slow timer", "............", [](const Harness& h) { return timer(h, TimerId::kSlow); }},
    {"NodeOffered", ".++++++..+++",
     [](const Harness&) -> EventBody { return NodeOffered{{"node9", "10.0.0.9", 1, true}}; }},
    {"NodesChecked", ".........+..", [](const Harness&) -> EventBody { return all_healthy(2); }},
    {"PlacementSolved", "..........+.",
     [](const Harness& h) -> EventBody {
       const auto asked = h.all<SolvePlacement>();
       return PlacementSolved{asked.empty() ? 1 : asked[0].digest, {{1}, {0}}, "so", {}, {}};
     }},
    {"Diagnosed", "....+.......",
     [](const Harness& h) -> EventBody {
       return Diagnosed{h.job.attempt(), Diagnosed::Stage::kConvicted, {}, {}};
     }},
    {"MetricAlarm", "....+.......",
     [](const Harness& h) -> EventBody {
       return MetricAlarm{h.job.attempt(), "loss", MetricAlarm::Kind::kJump, 9, 1, 5, false};
     }},
    {"NodesReplayed", "...........+",
     [](const Harness&) -> EventBody {
       return NodesReplayed{1, {}, {{GroupReplayed::Outcome::kPassed, {}, {}}}};
     }},
    {"CheckpointNoted of a load", "...+++.+....",
     [](const Harness& h) -> EventBody {
       return CheckpointNoted{h.job.attempt(), CheckpointNoted::What::kLoaded, {7, 1, "a"}, {}, {}};
     }},
    {"CheckpointNoted of a commit", "...nnn.n....",
     [](const Harness& h) -> EventBody {
       return CheckpointNoted{
           h.job.attempt(), CheckpointNoted::What::kCommitted, {7, 1, "a"}, {}, {}};
     }},
    // Only a demotion waits for it: job_checkpoint_test.cpp.
    {"CheckpointDemoted", "............",
     [](const Harness&) -> EventBody { return CheckpointDemoted{1, {}}; }},
    // Only a group whose agents reach each other asks for keepers, has copies and waits until those
    // of lost nodes are saved: job_copies_test.cpp.
    {"BackupSolved", "............",
     [](const Harness&) -> EventBody { return BackupSolved{1, {1, 0}, "another node", false}; }},
    {"CopiesKept", "...nnn......",
     [](const Harness& h) -> EventBody {
       return CopiesKept{h.job.attempt(), {{base::Rank{0}, true, false, 7}}};
     }},
    {"HeldCopiesSaved", "............",
     [](const Harness& h) -> EventBody { return HeldCopiesSaved{h.job.attempt(), 1, 1, {}}; }},
    // Only what is still being saved can be over: job_saving_test.cpp.
    {"SavingOver", "............", [](const Harness&) -> EventBody { return SavingOver{{0}, 0}; }},
    {"CheckpointMoved", "............",
     [](const Harness& h) -> EventBody {
       return CheckpointMoved{h.job.attempt(), "out/checkpoint-4", "out/aside/checkpoint-4", "why"};
     }},
    {"StartStages", "............",
     [](const Harness& h) -> EventBody {
       return StartStages{h.job.attempt(),
                          {{StageName::kImports, h.now, h.now, {}, base::Rank{0}}}};
     }},
    {"FaultInjected", "............",
     [](const Harness& h) -> EventBody {
       return FaultInjected{"kill", h.job.attempt(), base::NodeId{0}, base::Rank{0},
                            100,    "SIGKILL"};
     }},
    {"SupervisorResumed", ".+++++++++++",
     [](const Harness&) -> EventBody { return SupervisorResumed{2, "other", 7, {}, {}}; }},
    {"NodeHealth", ".++++++..+++",
     [](const Harness&) -> EventBody {
       return NodeHealth{NodeHealth::Source::kNetwork, "eth0", "link is down", 0, false};
     }},
    {"UpdateRequested", ".++++++..+++",
     [](const Harness&) -> EventBody { return UpdateRequested{1, {"env A=1"}, {}, false, {}}; }},
    {"UpdateRequested, now", ".++++++..+++",
     [](const Harness&) -> EventBody { return UpdateRequested{1, {"env A=1"}, {}, true, {}}; }},
    {"UpdateRequested of no such version", "............",
     [](const Harness&) -> EventBody { return UpdateRequested{7, {"env A=1"}, {}, true, {}}; }},
    {"NodeEnding", ".++++++..+++",
     [](const Harness&) -> EventBody { return NodeEnding{"preempted"}; }},
};

TEST_CASE("every event is handled, or ignored on purpose, in every state") {
  for (const Row& row : kRows) {
    for (std::size_t i = 0; i < std::size(kAll); ++i) {
      Harness h = in_state(kAll[i]);
      CAPTURE(row.name);
      CAPTURE(to_string(kAll[i]));
      REQUIRE(h.job.state() == kAll[i]);
      const std::uint64_t before = h.job.digest();
      h.tell(row.make(h), row.node);
      const bool changed = h.job.digest() != before;
      // These are said, or passed on, and nothing is kept of them.
      const std::string_view name = row.name;
      const bool leaves_no_trace = name == "user signal" || name == "MetricAlarm";
      CHECK(changed == (row.cells[i] != '.' && !leaves_no_trace));
      CHECK(h.actions.empty() == (row.cells[i] != '+'));
    }
  }
}

TEST_CASE("events of another attempt, generation, node or rank are ignored in every state") {
  for (const JobState state : kAll) {
    Harness h = in_state(state);
    const std::uint64_t before = h.job.digest();
    const base::Attempt wrong{h.job.attempt().value + 1};
    const auto ignored = [&](EventBody body, base::NodeId node, base::Generation generation) {
      CHECK(h.job.handle(Event{h.now, node, generation, std::move(body)}).empty());
      CHECK(h.job.digest() == before);
    };
    for (const std::uint32_t node : {0U, 1U}) {
      const base::Generation current{node < h.generation.size() ? h.generation[node] : 0};
      ignored(WorkersGone{wrong, 0, {}, {}}, {node}, current);
      ignored(PortReserved{wrong, 1234, {}}, {node}, current);
      ignored(exited(wrong.value, node, 1), {node}, current);
      ignored(WorkerStarted{h.job.attempt(), {77}, 1}, {node}, current);
      ignored(exited(h.job.attempt().value, 1 - node, 1), {node}, current);
      ignored(AgentLost{"old", true}, {node}, {current.value + 1});
      ignored(CheckpointNoted{wrong, CheckpointNoted::What::kLoaded, {1, 1, "a"}, {}, {}}, {node},
              current);
      ignored(CheckpointDemoted{1, {}}, {node}, {current.value + 1});
      ignored(CopiesKept{wrong, {{base::Rank{0}, true, true, 7}}}, {node}, current);
      ignored(CopiesKept{h.job.attempt(), {{base::Rank{77}, true, true, 7}}}, {node}, current);
      ignored(HeldCopiesSaved{h.job.attempt(), 1, 1, {}}, {node}, {current.value + 1});
      ignored(SavingOver{h.job.attempt(), 0}, {node}, {current.value + 1});
      ignored(AgentJoined{1, {}, 0}, {node}, {0});
    }
    ignored(AgentLost{"x", true}, {9}, {1});
    ignored(TimerFired{TimerId::kState, 0}, {}, {});
    ignored(TimerFired{TimerId::kState, 999}, {}, {});
    ignored(TimerFired{static_cast<TimerId>(200), 999}, {}, {});
    ignored(StepGoalReached{wrong, 1}, {}, {});
    ignored(Progress{wrong, Progress::Mark::kFirstStep, {}, 1, {}, {}, {}}, {}, {});
  }
}

TEST_CASE("the same report twice changes nothing") {
  Harness h = in_state(JobState::kRunning);
  const auto twice = [&](const EventBody& body, std::uint32_t node) {
    h.tell(body, node);
    const std::uint64_t once = h.job.digest();
    h.tell(body, node);
    CHECK(h.actions.empty());
    CHECK(h.job.digest() == once);
  };
  twice(WorkerStarted{{0}, {0}, 100}, 0);
  twice(exited(0, 0, 0), 0);
  twice(WorkersGone{{0}, 0, {}, {}}, 0);
  twice(exited(0, 1, 7), 1);
  twice(WorkersGone{{0}, 0, {}, {}}, 1);
}

TEST_CASE("a replay of the journal gives the same state and goes on the same way") {
  for (const JobState state : kAll) {
    Harness h = in_state(state);
    Job replayed;
    for (const Event& event : h.journal) replayed.handle(event);
    CAPTURE(to_string(state));
    CHECK(replayed.digest() == h.job.digest());
    const Event next{h.now, {}, {}, SignalReceived{SIGTERM, false}};
    CHECK(replayed.handle(next).size() == h.job.handle(next).size());
    CHECK(replayed.digest() == h.job.digest());
  }
}

TEST_CASE("different runs have different digests") {
  CHECK(Harness(make_spec({1})).job.digest() != Harness(make_spec({2})).job.digest());
  CHECK(Harness(make_spec(), 1).job.digest() != Harness(make_spec(), 2).job.digest());
  CHECK(Harness().job.digest() == Harness().job.digest());
}

}  // namespace
}  // namespace robustrun::supervisor::test::job_table_test
