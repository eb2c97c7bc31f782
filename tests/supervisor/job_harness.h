#pragma once
// A Job with a hand-moved clock and shorthands for events: tests read as lists of what happens.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "supervisor/core/job/job.h"
#include "tests/supervisor/job_words.h"

namespace robustrun::supervisor::test {

class Harness {
 public:
  explicit Harness(JobSpec spec = make_spec(), std::uint64_t seed = 1) : spec_(std::move(spec)) {
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
      } else if (const auto* formed = std::get_if<GroupFormed>(&action)) {
        take_group(*formed);
      } else if (const auto* start = std::get_if<StartWorkers>(&action)) {
        CHECK(is_as_announced(*start));
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

  // Adds a node that joins by itself; returns its number.
  std::uint32_t offer(const std::string& name, std::optional<std::uint32_t> node_rank = {},
                      std::uint32_t slots = 1) {
    tell(NodeOffered{{name, "10.1.0." + name, slots, true, node_rank}});
    return static_cast<std::uint32_t>(generation.size() - 1);
  }
  void join(std::uint32_t node) { tell(AgentJoined{10, {}, 0}, node); }
  void join_all() {
    for (std::uint32_t node = 0; node < spec_.nodes.size(); ++node) join(node);
  }
  void lose(std::uint32_t node, const std::string& why = "killed", bool node_answers = true) {
    tell(AgentLost{why, node_answers}, node);
  }
  void gone(std::uint32_t node) { tell(WorkersGone{job.attempt(), 0, {}, {}}, node); }
  void reserve() { tell(PortReserved{job.attempt(), next_port++, {}}, group.front()); }
  // Goes from a complete group to a running one.
  void begin() {
    reserve();
    start_all();
    REQUIRE(job.state() == JobState::kRunning);
  }
  void start_all() {
    for (std::uint32_t rank = 0; rank < node_of.size(); ++rank) {
      tell(WorkerStarted{job.attempt(), {rank}, 100 + static_cast<int>(rank)}, node_of[rank]);
    }
  }
  void all_gone() {
    const base::Attempt attempt = job.attempt();
    for (const std::uint32_t node : std::vector(group)) {
      tell(WorkersGone{attempt, 0, {}, {}}, node);
    }
  }
  void first_step() {
    tell(Progress{job.attempt(), Progress::Mark::kFirstStep, now, 1, {}, {}, {}});
  }
  void run() {
    join_all();
    begin();
  }
  // Every node of the group that still has an agent reports that its workers are gone.
  void all_gone_but(std::uint32_t lost) {
    for (const std::uint32_t node : std::vector(group)) {
      if (node != lost) gone(node);
    }
  }
  // A machine goes down while the group runs, and the others stop.
  void lose_machine(std::uint32_t node) {
    lose(node, "no power", false);
    all_gone_but(node);
  }
  // A failed attempt's end and the next one's start.
  void recover() {
    all_gone();
    if (job.state() == JobState::kBackoff) fire(TimerId::kBackoff);
    REQUIRE(job.state() == JobState::kReserving);
    begin();
  }

  // As recover(), when one node's agent was lost and all of its workers with it.
  void recover_without(std::uint32_t lost) {
    all_gone_but(lost);
    if (job.state() == JobState::kBackoff) fire(TimerId::kBackoff);
    REQUIRE(job.state() == JobState::kReserving);
    begin();
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
  [[nodiscard]] std::vector<std::string> evidence(Rule rule) const {
    for (const Decision& decision : all<Decision>()) {
      if (decision.rule == rule) return decision.evidence;
    }
    return {"no such decision"};
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
  std::vector<std::uint32_t> group;     // nodes, by group rank
  std::vector<std::uint32_t> node_of;   // by rank
  std::array<SetTimer, kTimers> timers;
  std::uint32_t next_port = 20000;

 private:
  [[nodiscard]] bool is_as_announced(const StartWorkers& order) const {
    if (order.group_rank >= members_.size()) return false;
    const GroupMember& member = members_[order.group_rank];
    return order.node == member.node && order.workers.size() == member.slots &&
           order.group_world_size == members_.size() && order.world_size == node_of.size() &&
           (member.slots == 0 || order.workers[0].rank.value == member.first_rank);
  }
  void take_group(const GroupFormed& formed) {
    members_ = formed.members;
    group.clear();
    node_of.clear();
    for (const GroupMember& member : formed.members) {
      CHECK(member.first_rank == node_of.size());
      group.push_back(member.node.value);
      node_of.insert(node_of.end(), member.slots, member.node.value);
    }
  }

  JobSpec spec_;
  std::vector<GroupMember> members_;   // of the newest group
};

}  // namespace robustrun::supervisor::test
