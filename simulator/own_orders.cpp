// How the virtual cluster carries out what the core orders.

#include <algorithm>
#include <utility>
#include <variant>

#include "simulator/own_cluster.h"

namespace robustrun::simulator {

void OwnCluster::perform(const core::Action& action) {
  if (const auto* agent = std::get_if<core::LaunchAgent>(&action)) return launch(*agent);
  if (const auto* begin = std::get_if<core::StartWorkers>(&action)) return start(*begin);
  if (const auto* end = std::get_if<core::StopWorkers>(&action)) return stop(*end);
  if (const auto* timer = std::get_if<core::SetTimer>(&action)) return arm(*timer);
  if (const auto* nodes = std::get_if<core::CheckNodes>(&action)) return check(*nodes);
  if (const auto* groups = std::get_if<core::ReplayNodes>(&action)) return replay(*groups);
  if (const auto* pace = std::get_if<core::LookAtPace>(&action)) return look_at_pace(*pace);
  if (const auto* decision = std::get_if<core::Decision>(&action)) return heed(*decision);
  if (const auto* judged = std::get_if<core::NodesJudged>(&action)) {
    for (const core::NodeVerdict& one : judged->verdicts) {
      if (one.level == core::Fitness::kUnfit) evicted(one.node);
    }
  }
}

void OwnCluster::launch(const core::LaunchAgent& order) {
  Machine& machine = machine_of(order.node);
  machine.generation = order.generation;
  later(own_.times.agent.value, [this, &machine, order] {
    if (!machine.is_known || machine.node != order.node) return;
    if (machine.generation != order.generation) return;
    if (machine.is_away) return tell(machine, core::AgentLost{"no route to host", false, {}});
    if (!machine.joined) ++joined_;
    machine.joined = true;
    tell(machine, core::AgentJoined{1, {}, 1});
  });
}

// Orders of an attempt come together, the first rank's first.
void OwnCluster::start(const core::StartWorkers& order) {
  if (order.group_rank == 0) {
    attempt_ = order.attempt;
    is_hung_ = false;
    group_.clear();
    later(own_.times.start.value, [this, attempt = order.attempt] {
      const std::vector<base::NodeId> group = group_;
      core::Event event{time_.now(), {}, {}, core::WorkerStarted{attempt, {}, 1}};
      for (std::uint32_t i = 0; i < group.size(); ++i) {
        if (job_.state() != core::JobState::kStarting || attempt_ != attempt) return;
        const Machine& machine = machine_of(group[i]);
        if (machine.is_away || !machine.is_known) continue;
        event.node = machine.node;
        event.generation = machine.generation;
        std::get<core::WorkerStarted>(event.body).rank = base::Rank{i};
        tell(event);
      }
    });
  }
  group_.push_back(order.node);
}

void OwnCluster::stop(const core::StopWorkers& order) {
  if (stopping_.empty()) {
    saves_first_ = order.save_first;
    const Nanos saving = order.save_first ? terms_.checkpoint_stall.value : Nanos{};
    const Figure<Nanos>& stop = is_hung_ ? own_.times.stop_hung : own_.times.stop;
    later(stop.value + saving, [this, attempt = order.attempt] {
      const std::vector<base::NodeId> nodes = std::exchange(stopping_, {});
      core::Event event{time_.now(), {}, {}, core::WorkersGone{attempt, 0, {}, {}}};
      for (const base::NodeId node : nodes) {
        const Machine& machine = machine_of(node);
        const bool is_there =
            machine.is_known && machine.node == node && (machine.joined || machine.is_out);
        if (!is_there) continue;
        event.node = node;
        event.generation = machine.generation;
        tell(event);
      }
    });
  }
  stopping_.push_back(order.node);
}

void OwnCluster::arm(const core::SetTimer& timer) {
  armed_[static_cast<std::size_t>(timer.id)] = timer.sequence;
  time_.at(timer.at, [this, timer, run = run_] {
    if (run != run_ || armed_[static_cast<std::size_t>(timer.id)] != timer.sequence) return;
    tell({}, {}, core::TimerFired{timer.id, timer.sequence});
  });
}

// A broken machine gives no answer; of the others nothing is to be said.
void OwnCluster::check(const core::CheckNodes& order) {
  later(own_.times.check.value, [this, order] {
    core::NodesChecked result;
    result.check = order.check;
    result.full = order.full;
    result.took = own_.times.check.value;
    result.nodes.reserve(order.nodes.size());
    for (const base::NodeId node : order.nodes) {
      const Machine& machine = machine_of(node);
      core::NodeCheck one;
      one.node = node;
      one.generation = machine.generation;
      one.answered = true;
      constexpr std::uint64_t kRoom = std::uint64_t{1} << 36;
      one.facts.disk = {"/job", kRoom, kRoom, ""};
      one.facts.shm = {"/dev/shm", kRoom, kRoom, ""};
      if (machine.is_broken) one.facts.missing = "a GPU";
      result.nodes.push_back(std::move(one));
    }
    tell({}, {}, std::move(result));
  });
}

void OwnCluster::replay(const core::ReplayNodes& order) {
  if (order.groups.empty()) return;
  later(own_.times.replay.value, [this, order] {
    core::NodesReplayed result{order.replay, own_.times.replay.value, {}};
    for (const auto& group : order.groups) {
      const bool fails = std::ranges::any_of(group, [this](const core::ReplayNodes::Place& place) {
        return machine_of(place.node).is_broken;
      });
      using Outcome = core::GroupReplayed::Outcome;
      result.groups.push_back({fails ? Outcome::kFailed : Outcome::kPassed, {}, {}});
    }
    tell({}, {}, std::move(result));
  });
}

void OwnCluster::look_at_pace(const core::LookAtPace& order) {
  in_attempt(own_.times.look.value, [this, order] {
    core::Diagnosed found;
    found.attempt = order.attempt;
    found.stage = core::Diagnosed::Stage::kRound;
    found.usual = found.period = terms_.step.value;
    if (const Machine* slowest = slow_machine()) {
      found.verdict.finding = tracer::Finding::kSlowRank;
      found.verdict.culprits = {rank_of(*slowest)};
      found.period = from_seconds(in_seconds(terms_.step.value) * slowest->slows);
    }
    tell({}, {}, std::move(found));
  });
}

void OwnCluster::heed(const core::Decision& decision) {
  if (decision.rule != core::Rule::kNodeEvicted) return;
  for (const base::NodeId node : decision.nodes) evicted(node);
}

}  // namespace robustrun::simulator
