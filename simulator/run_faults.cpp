#include "simulator/run_faults.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>
#include <variant>

#include "supervisor/core/types/events.h"

namespace robustrun::simulator {
namespace {

namespace core = supervisor;
using core::Rule;

// Decisions and events that concern one attempt.
struct Ended {
  const core::Decision* cause = nullptr;
  std::optional<base::NodeId> node;  // of the lost agent, or of the noticed fault
  bool node_answers = false;
  bool evicted = false;  // a machine was evicted for it
};

// The kind, if the rule alone determines it.
std::optional<FaultKind> kind_of(Rule rule) {
  if (rule == Rule::kHangConvicted) return FaultKind::kHang;
  if (rule == Rule::kMachineFault) return FaultKind::kGpu;
  if (rule == Rule::kSlowEvicted) return FaultKind::kSlow;
  if (rule == Rule::kMismatch || rule == Rule::kMetricFault) return FaultKind::kSoftware;
  if (rule == Rule::kPortConflict) return FaultKind::kPassing;
  if (rule == Rule::kNodeLeft) return FaultKind::kMaintenance;
  return std::nullopt;
}

class FaultFinder {
 public:
  explicit FaultFinder(const core::Facts& facts) : facts_(facts) {}

  void take(const core::Event& event) {
    if (const auto* lost = std::get_if<core::AgentLost>(&event.body)) {
      lost_ = {event.node, lost->node_answers};
    } else if (std::holds_alternative<core::NodeHealth>(event.body)) {
      noticed_ = event.node;
    } else if (std::holds_alternative<core::NodeEnding>(event.body)) {
      ending_.insert(event.node);
      last_ending_ = event.node;
    } else if (const auto* found = std::get_if<core::Diagnosed>(&event.body)) {
      note(*found);
    }
  }

  void take(Nanos at, const core::Decision& decision) {
    const std::uint32_t attempt = decision.attempt.value;
    const Rule rule = decision.rule;
    const bool by_user = rule == Rule::kUpdating || rule == Rule::kSignal ||
                         rule == Rule::kPreempted || rule == Rule::kTimeLimit;
    by_user_ += by_user ? 1 : 0;
    if (rule == Rule::kSlow) return begin_slow(at, attempt);
    if (rule == Rule::kSlowOver) return end_slow(at, true);
    if (rule == Rule::kNodeEvicted) ended_[attempt].evicted = true;
    const bool is_fault =
        role_of(rule) == core::RuleRole::kCause && !by_user && rule != Rule::kGroupGrew;
    Ended& ended = ended_[attempt];
    if (!is_fault || ended.cause != nullptr) return;
    ended.cause = &decision;
    if (rule == Rule::kAgentLost) std::tie(ended.node, ended.node_answers) = lost_;
    if (rule == Rule::kMachineFault) ended.node = noticed_;
    if (rule == Rule::kNodeLeft) ended.node = last_ending_;
    if (rule == Rule::kSlowEvicted) is_replaced_ = slow_.has_value();
    end_slow(at, false);
  }

  RunFaults finish(const std::map<std::uint32_t, core::AttemptMoments>& moments) {
    end_slow(facts_.last_at, false);
    for (const auto& [attempt, ended] : ended_) {
      const auto found = moments.find(attempt);
      if (ended.cause == nullptr || found == moments.end() || !found->second.began) continue;
      // The slow machine is already counted as one.
      if (ended.cause->rule == Rule::kSlowEvicted && replaced_.contains(attempt)) continue;
      faults_.push_back(fault(attempt, ended, found->second));
    }
    std::ranges::stable_sort(faults_, {}, &SeenFault::at);
    return {std::move(faults_), by_user_, std::move(slow_for_)};
  }

 private:
  void note(const core::Diagnosed& found) {
    if (!found.verdict.culprits.empty()) culprit_[found.attempt.value] = found.verdict.culprits[0];
    if (found.usual <= Nanos{} || found.period <= found.usual) return;
    slows_ = std::max(slows_, in_seconds(found.period) / in_seconds(found.usual));
  }

  void begin_slow(Nanos at, std::uint32_t attempt) {
    if (slow_) return;
    slow_ = at;
    slow_in_ = attempt;
  }

  void end_slow(Nanos at, bool by_itself) {
    if (!slow_) return;
    SeenFault& seen = faults_.emplace_back();
    seen.at = core::elapsed(facts_.first_at, *slow_);
    seen.attempt = slow_in_;
    seen.kind = FaultKind::kSlow;
    seen.in_training = true;
    seen.on_purpose = is_on_purpose(slow_in_, *slow_);
    seen.place = place_of_culprit(slow_in_);
    seen.slows = slows_;
    if (by_itself) {
      seen.lasts = core::elapsed(*slow_, at);
      slow_for_.push_back(seen.lasts);
    }
    if (std::exchange(is_replaced_, false)) replaced_.insert(slow_in_);
    slow_.reset();
    slows_ = 1;
  }

