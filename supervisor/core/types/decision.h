#pragma once
// Decisions, with their reasons: journaled, and shown to the user.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/ids.h"
#include "supervisor/core/types/fault_table.h"
#include "supervisor/core/types/obstacle.h"
#include "supervisor/core/types/policy.h"
#include "supervisor/core/types/rule.h"

namespace robustrun::supervisor {

// How a decision answers a fault.
enum class Answer : std::uint8_t {
  kNone,             // the decision answers no fault
  kCountedRestart,   // a restart that counts against max_restarts
  kFreeRestart,      // the script is not to blame: only free restarts in a row are limited
  kPlannedRestart,   // a restart without any limit, as nothing failed
  kVersionRestart,   // a restart without any limit, with another version of the run
  kGivenUpByPolicy,  // a rung of the policy's ladder ends the run
};

// A rung of the policy's ladder that was passed over: because of an obstacle or, without one,
// because it was taken as often as the policy allows (`taken` times).
struct PassedStep {
  Step step = Step::kRestart;
  std::uint32_t taken = 0;
  Obstacle obstacle{};
};
// "check: taken once already, as often as its ladder has it", "evict: no machine is known to blame"
[[nodiscard]] std::string in_words(const PassedStep& passed);

// Why something is done: rule, evidence, and what else could have been done. The texts are for
// people; no decision depends on their words.
struct Decision {
  Rule rule = Rule::kStart;
  base::Attempt attempt;
  std::string text;  // one sentence for the user
  std::vector<std::string> evidence;  // "rank 1 on node0: SIGKILL", …
  std::vector<std::string> alternatives;  // "evict: no machine is known to blame"
  std::optional<Classification> looks_like{};  // of a failure, when it is found or has changed
  // Machines that were evicted, were left to the scheduler, or are back.
  std::vector<base::NodeId> nodes{};
  // Not journaled: a replay of the events decides the same again.
  Answer answer = Answer::kNone;
  std::vector<PassedStep> passed{};  // rungs of the ladder that were passed over
  template <class V>
  void fields(V& v) {
    v(1, "rule", rule);
    v(2, "attempt", attempt);
    v(3, "text", text);
    v(4, "evidence", evidence);
    v(5, "alternatives", alternatives);
    v(6, "looks_like", looks_like);
    v(7, "nodes", nodes);
  }
};

}  // namespace robustrun::supervisor
