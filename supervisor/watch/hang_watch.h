#pragma once
// Decides when to look at all workers, and what a verdict about them is worth. Pure; the caller
// gives the time. Owned by the driver, one for the run.
//
// Looks begin when an agent reports that one of its workers waits longer than the operation's
// history explains, and when a group stops doing steps, or does them more slowly than before
// (pace_watch.h). A group without steps and collectives is looked at from time to time.
//
// A suspicion is reported at once, or after kVagueSaidAfter if it names only a phase, or no rank. A
// conviction ends the attempt. It needs the same verdict in two looks in a row, and one of four:
//
// 1. The worker shows no sign of going on, and the hang has lasted for at least kConvictStill, or
//    kConvictStopped for a stopped process.
// 2. The hang cannot resolve itself, and has lasted for kConvictFinal.
// 3. The hang has lasted for --hang-timeout. Then the two verdicts may differ if both are about the
//    same unfinished operation.
// 4. For the time `hang_still` and in at least kStillLooksMin looks, the rank does nothing in the
//    script but sleep or wait for a lock (tracer/analysis/accuse.h), while agents or steps show
//    that something is late.
//
// A wait that resolved itself twice at the same place of the same ranks is a habit (rank 0
// evaluates, or saves). From then on it is reported only if it lasts 1.5 times as long as ever
// before, plus kLookInterval. A hang that ended an attempt does not become a habit. When it
// returns, it is reported at once, unless it was a habit before. Case 1 then needs twice the time,
// and case 4 does not apply; otherwise an intended pause could be convicted three times in one
// line, which ends the run (crash loop).
//
// Rule R12 of docs/diagnosis.md is about a process that lingers: its script has returned, and every
// other process has ended or lingers, too. This is no hang, and no attempt fails. It is reported
// after kLateEndSaidAfter. After --hang-timeout the process is ended if its exit handlers have run
// and it does nothing; the run then counts as succeeded.
//
// If no operation is recorded (point-to-point over gloo), stacks show which ranks wait, but not
// since when. Such a verdict counts when the group's steps are missing. In a group without steps
// and collectives it counts only as a suspicion, and only if looks for kStacksSameFor show the
// same.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "supervisor/core/types/diagnosis.h"
#include "supervisor/run_request.h"
#include "supervisor/watch/pace_watch.h"
#include "tracer/analysis/verdict.h"

namespace robustrun::supervisor {

class HangWatch {
 public:
  // `still`: hang_still (core/types/policy.h).
  HangWatch(HangPolicy policy, base::Nanos still) : policy_(policy), still_(still) {}

  void begin_attempt(base::Attempt attempt, base::Nanos now);
  // An agent reports that an operation of a worker is overdue, or, with `over`, that it has ended
  // after all. `expected`: how long it may take by its history.
  void note_overdue(base::Rank rank, std::uint64_t comm, bool over, base::Nanos expected);
  // A worker has a process group. From now on there may be looks without a report. Before, a signal
  // for its stack could hit a worker while it connects to its peers.
  void note_group(base::Nanos now);
  // A worker has ended well, and other workers may linger (R12). From now on there may be looks
  // without a report, even if no process group was reported.
  void note_ended(base::Nanos now) { note_group(now); }
  // The furthest worker has done `steps` steps, or collectives if steps are not counted. Makes the
  // event for a slowness that was reported and is over; mostly nullopt.
  std::optional<Diagnosed> note_steps(std::uint64_t steps, base::Nanos now);

  // True when it is time to look at all workers; never between begin_look() and take() or
  // give_up_look().
  [[nodiscard]] bool wants_look(base::Nanos now) const;
  void begin_look(base::Nanos now);
  // The look had no result.
  void give_up_look(base::Nanos now);
  // Takes the verdict of a look; returns what must be journaled and logged, in order; mostly
  // nothing.
  std::vector<Diagnosed> take(const tracer::Verdict& found, base::Nanos now);
  // Makes the event for a look that the core has ordered (LookAtPace); null: the look had no
  // result. `learnt_in`: how long the look took.
  [[nodiscard]] Diagnosed round(const tracer::Verdict* verdict, base::Nanos learnt_in) const;
  // Makes the event for a slowness that a look of pace_looks.h has found. nullopt: nothing is slow,
  // or the slowness was reported before, or is a habit.
  [[nodiscard]] std::optional<Diagnosed> take_slow(const tracer::Verdict& verdict,
                                                   base::Nanos learnt_in);

