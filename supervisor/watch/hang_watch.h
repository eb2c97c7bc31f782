#pragma once
// Decides when to look at all workers, and what a verdict about them is worth: pure, the caller
// gives the time. Owned by the driver, one for the run.
//
// Triggers of a look: an agent reports that one of its workers waits longer than its history
// explains; a group stops doing steps, or does them more slowly than before (pace_watch.h); in a
// group without steps and collectives, time alone. There are two thresholds: a suspicion is
// examined and reported at once (one that names only a phase, or no rank, after kVagueSaidAfter); a
// conviction ends the attempt. It needs the same verdict twice in a row, and one of: the worker
// shows no sign of going on; the finding cannot come right by itself (for these two the hang must
// have lasted for kConvict… in supervisor/limits.h); the hang has lasted for --hang-timeout. In the
// last case the two verdicts may differ, if both are about the same unfinished operation. A
// conviction comes sooner if, for the time `hang_still` and in at least kStillLooksMin looks, the
// rank does nothing in the script but sleep or wait for a lock (tracer/analysis/accuse.h), while
// agents or steps show that something is late.
//
// A wait that resolved itself twice at the same place of the same ranks is a habit (rank 0
// evaluates, or saves): it is then reported only if it lasts 1.5 times as long as ever before, plus
// kLookInterval. A hang that ended an attempt does not become a habit. When it returns, it is
// reported at once, unless it was a habit before. Its conviction then needs twice kConvictStopped
// or kConvictStill (--hang-timeout and kConvictFinal stay as they are), and does not come sooner
// for a rank that is still. Otherwise an intended pause could be convicted three times in one line,
// which ends the run (crash loop).
//
// R12 of docs/diagnosis.md: the script of a process has returned, but the process lingers, and
// every other process has ended or lingers, too. That fails no attempt. It is reported after
// kLateEndSaidAfter. After --hang-timeout the process is ended, provided that its exit handlers
// have run and that it does nothing; the run then counts as succeeded.
//
// Where no operation is recorded (point-to-point over gloo), only stacks show which ranks wait, and
// not since when. Such a verdict counts when the group's steps are missing. In a group without
// steps and collectives it counts when it is the same in looks that are kStacksSameFor apart, and
// then only as a suspicion.

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
  // `still`: hang_still of the policy.
  HangWatch(HangPolicy policy, base::Nanos still) : policy_(policy), still_(still) {}

  void begin_attempt(base::Attempt attempt, base::Nanos now);
  // An agent's report about one operation of one worker. `over`: the operation is done after all;
  // `expected`: how long it may take by its history.
  void note_overdue(base::Rank rank, std::uint64_t comm, bool over, base::Nanos expected);
  // A worker has a process group. Before that, signals for stacks could hit it while it connects to
  // its peers.
  void note_group(base::Nanos now);
  // A worker has ended with 0. From now on there are looks by time alone, as after note_group():
  // other workers may linger (R12), also where no process group was reported.
  void note_ended(base::Nanos now) { note_group(now); }
  // The furthest worker has done `steps` steps, or collectives where steps are not counted.
  void note_steps(std::uint64_t steps, base::Nanos now);

  // True when it is time to look at all workers; never between begin_look() and take() or
  // give_up_look().
  [[nodiscard]] bool wants_look(base::Nanos now) const;
  void begin_look(base::Nanos now);
  // The look had no result.
  void give_up_look(base::Nanos now);
  // Takes the verdict of a look; returns what is to be journaled and logged, in order; mostly
  // nothing.
  std::vector<Diagnosed> take(const tracer::Verdict& found, base::Nanos now);
  // The same for a look that the core has ordered (LookAtPace); null: the look had no result.
  [[nodiscard]] Diagnosed round(const tracer::Verdict* verdict, base::Nanos learnt_in) const;
  // The slowness that a look of pace_looks.h has found; empty: nothing is slow, or it needs no
  // report (it was reported before, or is a habit).
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
  // How long a hang must last to be proven before --hang-timeout; none: only --hang-timeout proves
  // it.
  [[nodiscard]] std::optional<base::Nanos> proved_after(const tracer::Verdict& verdict) const;
  // The same for a rank that is still, from the first look that found it so; none: it is not.
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
  base::Nanos expected_{};  // the longest time that one of them was allowed
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
  std::optional<base::Nanos> next_blind_look_;  // none: there is no process group yet
  base::Nanos blind_interval_{};
  bool began_blindly_ = false;  // the present series of looks began without anything suspicious
  std::optional<base::Nanos> same_since_;  // since when looks show the same stacks as `last_`
  // Since when all looks found the same rank to be still, at the same place, and how many did.
  std::optional<base::Nanos> still_since_;
  std::uint32_t still_looks_ = 0;
  base::Nanos looked_until_{};  // when the look before ended
  std::optional<tracer::Verdict> said_;  // the hang that was reported last
  std::optional<tracer::Verdict> said_slow_;  // the slowness that was reported last
  std::optional<tracer::Verdict> last_;  // of the look before
  std::uint64_t last_steps_ = 0;  // steps done when the operation of last_ was first seen
  bool convicted_ = false;
  std::vector<base::Rank> lingering_;  // that the core was last told to end
};

}  // namespace robustrun::supervisor
