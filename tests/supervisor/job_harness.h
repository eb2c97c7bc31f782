#pragma once
// A Job with a hand-moved clock and shorthands for events: tests read as lists of what happens.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "supervisor/core/job.h"

namespace robustrun::supervisor::test {

using base::Nanos;
using std::chrono::milliseconds;
using std::chrono::seconds;

inline JobSpec make_spec(std::vector<std::uint32_t> slots = {2}) {
  JobSpec spec;
  spec.run_id = "test";
  for (std::size_t i = 0; i < slots.size(); ++i) {
    spec.nodes.push_back({"node" + std::to_string(i), "10.0.0." + std::to_string(i), slots[i]});
  }
  return spec;
}

inline WorkerExited exited(std::uint32_t attempt, std::uint32_t rank, int code) {
  WorkerExited exit;
  exit.attempt.value = attempt;
  exit.rank.value = rank;
  exit.pid = 100 + static_cast<int>(rank);
  exit.code = code;
  return exit;
}

inline WorkerExited killed(std::uint32_t attempt, std::uint32_t rank, int signal) {
  WorkerExited exit = exited(attempt, rank, signal);
  exit.kind = base::ExitStatus::Kind::kSignaled;
  return exit;
}

class Harness {
 public:
  explicit Harness(JobSpec spec = make_spec(), std::uint64_t seed = 1) : spec_(std::move(spec)) {
    std::uint32_t rank = 0;
    for (std::uint32_t node = 0; node < spec_.nodes.size(); ++node) {
      for (std::uint32_t i = 0; i < spec_.nodes[node].slots; ++i, ++rank) node_of.push_back(node);
    }
    RunStarted started;
    started.spec = spec_;
    started.seed = seed;
    started.wall_time = seconds(1'700'000'000);
    tell(started);
  }

  // The event of node `node` comes from its newest agent.
  const std::vector<Action>& tell(EventBody body, std::uint32_t node = 0) {
    Event event{now, {node}, {1}, std::move(body)};
    if (node < generation.size()) event.generation.value = generation[node];
    return tell(event);
  }
  const std::vector<Action>& tell(const Event& event) {
    journal.push_back(event);
    actions = job.handle(event);
    for (const Action& action : actions) {
      if (const auto* launch = std::get_if<LaunchAgent>(&action)) {
        generation.resize(std::max<std::size_t>(generation.size(), launch->node.value + 1));
        generation[launch->node.value] = launch->generation.value;
      } else if (const auto* timer = std::get_if<SetTimer>(&action)) {
        timers[static_cast<std::size_t>(timer->id)] = *timer;
      }
    }
    return actions;
  }
  const std::vector<Action>& tell_exit(const WorkerExited& exit) {
    return tell(exit, node_of[exit.rank.value]);
  }
  const std::vector<Action>& fire(TimerId id) {
    const SetTimer& timer = timers[static_cast<std::size_t>(id)];
    now = std::max(now, timer.at);
    return tell(TimerFired{id, timer.sequence});
  }

  void join_all() {
    for (std::uint32_t node = 0; node < spec_.nodes.size(); ++node) tell(AgentJoined{10}, node);
  }
  void reserve() { tell(PortReserved{job.attempt(), next_port++, {}}); }
  void start_all() {
    for (std::uint32_t rank = 0; rank < node_of.size(); ++rank) {
      tell(WorkerStarted{job.attempt(), {rank}, 100 + static_cast<int>(rank)}, node_of[rank]);
    }
  }
  void all_gone() {
    const base::Attempt attempt = job.attempt();
    for (std::uint32_t node = 0; node < spec_.nodes.size(); ++node) {
      tell(WorkersGone{attempt, 0, {}, {}}, node);
    }
  }
  void first_step() {
    tell(Progress{job.attempt(), Progress::Mark::kFirstStep, now, 1, {}, {}, {}});
  }
  void run() {
    join_all();
    reserve();
    start_all();
    REQUIRE(job.state() == JobState::kRunning);
  }
  // A failed attempt's end and the next one's start.
  void recover() {
    all_gone();
    if (job.state() == JobState::kBackoff) fire(TimerId::kBackoff);
    REQUIRE(job.state() == JobState::kReserving);
    reserve();
    start_all();
    REQUIRE(job.state() == JobState::kRunning);
  }

  template <class A>
  [[nodiscard]] std::vector<A> all() const {
    std::vector<A> found;
    for (const Action& action : actions) {
      if (const A* one = std::get_if<A>(&action)) found.push_back(*one);
    }
    return found;
  }
  [[nodiscard]] bool decided(Rule rule) const {
    for (const Decision& decision : all<Decision>()) {
      if (decision.rule == rule) return true;
    }
    return false;
  }
  [[nodiscard]] std::string text(Rule rule) const {
    for (const Decision& decision : all<Decision>()) {
      if (decision.rule == rule) return decision.text;
    }
    return "no such decision";
  }
  [[nodiscard]] int exit_code() const {
    const auto finishes = all<Finish>();
    REQUIRE(finishes.size() == 1);
    REQUIRE(job.state() == JobState::kFinished);
    return finishes.front().exit_code;
  }

  Job job;
  Nanos now = seconds(1000);
  std::vector<Event> journal;
  std::vector<Action> actions;   // of the last event
  std::vector<std::uint32_t> generation;
  std::vector<std::uint32_t> node_of;
  std::array<SetTimer, 4> timers;
  std::uint32_t next_port = 20000;

 private:
  JobSpec spec_;
};

}  // namespace robustrun::supervisor::test
