// Versions of the run: requested, used, proven by progress, or given up.
//
// An attempt gets its version when its workers are started. A version that has not made progress in
// any attempt is to blame when its workers fail before they make any: the run goes back to an older
// one. A lost agent, a hang or broken hardware says nothing about a version. Neither restart counts
// against the budget: an update is the user's wish, and each version is given up at most once.

#include <fmt/core.h>

#include <utility>

#include "base/core/result.h"
#include "base/core/words.h"
#include "supervisor/core/job/impl.h"

namespace robustrun::supervisor {

void Job::Impl::update_requested(const Event& event) {
  const auto& asked = body<UpdateRequested>(event);
  if (!versions.take(asked, now)) return;
  const bool runs = state == JobState::kStarting || state == JobState::kRunning;
  std::string text = versions.name(versions.next);
  if (!versions.is_changing()) {
    text += " stays: the version requested before is not used";
  } else if (asked.now) {
    text += runs ? " is requested at once" : " is used by the attempt that is about to start";
  } else {
    text += runs ? " is used from the next restart on" : " is used by the next attempt";
    if (runs && versions.due) text += ", in " + base::in_seconds(asked.within) + " at the latest";
  }
  decide(Rule::kUpdated, std::move(text));
  if (!versions.now) return;
  if (runs) return restart_for_update("requested at once");
  if (state != JobState::kBackoff) return;
  // The back-off was due to the version before. What remains to wait for: the mark on a checkpoint,
  // and copies that are being saved.
  backoff_until = now;
  go_on_if_ready();
}

void Job::Impl::restart_for_update(const std::string& why) {
  break_down(infrastructure_fault(
      Rule::kUpdating,
      fmt::format("restarting all workers with version {}: {}", versions.next, why),
      context(group.front())));
}

void Job::Impl::use_version() {
  if (!versions.use_next(attempt)) return;
  hang_places.forget_all();
  decide(Rule::kUpdated,
         fmt::format("attempt {} has {}", attempt.value, versions.name(versions.present)));
}

void Job::Impl::note_version_works() {
  Version& version = versions.all[versions.present];
  if (version.state == Version::State::kApplied) version.state = Version::State::kProven;
  if (state != JobState::kRunning || !versions.is_changing()) return;
  if (versions.due && now >= *versions.due) restart_for_update("its time is over");
}

bool JobQuestions::version_is_to_blame() const {
  if (!outage || made_progress) return false;
  if (versions.all[versions.present].state == Version::State::kProven) return false;
  const Fault& root = outage->root;
  const bool is_the_scripts = root.rule == Rule::kWorkerFailed || root.rule == Rule::kStartFailed ||
                              root.rule == Rule::kMismatch;
  const bool is_the_users =
      root.fault_class == FaultClass::kUser || root.fault_class == FaultClass::kPermanent;
  const bool is_the_machines = outage->looks_like &&
                               outage->looks_like->layer == Layer::kInfrastructure &&
                               outage->looks_like->confidence == Confidence::kHigh;
  return is_the_scripts && is_the_users && !is_the_machines;
}

bool JobQuestions::can_roll_back() const {
  return !versions.is_changing() && versions.older(true).has_value();
}

void Job::Impl::roll_back(std::string why) {
  const auto target = versions.older(false);
  RR_ASSERT(target);
  const std::uint32_t broken = versions.present;
  decide(Rule::kRolledBack,
         fmt::format("version {} is given up: {}; the next attempt has {} again", broken, why,
                     versions.name(*target)),
         outage ? outage->evidence.lines() : std::vector<std::string>(),
         {fmt::format("keep version {}: robustrun update --rollback {}", broken, broken)});
  versions.go_back(*target, std::move(why));
}

}  // namespace robustrun::supervisor
