#pragma once
// Invariants of keepers of copies, and of the wait for copies of lost nodes.

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "supervisor/core/job/job.h"
#include "supervisor/core/types/limits.h"
#include "tests/sim/watch/group.h"

namespace robustrun::sim {

namespace core = supervisor;

class CopyWatch {
 public:
  // The agent has carried out the order, or has failed.
  void answered(std::uint64_t order) {
    std::erase_if(saves_, [order](const auto& save) { return save.order == order; });
  }
  // A lost agent's orders are void. `groups`: state before the event.
  void on_event(const core::Event& event, const GroupWatch& groups) {
    // Agents need time to find the other supervisor.
    if (std::holds_alternative<core::SupervisorResumed>(event.body)) {
      backoff_since_ = event.at + core::kReunionMax;
    }
    const bool is_lost = std::holds_alternative<core::AgentLost>(event.body);
    if (!is_lost || groups.is_of_the_past(event)) return;
    std::erase_if(saves_, [&](const auto& save) { return save.node == event.node; });
  }
  void on_action(Nanos now, const core::Action& action) {
    if (const auto* place = std::get_if<core::PlaceCopies>(&action)) batch_.push_back(*place);
    const auto* save = std::get_if<core::SaveHeldCopies>(&action);
    if (save == nullptr) return;
    answered(save->order);  // a repeated order
    saves_.push_back(*save);
    if (!waits_since_) waits_since_ = waiting_since_.value_or(now);
  }
  // Returns what is wrong with the orders of one event; empty: nothing.
  [[nodiscard]] std::string end_of_actions() {
    const std::vector<core::PlaceCopies> batch = std::exchange(batch_, {});
    std::map<std::uint32_t, std::uint32_t> keeper_of, kept_by;  // by rank; by keeper: the node
    for (const core::PlaceCopies& one : batch) {
      for (const auto* routes : {&one.send, &one.hold, &one.fetch}) {
        for (const core::CopyRoute& route : *routes) {
          if (route.node == one.node) return fmt::format("rank {} with itself", route.rank.value);
        }
      }
      for (const core::CopyRoute& route : one.send) {
        if (!keeper_of.emplace(route.rank.value, route.node.value).second) {
          return fmt::format("rank {} is sent to two nodes", route.rank.value);
        }
        const auto kept = kept_by.emplace(route.node.value, one.node.value);
        if (kept.first->second != one.node.value) {
          return fmt::format("n{} keeps for two nodes", route.node.value);
        }
        if (!holds(batch, route, one.node)) {
          return fmt::format("n{} does not know that it keeps rank {}", route.node.value,
                             route.rank.value);
        }
      }
    }
    return {};
  }
  // A back-off that began with such an order ends in time.
  [[nodiscard]] bool waits_no_longer(Nanos now, core::JobState state, const core::JobSpec& spec) {
    if (state == core::JobState::kBackoff) {
      if (!backoff_since_) backoff_since_ = now;
      if (!waiting_since_) waiting_since_ = now;
    } else {
      backoff_since_.reset();
      waiting_since_.reset();
    }
    // A delay varies by half.
    const Nanos most = std::max(core::kHeldSaveMax, 2 * spec.restart.backoff_max);
    const Nanos plain = std::max(core::kHeldSaveMax, core::kDemotionMax);
    if (!backoff_since_) return true;
    return now <= *backoff_since_ + (spec.compat ? plain : most);
  }
  // All possible saves are done, or their time is over.
  [[nodiscard]] bool may_start(Nanos now, const GroupWatch& groups) {
    const bool is_over = waits_since_ && now >= *waits_since_ + core::kHeldSaveMax;
    const bool is_awaited = std::ranges::any_of(
        saves_, [&](const auto& save) { return groups.is_admitted(save.node); });
    saves_.clear();
    waits_since_.reset();
    return !is_awaited || is_over;
  }

 private:
  static bool holds(const std::vector<core::PlaceCopies>& batch, const core::CopyRoute& route,
                    base::NodeId owner) {
    return std::ranges::any_of(batch, [&](const core::PlaceCopies& other) {
      return other.node == route.node &&
             std::ranges::any_of(other.hold, [&](const core::CopyRoute& held) {
               return held.rank == route.rank && held.node == owner;
             });
    });
  }

  std::vector<core::PlaceCopies> batch_;  // of one event
  std::vector<core::SaveHeldCopies> saves_;  // unanswered
  std::optional<Nanos> waiting_since_;  // in this back-off, under any supervisor
  std::optional<Nanos> backoff_since_;  // the same, or since the take-over in it
  std::optional<Nanos> waits_since_;  // since the first of them, or its back-off
};

}  // namespace robustrun::sim
