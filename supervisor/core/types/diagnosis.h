#pragma once
// What was found out about workers that wait for each other, as an event: the shell collects what
// they do and has it analyzed (supervisor/watch/hang_watch.h), the core decides what follows.

#include <cstdint>
#include <string>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "tracer/analysis/verdict.h"

namespace robustrun::supervisor {

// Action: a worker has failed, and before the others are told to stop they are asked what they
// called last. Answered by Diagnosed::Stage::kPostMortem, which is waited for for kLookBackMax.
struct LookBack {
  base::Attempt attempt;
  base::Rank failed;
  std::string words;  // its last, at most kLastWordsBytesMax
};

// Action: one more round of a vote on who slows the job down (slow_vote.h). Answered by
// Diagnosed::Stage::kRound, mostly within a second; a round without an answer names nobody.
struct LookAtPace {
  base::Attempt attempt;
};

struct Diagnosed {
  enum class Stage : std::uint8_t {
    kSuspected,   // this is how it looks: the user is told
    kConvicted,   // it will not come right by itself: the attempt ends
    kPassed,      // it has come right by itself
    kPostMortem,  // the answer to LookBack, while the attempt is being stopped
    kRound,       // the answer to LookAtPace
  };
  // Of kSuspected: what follows if it stays as it is.
  enum class Outlook : std::uint8_t {
    kUntold,      // not known, as in journals of before; and of what is slow, which is no hang
    kIfStill,     // the attempt ends in `acts_in`, unless the culprit moves
    kForSure,     // it ends in `acts_in`: this cannot come right
    kByTimeout,   // it ends in `acts_in`, when --hang-timeout is over
    kWhileMoves,  // the same, as the culprit moves; sooner once it stands still
    kLeftAlone,   // nothing is done (--hang-timeout=0)
    kNoSteps,     // nothing is done: no steps tell how long it has been so
  };
  base::Attempt attempt;
  Stage stage = Stage::kSuspected;
  tracer::Verdict verdict;     // of kPassed the last one before; of kPostMortem mostly kNothing
  base::Nanos learnt_in{};     // from the question to the workers' agents to the verdict
  // Of the group's steps: now, and as it used to be before it became slow; 0: not known.
  base::Nanos period{};
  base::Nanos usual{};
  Outlook outlook = Outlook::kUntold;
  base::Nanos acts_in{};
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

}  // namespace robustrun::supervisor
