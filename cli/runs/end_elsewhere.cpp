#include "cli/runs/end_elsewhere.h"

#include "cli/options/limits.h"

namespace robustrun::cli {

base::Status wait_for_end_elsewhere(const EndElsewhere& run, const base::Clock& clock) {
  base::Nanos asked = clock.now();
  base::Nanos heard = asked;
  while (!run.has_ended()) {
    run.pause(kElsewherePollInterval);
    if (clock.now() - asked < kElsewhereAskInterval) continue;
    const base::Status answer = run.answers();
    asked = clock.now();
    if (answer) heard = asked;
    // The journal may have got its end during the question.
    if (asked - heard < kElsewhereSilentMax || run.has_ended()) continue;
    return base::fail(
        base::Errc::kUnavailable,
        "the supervisor does not answer over the network any more: " + answer.error().what);
  }
  return {};
}

}  // namespace robustrun::cli
