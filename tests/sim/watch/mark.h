#pragma once
// Checkpoint demotion. A checkpoint is only marked if it was loaded and the job failed from it as
// often as the policy says, or its numbers went wrong. No worker loads a marked one. Nothing starts
// while a mark is pending, since some ranks would load the checkpoint and others not.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "supervisor/core/job/job.h"
#include "supervisor/core/types/limits.h"
#include "tests/sim/event_queue.h"
#include "tests/sim/watch/group.h"

namespace robustrun::sim {

namespace core = supervisor;

class MarkWatch {
 public:
  explicit MarkWatch(const core::JobSpec& spec) : marked_after_(spec.policy.poison_after) {}

  // The agent has carried out the order with this number, or has failed.
  void answered(std::uint64_t order) {
    if (order == order_) order_ = 0;
  }
  // These two return the broken rule, or null. `groups`: state before the event.
  [[nodiscard]] const char* on_event(const core::Event& event, const GroupWatch& groups) {
    if (groups.is_of_the_past(event)) return nullptr;
    is_alarmed_ = is_alarmed_ || std::holds_alternative<core::MetricAlarm>(event.body);
    const auto* demoted = std::get_if<core::CheckpointDemoted>(&event.body);
    if (demoted != nullptr && demoted->error.empty() && demoted->order == newest_) {
      marked_.insert(key_of(id_));
    }
    const auto* noted = std::get_if<core::CheckpointNoted>(&event.body);
    const bool is_load = noted != nullptr && noted->what == core::CheckpointNoted::What::kLoaded;
    if (!is_load || noted->attempt != attempt_) return nullptr;
    loaded_ = noted->id;
    loads_[key_of(noted->id)].insert(attempt_);
    return marked_.contains(key_of(noted->id)) ? "nobody_goes_on_from_what_is_marked" : nullptr;
  }
  [[nodiscard]] const char* on_action(Nanos now, const core::Action& action) {
    const auto* demote = std::get_if<core::DemoteCheckpoint>(&action);
    if (demote == nullptr) return nullptr;
    const bool is_new = demote->order != newest_;  // otherwise a repetition
    if (is_new) until_ = now + core::kDemotionMax;
    order_ = newest_ = demote->order;
    const bool is_the_one = demote->id == (is_new ? loaded_ : id_);
    id_ = demote->id;
    if (!is_the_one) return "marks_are_of_what_was_loaded";
    const bool is_earned = is_alarmed_ || loads_[key_of(id_)].size() >= marked_after_;
    return is_new && !is_earned ? "no_good_checkpoint_is_marked" : nullptr;
  }
  // Whether another attempt may start now.
  [[nodiscard]] bool starts(Nanos now, base::Attempt attempt) {
    attempt_ = attempt;
    loaded_.reset();
    is_alarmed_ = false;
    return order_ == 0 || now >= until_;
  }

 private:
  using Key = std::tuple<std::uint64_t, std::uint64_t, std::string>;
  static Key key_of(const core::CheckpointId& id) { return {id.step, id.generation, id.token}; }

  std::uint32_t marked_after_;
  std::uint64_t order_ = 0;  // unanswered
  std::uint64_t newest_ = 0;
  core::CheckpointId id_;  // of that order
  Nanos until_{};
  base::Attempt attempt_;
  std::optional<core::CheckpointId> loaded_;  // in this attempt
  bool is_alarmed_ = false;  // in this attempt
  std::map<Key, std::set<base::Attempt>> loads_;
  std::set<Key> marked_;
};

}  // namespace robustrun::sim