 private:
  struct Habit {
    tracer::Finding finding{};
    std::vector<base::Rank> culprits;
    std::string place;
    std::uint32_t times = 0;
    base::Nanos longest{};
  };
  struct Prospect {
    Diagnosed::Outlook outlook = Diagnosed::Outlook::kUntold;
    base::Nanos acts_in{};
  };
  [[nodiscard]] const Habit* habit_of(const tracer::Verdict& verdict) const;
  void learn(const tracer::Verdict& verdict);
  [[nodiscard]] bool steps_are_missing(base::Nanos now) const;
  [[nodiscard]] bool is_blind(base::Nanos now) const;
  [[nodiscard]] tracer::Verdict aged(const tracer::Verdict& verdict, base::Nanos now);
  // How long a hang must last in cases 1 and 2; nullopt: only --hang-timeout proves it.
  [[nodiscard]] std::optional<base::Nanos> proved_after(const tracer::Verdict& verdict) const;
  // How long the rank must be still in case 4, from the first look that found it still; nullopt:
  // the case does not apply.
  [[nodiscard]] std::optional<base::Nanos> still_proved_after(const tracer::Verdict& verdict,
                                                              base::Nanos now) const;
  [[nodiscard]] bool has_ended_attempt(const tracer::Verdict& verdict) const;
  [[nodiscard]] Prospect prospect_of(const tracer::Verdict& verdict, base::Nanos now) const;
  [[nodiscard]] bool is_worth_saying(const tracer::Verdict& verdict) const;
  // A hang that has lasted for --hang-timeout.
  [[nodiscard]] bool has_timed_out(const tracer::Verdict& verdict) const;
  [[nodiscard]] bool is_stuck(const tracer::Verdict& verdict) const;
  [[nodiscard]] bool is_only_seen(const tracer::Verdict& verdict) const;
  [[nodiscard]] bool is_proved(const tracer::Verdict& verdict, base::Nanos now) const;
  Diagnosed diagnosis(Diagnosed::Stage stage, const tracer::Verdict& verdict,
                      base::Nanos now) const;
  void calm_down();

  HangPolicy policy_;
  base::Nanos still_;
  base::Attempt attempt_;
  std::set<std::pair<base::Rank, std::uint64_t>> overdue_;
  base::Nanos expected_{};  // the longest `expected` since overdue_ was cleared
  std::uint64_t steps_ = 0;
  base::Nanos stepped_at_{};
  std::uint32_t gaps_ = 0;  // gaps between steps seen so far
  base::Nanos longest_gap_{};
  PaceWatch pace_;
  std::vector<Habit> habits_;  // oldest first
  std::vector<std::string>
      ended_at_;  // places of hangs that ended attempts and have not passed since
  std::optional<base::Nanos> suspicious_since_;
  std::optional<base::Nanos> looking_since_;
  base::Nanos next_look_{};
  std::optional<base::Nanos> next_blind_look_;  // nullopt: there is no process group yet
  base::Nanos blind_interval_{};
  bool began_blindly_ = false;  // the current series of looks began without a suspicion
  std::optional<base::Nanos> same_since_;  // since when looks show the same stacks as `last_`
  // Since when all looks found the same rank to be still, at the same place, and how many did.
  std::optional<base::Nanos> still_since_;
  std::uint32_t still_looks_ = 0;
  base::Nanos looked_until_{};  // when the last look ended
  std::optional<tracer::Verdict> said_;  // the hang that was reported last
  std::optional<tracer::Verdict> said_slow_;  // the slowness that was reported last
  std::optional<tracer::Verdict> last_;  // of the last look
  std::uint64_t last_steps_ = 0;  // steps done when the operation of last_ was first seen
  bool convicted_ = false;
  std::vector<base::Rank> lingering_;  // the ranks of the last conviction for R12
};

}  // namespace robustrun::supervisor
