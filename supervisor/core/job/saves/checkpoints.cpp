#include "supervisor/core/job/saves/checkpoints.h"

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/core/words.h"
#include "supervisor/core/types/exit_code.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {

void Checkpoints::noted(const Event& event) {
  const auto& noted = body<CheckpointNoted>(event);
  if (!resume_.take(noted, event.node)) return;
  std::string text = fmt::format("resuming from the checkpoint of {}", in_words(noted.id));
  if (!noted.source.empty()) text += ", read from " + noted.source;
  const auto& newest = resume_.committed();
  if (newest && *newest != noted.id) {
    text += fmt::format("; the newest committed checkpoint, of {}, {}", in_words(*newest),
                        resume_.is_demoted(*newest) ? "was set aside" : "was not used");
  }
  orders_.decide(Rule::kResumePoint, std::move(text));
}

// Whether a checkpoint may have caused the outage: it came soon after the resume, and neither a
// machine nor a signal from outside ended the worker.
bool Checkpoints::may_blame(const Outage& outage) const {
  const Policy& policy = spec_.policy;
  if (!policy.is_on() || policy.poison_after == 0 || !resume_.loaded()) return false;
  if (resume_.directories().empty() || resume_.is_demoted(*resume_.loaded())) return false;
  const Fault& root = outage.root;
  if (root.rule != Rule::kWorkerFailed && root.rule != Rule::kMetricFault) return false;
  if (!is_counted(root.fault_class)) return false;
  const int code = root.exit_code;
  if (code == kExitSignalBase + SIGKILL || code == kExitSignalBase + SIGTERM) return false;
  const auto& looks = outage.looks_like;
  const bool is_of_others =
      looks && (looks->layer == Layer::kInfrastructure || looks->layer == Layer::kExternalService);
  if (is_of_others && looks->confidence >= Confidence::kMedium) return false;
  return progress_.has_source ? progress_.steps <= policy.poison_steps : !progress_.made;
}

bool Checkpoints::blames(const Outage& outage) const {
  if (!may_blame(outage)) return false;
  return outage.root.rule == Rule::kMetricFault ||
         resume_.failures() + 1 >= spec_.policy.poison_after;
}

void Checkpoints::judge(const Outage& outage) {
  if (!may_blame(outage)) return;
  const bool is_last = blames(outage);
  const bool is_number = outage.root.rule == Rule::kMetricFault;
  resume_.count_failure();
  if (!is_last) return;
  const std::string which = in_words(*resume_.loaded());
  const std::string why = is_number ? "the job's numbers went wrong"
                                    : "the job failed " + base::counted(resume_.failures(), "time");
  const auto is_there = [this](base::NodeId node) {
    return node.value < nodes_.size() && nodes_.at(node).agent == NodeState::Agent::kJoined;
  };
  auto agent = std::ranges::find_if(group_, is_there);
  const auto told = std::ranges::find(group_, resume_.node());
  if (told != group_.end() && is_there(*told)) agent = told;  // it reaches the directories
  const std::string soon =
      progress_.has_source ? fmt::format("within {} steps of resuming", spec_.policy.poison_steps)
                           : "without progress after resuming";
  const std::string text =
      fmt::format("setting aside the checkpoint of {}: {} {} from it", which, why, soon);
  if (agent == group_.end()) {
    return orders_.decide(Rule::kCheckpointKept,
                          text + "; but there is no agent to mark it, so it may be used again");
  }
  orders_.decide(Rule::kCheckpointPoisoned, text + "; using the next older one",
                 {outage.root.words}, {"resume from it once more"});
  resume_.begin_demotion(*agent);
  orders_.give(demotion_order());
}

DemoteCheckpoint Checkpoints::demotion_order() const {
  return {resume_.asked(), resume_.order(), resume_.demoting(), resume_.directories()};
}

void Checkpoints::end_demotion() {
  if (!is_demoting()) return;
  const std::string which = in_words(resume_.demoting());
  resume_.end_demotion(resume_.order(), false);
  orders_.decide(
      Rule::kCheckpointKept,
      fmt::format("no agent has set aside the checkpoint of {} within {}; it may be used again",
                  which, base::in_seconds(kDemotionMax)));
}

bool Checkpoints::take_demoted(const Event& event) {
  const auto& answer = body<CheckpointDemoted>(event);
  const std::string which = is_demoting() ? in_words(resume_.demoting()) : std::string();
  if (!resume_.end_demotion(answer.order, answer.error.empty())) return false;
  if (!answer.error.empty()) {
    orders_.decide(
        Rule::kCheckpointKept,
        fmt::format("the checkpoint of {} could not be set aside and may be used again: {}", which,
                    answer.error));
  }
  return true;
}

}  // namespace robustrun::supervisor
