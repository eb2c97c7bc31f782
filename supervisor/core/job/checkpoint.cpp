// The checkpoint that the workers resume from: what they report of it, and what follows when it
// leads to failures.

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/core/words.h"
#include "supervisor/core/job/impl.h"
#include "supervisor/core/types/exit_code.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {

void Job::Impl::checkpoint_noted(const Event& event) {
  const auto& noted = body<CheckpointNoted>(event);
  if (!resume.take(noted, event.node)) return;
  std::string text = fmt::format("resuming from the checkpoint of {}", in_words(noted.id));
  if (!noted.source.empty()) text += ", read from " + noted.source;
  const auto& newest = resume.committed();
  if (newest && *newest != noted.id) {
    text += fmt::format("; the newest committed checkpoint, of {}, {}", in_words(*newest),
                        resume.is_demoted(*newest) ? "was set aside" : "was not used");
  }
  decide(Rule::kResumePoint, std::move(text));
}

// Whether a checkpoint may have caused the outage: it came soon after the resume, and neither a
// machine nor a signal from outside ended the worker.
bool Job::Impl::may_blame_checkpoint() const {
  const Policy& policy = spec.policy;
  if (!policy.is_on() || policy.poison_after == 0 || !resume.loaded()) return false;
  if (resume.directories().empty() || resume.is_demoted(*resume.loaded())) return false;
  const Fault& root = outage->root;
  if (root.rule != Rule::kWorkerFailed && root.rule != Rule::kMetricFault) return false;
  if (!is_counted(root.fault_class)) return false;
  const int code = root.exit_code;
  if (code == kExitSignalBase + SIGKILL || code == kExitSignalBase + SIGTERM) return false;
  const auto& looks = outage->looks_like;
  const bool is_of_others =
      looks && (looks->layer == Layer::kInfrastructure || looks->layer == Layer::kExternalService);
  if (is_of_others && looks->confidence >= Confidence::kMedium) return false;
  return has_progress_source ? steps <= policy.poison_steps : !made_progress;
}

// Whether the checkpoint is set aside after this failure. A number that went wrong is in the
// checkpoint already.
bool Job::Impl::blames_checkpoint() const {
  if (!may_blame_checkpoint()) return false;
  return outage->root.rule == Rule::kMetricFault ||
         resume.failures() + 1 >= spec.policy.poison_after;
}

// The next attempt waits in kBackoff until the checkpoint is marked.
void Job::Impl::judge_checkpoint() {
  if (!may_blame_checkpoint()) return;
  const bool is_last = blames_checkpoint();
  const bool is_number = outage->root.rule == Rule::kMetricFault;
  resume.count_failure();
  if (!is_last) return;
  const std::string which = in_words(*resume.loaded());
  const std::string why = is_number ? "the job's numbers went wrong"
                                    : "the job failed " + base::counted(resume.failures(), "time");
  const auto is_there = [this](base::NodeId node) {
    return node.value < nodes.size() && at(node).agent == NodeState::Agent::kJoined;
  };
  auto agent = std::ranges::find_if(group, is_there);
  const auto told = std::ranges::find(group, resume.node());
  if (told != group.end() && is_there(*told)) agent = told;  // it reaches the directories
  const std::string text =
      fmt::format("setting aside the checkpoint of {}: {} within {} steps of resuming from it",
                  which, why, spec.policy.poison_steps);
  if (agent == group.end()) {
    return decide(Rule::kCheckpointKept,
                  text + "; but there is no agent to mark it, so it may be used again");
  }
  decide(Rule::kCheckpointPoisoned, text + "; using the next older one", {outage->root.words},
         {"resume from it once more"});
  resume.begin_demotion(*agent);
  out.push_back(demotion_order());
}

DemoteCheckpoint JobQuestions::demotion_order() const {
  return {resume.asked(), resume.order(), resume.demoting(), resume.directories()};
}

// In kBackoff: no worker runs.
void Job::Impl::checkpoint_demoted(const Event& event) {
  const auto& answer = body<CheckpointDemoted>(event);
  const std::string which = resume.is_demoting() ? in_words(resume.demoting()) : std::string();
  if (!resume.end_demotion(answer.order, answer.error.empty())) return;
  if (!answer.error.empty()) {
    decide(Rule::kCheckpointKept,
           fmt::format("the checkpoint of {} could not be set aside and may be used again: {}",
                       which, answer.error));
  }
  go_on_if_ready();
}

void Job::Impl::end_demotion() {
  if (!resume.is_demoting()) return;
  const std::string which = in_words(resume.demoting());
  resume.end_demotion(resume.order(), false);
  decide(Rule::kCheckpointKept,
         fmt::format("no agent has set aside the checkpoint of {} within {}; it may be used again",
                     which, base::in_seconds(kDemotionMax)));
}

}  // namespace robustrun::supervisor
