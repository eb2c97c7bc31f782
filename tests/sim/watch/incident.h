#pragma once
// Every incident is closed within its time limit.
//
// An incident begins with a report of an agent or the analyzer about the current attempt: a worker
// that fails or cannot be started, workers that vanish, a machine's loss, a hang with its culprit.
// The core must react at once: with an order to stop or, if nothing is left to stop, the decision
// to restart or to end. From then on, and whenever workers are stopped for another reason, the next
// start or the end of the run is due within the sum of all deadlines in between. Another failure
// meanwhile, or the supervisor's death, starts that sum anew.

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "supervisor/core/types/limits.h"
#include "tests/sim/watch/group.h"

namespace robustrun::sim {

class IncidentWatch {
 public:
  explicit IncidentWatch(const core::JobSpec& spec) : spec_(spec) {}

  // `is_past`: from GroupWatch, before the event. Returns what is late; empty: nothing.
  [[nodiscard]] std::string on_event(const core::Event& event, bool is_past,
                                     const GroupWatch& groups) {
    if (is_over_) return {};
    const bool is_takeover = std::holds_alternative<core::SupervisorResumed>(event.body);
    std::string late = is_takeover ? std::string() : what_is_late(event.at);
    if (std::holds_alternative<core::RunStarted>(event.body)) {
      open(event.at, "the run begins", true);
    }
    if (renews(event, is_past)) renew(event.at);
    if (is_takeover) starts_by_ = std::max(starts_by_, event.at + core::kReunionMax);
    if (is_past || !runs_) return late;
    if (std::string what = failure(event, groups); !what.empty()) {
      open(event.at, std::move(what), false);
    }
    return late;
  }

  [[nodiscard]] std::string on_actions(Nanos now, const std::vector<core::Action>& actions) {
    if (is_over_) return {};
    for (const core::Action& action : actions) {
      if (const auto* start = std::get_if<core::StartWorkers>(&action)) on_start(now, *start);
      if (const auto* stop = std::get_if<core::StopWorkers>(&action)) on_stop(now, *stop);
      if (const auto* decision = std::get_if<core::Decision>(&action)) on_decision(now, *decision);
      if (std::holds_alternative<core::Finish>(action)) {
        is_over_ = true;
        return {};
      }
    }
    return open_ && !open_->is_answered ? open_->what + ": nothing follows" : std::string();
  }

 private:
  struct Incident {
    std::string what;
    Nanos at{};
    bool is_answered = false;
    Nanos due{};  // the next start, or the end
  };

  [[nodiscard]] std::string what_is_late(Nanos now) const {
    const auto seconds_of = [](Nanos time) { return std::chrono::duration<double>(time).count(); };
    if (open_ && !open_->is_answered && now > open_->at) return open_->what + ": no reaction";
    if (open_ && now > open_->due) {
      return fmt::format("{} at {:.1f} s, and neither a start nor the end by {:.1f} s", open_->what,
                         seconds_of(open_->at), seconds_of(open_->due));
    }
    if (runs_ && seen_.size() < world_size_ && now > starts_by_) {
      return fmt::format("{} of {} workers have started, without a reaction", seen_.size(),
                         world_size_);
    }
    return {};
  }

  // An event that delays the next start has its own deadline.
  [[nodiscard]] static bool renews(const core::Event& event, bool is_past) {
    const auto* port = std::get_if<core::PortReserved>(&event.body);
    const auto* signal = std::get_if<core::SignalReceived>(&event.body);
    return std::holds_alternative<core::SupervisorResumed>(event.body) ||
           std::holds_alternative<core::NodeHealth>(event.body) ||
           std::holds_alternative<core::NodesChecked>(event.body) ||
           std::holds_alternative<core::NodesReplayed>(event.body) ||
           std::holds_alternative<core::NodeOffered>(event.body) ||
           (signal != nullptr && !signal->forward_only) || (port != nullptr && port->port == 0) ||
           (!is_past && std::holds_alternative<core::AgentLost>(event.body));
  }

