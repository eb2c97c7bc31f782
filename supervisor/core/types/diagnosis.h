#pragma once
// Diagnoses of workers that wait for each other or are slow, as events. The driver collects what
// the workers do and has it analyzed (supervisor/watch/hang_watch.h); the core decides what
// follows.

#include <cstdint>
#include <string>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "tracer/analysis/verdict.h"

namespace robustrun::supervisor {

// Action: a worker has failed. Before the other workers are told to stop, ask them what they called
// last. Answered by Diagnosed::Stage::kPostMortem, mostly within kLookBackMax, or not at all.
struct LookBack {
  base::Attempt attempt;
  base::Rank failed;
  std::string words;  // the failed worker's last output, at most kLastWordsBytesMax
};

// Action: one more round of the vote on which machine slows the job down (slow_vote.h). Answered by
// Diagnosed::Stage::kRound, mostly within a second. A round without an answer names no machine.
struct LookAtPace {
  base::Attempt attempt;
};

struct Diagnosed {
  enum class Stage : std::uint8_t {
    kSuspected,  // it looks like a hang, or the job is slow: reported to the user
    kConvicted,  // the hang will not pass: the attempt ends (Finding::kNotEnded: the run succeeds)
    kPassed,  // the hang has resolved itself, or the slow job is as fast as before
    kPostMortem,  // the answer to LookBack, while the attempt is being stopped
    kRound,  // the answer to LookAtPace
  };
  // Of kSuspected: what happens next if nothing changes.
  enum class Outlook : std::uint8_t {
    kUntold,  // unknown: from an older journal, or slowness, which is no hang
    kIfStill,  // the attempt ends in `acts_in`, unless the culprit moves
    kForSure,  // the attempt ends in `acts_in`: the hang cannot resolve itself
    kByTimeout,  // the attempt ends in `acts_in`, when --hang-timeout is over
    kWhileMoves,  // as kByTimeout, because the culprit moves; sooner if it stops moving
    kLeftAlone,  // nothing is done, because of --hang-timeout=0
    kNoSteps,  // nothing is done: too few steps are known to tell a hang from a long step
    kExitHandlers,  // nothing is done: exit handlers may still save or upload
    kEndsProcess,  // the culprits' processes are ended in `acts_in`, and the run has succeeded
  };
  base::Attempt attempt;
  Stage stage = Stage::kSuspected;
  tracer::Verdict verdict;  // of kPassed: the last verdict before; of kPostMortem: mostly kNothing
  base::Nanos learnt_in{};  // from the question to the agents until the verdict
  // Duration of a step of the group: now, and before the job became slow; 0: unknown.
  base::Nanos period{};
  base::Nanos usual{};
  Outlook outlook = Outlook::kUntold;
  base::Nanos acts_in{};  // time until what `outlook` announces
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "stage", stage);
    v(3, "verdict", verdict);
    v(4, "learnt_in", learnt_in);
    v(5, "period", period);
    v(6, "usual", usual);
    v(7, "outlook", outlook);
    v(8, "acts_in", acts_in);
  }
};
// "suspected", "convicted", "passed", "post-mortem", "round"; "unknown" for a newer stage.
[[nodiscard]] const char* to_string(Diagnosed::Stage stage);

}  // namespace robustrun::supervisor