  SeenFault fault(std::uint32_t attempt, const Ended& ended,
                  const core::AttemptMoments& moments) const {
    SeenFault seen;
    seen.attempt = attempt;
    seen.at = core::elapsed(facts_.first_at, *moments.began);
    seen.in_training = moments.work && *moments.work <= *moments.began;
    seen.on_purpose = is_on_purpose(attempt, moments.acted.value_or(*moments.began));
    seen.node_answers = ended.node_answers;
    name_kind(ended, seen);
    const auto found = facts_.attempts.find(attempt);
    const bool has_failures = found != facts_.attempts.end() && !found->second.failures.empty();
    const bool by_worker = ended.cause->rule == Rule::kWorkerFailed ||
                           ended.cause->rule == Rule::kStartFailed ||
                           ended.cause->rule == Rule::kPortConflict;
    if (by_worker && has_failures) {
      const core::Failure& first = found->second.failures.front();
      seen.place = place_of(attempt, first.node);
      if (first.exited != nullptr) seen.exited = *first.exited;
    } else if (ended.node) {
      seen.place = place_of(attempt, *ended.node);
    } else {
      seen.place = place_of_culprit(attempt);
    }
    return seen;
  }

  void name_kind(const Ended& ended, SeenFault& seen) const {
    const Rule rule = ended.cause->rule;
    if (const auto named = kind_of(rule)) {
      seen.kind = *named;
      return;
    }
    if (rule == Rule::kAgentLost) {
      const bool announced = ended.node && ending_.contains(*ended.node);
      seen.kind = announced ? FaultKind::kMaintenance : FaultKind::kMachine;
      return;
    }
    const auto& looks = ended.cause->looks_like;
    const core::Layer layer = looks ? looks->layer : core::Layer::kUnclear;
    const bool evicts = looks && looks->action == core::FirstAction::kEvict;
    seen.is_unclear = layer == core::Layer::kUnclear && !ended.evicted;
    if (ended.evicted || (layer == core::Layer::kInfrastructure && evicts)) {
      seen.kind = FaultKind::kGpu;
    } else if (layer == core::Layer::kUserCode || layer == core::Layer::kData) {
      seen.kind = FaultKind::kSoftware;
    } else {
      seen.kind = FaultKind::kPassing;
    }
  }

  // The end of an attempt after an injected fault is attributed to that fault.
  [[nodiscard]] bool is_on_purpose(std::uint32_t attempt, Nanos until) const {
    return std::ranges::any_of(facts_.injected, [&](const auto& one) {
      return one.second->attempt.value == attempt && one.first <= until + seconds(1);
    });
  }

  [[nodiscard]] const core::GroupFormed* group_of(std::uint32_t attempt) const {
    const core::GroupFormed* last = nullptr;
    for (const core::GroupFormed* group : facts_.groups) {
      if (group->attempt.value <= attempt) last = group;
    }
    return last;
  }

  [[nodiscard]] std::uint32_t place_of(std::uint32_t attempt, base::NodeId node) const {
    const core::GroupFormed* const group = group_of(attempt);
    if (group == nullptr) return node.value;
    const auto found = std::ranges::find(group->members, node, &core::GroupMember::node);
    return found == group->members.end()
               ? 0
               : static_cast<std::uint32_t>(found - group->members.begin());
  }

  [[nodiscard]] std::uint32_t place_of_culprit(std::uint32_t attempt) const {
    const core::GroupFormed* const group = group_of(attempt);
    const auto culprit = culprit_.find(attempt);
    if (group == nullptr || culprit == culprit_.end()) return 0;
    for (std::size_t i = 0; i < group->members.size(); ++i) {
      const core::GroupMember& member = group->members[i];
      const std::uint32_t rank = culprit->second.value;
      if (rank >= member.first_rank && rank - member.first_rank < member.slots) {
        return static_cast<std::uint32_t>(i);
      }
    }
    return 0;
  }

  const core::Facts& facts_;
  std::vector<SeenFault> faults_;
  std::map<std::uint32_t, Ended> ended_;
  std::map<std::uint32_t, base::Rank> culprit_;  // that was named last in the attempt
  std::set<base::NodeId> ending_;
  std::optional<base::NodeId> last_ending_;
  std::pair<std::optional<base::NodeId>, bool> lost_;
  std::optional<base::NodeId> noticed_;
  std::optional<Nanos> slow_;
  std::uint32_t slow_in_ = 0;
  double slows_ = 1;
  bool is_replaced_ = false;
  // attempts that ended because of a slow machine that is counted
  std::set<std::uint32_t> replaced_;
  std::vector<Nanos> slow_for_;
  std::uint32_t by_user_ = 0;
};

}  // namespace

RunFaults faults_of(const core::Facts& facts, const std::vector<core::JournalEntry>& entries,
                    const std::map<std::uint32_t, core::AttemptMoments>& moments) {
  FaultFinder finder(facts);
  for (const core::JournalEntry& entry : entries) {
    if (std::holds_alternative<core::Finish>(entry.what)) break;
    if (const auto* event = std::get_if<core::Event>(&entry.what)) finder.take(*event);
    if (const auto* said = std::get_if<core::Decision>(&entry.what)) finder.take(entry.at, *said);
  }
  return finder.finish(moments);
}

}  // namespace robustrun::simulator