  // The failure in the event that ends the attempt; empty: none.
  [[nodiscard]] std::string failure(const core::Event& event, const GroupWatch& groups) {
    const auto member = std::ranges::find(groups.group(), event.node, &core::GroupMember::node);
    const bool is_member = member != groups.group().end();
    if (const auto* found = std::get_if<core::Diagnosed>(&event.body)) {
      const bool is_convicted = found->attempt == attempt_ && seen_.size() == world_size_ &&
                                found->stage == core::Diagnosed::Stage::kConvicted;
      return is_convicted ? "a hang" : "";
    }
    if (!is_member) return {};
    const auto is_its = [&](const auto& body) {
      return body.attempt == attempt_ && body.rank.value - member->first_rank < member->slots;
    };
    if (const auto* started = std::get_if<core::WorkerStarted>(&event.body)) {
      if (is_its(*started)) seen_.insert(started->rank);
    } else if (const auto* failed = std::get_if<core::WorkerStartFailed>(&event.body)) {
      if (is_its(*failed) && ended(event.node, failed->rank)) return words_of(event);
    } else if (const auto* exited = std::get_if<core::WorkerExited>(&event.body)) {
      const bool is_news = is_its(*exited) && ended(event.node, exited->rank);
      if (is_news && !exited->status().success()) return words_of(event);
    } else if (const auto* gone = std::get_if<core::WorkersGone>(&event.body)) {
      const bool is_news = gone->attempt == attempt_ && gone_.insert(event.node).second;
      if (is_news && ended_[event.node] < member->slots) return words_of(event);
    } else if (std::holds_alternative<core::AgentLost>(event.body)) {
      if (ended_[event.node] < member->slots) return words_of(event);
    }
    return {};
  }
  bool ended(base::NodeId node, base::Rank rank) {
    seen_.insert(rank);
    if (!ended_ranks_.insert(rank).second) return false;
    ++ended_[node];
    return true;
  }

  void on_start(Nanos now, const core::StartWorkers& start) {
    if (attempt_ && start.attempt <= *attempt_) return;  // repeated after a takeover
    attempt_ = start.attempt;
    world_size_ = start.world_size;
    starts_by_ = now + spec_.deadlines.workers_started;
    runs_ = true;
    open_.reset();
    seen_.clear();
    ended_ranks_.clear();
    ended_.clear();
    gone_.clear();
  }
  void on_stop(Nanos now, const core::StopWorkers& stop) {
    grace_ = std::max(grace_, stop.grace);
    if (!runs_) return;
    runs_ = false;
    if (!open_) open(now, "the workers are stopped", true);
    open_->is_answered = true;
    renew(now);
  }
  void on_decision(Nanos now, const core::Decision& decision) {
    using enum core::Rule;
    const bool tries_again = decision.rule == kRestart || decision.rule == kAgentLost ||
                             decision.rule == kStartFailed || decision.rule == kMachineFault;
    if (decision.rule == kRestart && open_) {
      runs_ = false;
      open_->is_answered = true;
    }
    if (tries_again && open_ && open_->is_answered) renew(now);
  }

  void open(Nanos now, std::string what, bool is_answered) {
    if (open_) return;
    open_ = Incident{std::move(what), now, is_answered, now + bound()};
  }
  void renew(Nanos now) {
    if (open_) open_->due = std::max(open_->due, now + bound());
  }
  // From the order to stop to the next start, each wait at its longest.
  [[nodiscard]] Nanos bound() const {
    const core::Deadlines& deadlines = spec_.deadlines;
    const core::GroupPolicy& group = spec_.group;
    Nanos sum =
        std::max(grace_, deadlines.shutdown_grace) + deadlines.kill_margin + core::kLookBackMax;
    sum += std::max<Nanos>({spec_.restart.backoff_max, core::kDemotionMax, core::kHeldSaveMax});
    sum += std::max(group.wait_for_nodes, deadlines.agent_hello * core::kAgentLaunchesMax);
    sum += group.spare_patience + (group.open ? group.last_call : Nanos{});
    const bool checks = spec_.preflight != core::PreflightDepth::kOff || spec_.policy.is_on();
    if (checks) sum += core::kPreflightGpuMax;
    constexpr int kWaves = 2;
    if (spec_.policy.is_on()) sum += kWaves * (spec_.policy.replay_limit + core::kReplayMargin);
    if (spec_.placement != core::PlacementUse::kOff) sum += core::kPlacementMax;
    return sum + deadlines.port + std::chrono::seconds(1);
  }

  const core::JobSpec& spec_;
  bool is_over_ = false, runs_ = false;  // the run; workers without a stop order
  std::optional<Incident> open_;
  std::optional<base::Attempt> attempt_;  // started last
  std::uint32_t world_size_ = 0;
  Nanos starts_by_{}, grace_{};
  std::set<base::Rank> seen_, ended_ranks_;  // of that attempt, as reported
  std::map<base::NodeId, std::uint32_t> ended_;  // number by node
  std::set<base::NodeId> gone_;
};

}  // namespace robustrun::sim
