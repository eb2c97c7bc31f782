#include "supervisor/core/job/blame/updates.h"

#include <fmt/core.h>

#include <utility>

#include "base/core/result.h"
#include "base/core/words.h"
#include "supervisor/core/job/facts/node_state.h"

namespace robustrun::supervisor {

void Updates::requested(const Event& event) {
  const auto& asked = body<UpdateRequested>(event);
  if (!versions_.take(asked, orders_.now())) return;
  const bool runs = orders_.state() == JobState::kStarting || orders_.state() == JobState::kRunning;
  std::string text = versions_.name(versions_.next);
  if (!versions_.is_changing()) {
    text += " stays: the version requested before is not used";
  } else if (asked.now) {
    text += runs ? " is requested at once" : " is used by the attempt that is about to start";
  } else {
    text += runs ? " is used from the next restart on" : " is used by the next attempt";
    if (runs && versions_.due) text += ", in " + base::in_seconds(asked.within) + " at the latest";
  }
  orders_.decide(Rule::kUpdated, std::move(text));
  if (!versions_.now) return;
  if (runs) return restart("requested at once");
  if (orders_.state() != JobState::kBackoff) return;
  // The back-off was due to the version before. What remains to wait for: the mark on a checkpoint,
  // and copies that are being saved.
  moves_.end_backoff();
}

void Updates::restart(const std::string& why) {
  moves_.break_down(infrastructure_fault(
      Rule::kUpdating,
      fmt::format("restarting all workers with version {}: {}", versions_.next, why),
      moves_.context(group_.front())));
}

bool Updates::use_next() {
  if (!versions_.use_next(orders_.attempt())) return false;
  orders_.decide(Rule::kUpdated, fmt::format("attempt {} has {}", orders_.attempt().value,
                                             versions_.name(versions_.present)));
  return true;
}

void Updates::note_progress() {
  Version& version = versions_.all[versions_.present];
  if (version.state == Version::State::kApplied) version.state = Version::State::kProven;
  restart_if_due();
}

base::Nanos Updates::due_at() const {
  return versions_.is_changing() ? versions_.due.value_or(kNever) : kNever;
}

void Updates::restart_if_due() {
  if (orders_.state() == JobState::kRunning && orders_.now() >= due_at()) {
    restart("its time is over");
  }
}

bool Updates::is_to_blame(const Outage& outage) const {
  if (progress_.made) return false;
  if (versions_.all[versions_.present].state == Version::State::kProven) return false;
  const Fault& root = outage.root;
  const bool is_the_scripts = root.rule == Rule::kWorkerFailed || root.rule == Rule::kStartFailed ||
                              root.rule == Rule::kMismatch;
  const bool is_the_users =
      root.fault_class == FaultClass::kUser || root.fault_class == FaultClass::kPermanent;
  const bool is_the_machines = outage.looks_like &&
                               outage.looks_like->layer == Layer::kInfrastructure &&
                               outage.looks_like->confidence == Confidence::kHigh;
  return is_the_scripts && is_the_users && !is_the_machines;
}

bool Updates::can_roll_back() const {
  return !versions_.is_changing() && versions_.older(true).has_value();
}

void Updates::roll_back(const Outage& outage) {
  const auto target = versions_.older(false);
  RR_ASSERT(target);
  const std::uint32_t broken = versions_.present;
  orders_.decide(Rule::kRolledBack,
                 fmt::format("version {} is given up: {}; the next attempt has {} again", broken,
                             outage.root.words, versions_.name(*target)),
                 outage.evidence.lines(),
                 {fmt::format("keep version {}: robustrun update --rollback {}", broken, broken)});
  versions_.go_back(*target, outage.root.words);
}

}  // namespace robustrun::supervisor
