#pragma once
// When to look at what all workers do, and what a verdict about them is worth: pure, the caller
// gives the time. Owned by the driver, one for the run.
//
// Triggers: an agent that says that one of its workers waits for longer than its history explains,
// a group that does no step any more, or slower ones than it used to (pace_watch.h). Two
// thresholds, as users want them: a suspicion is looked into and said at once; a conviction ends
// the attempt, and needs the same verdict twice in a row, of a worker that shows no sign of going
// on, or the patience that --hang-timeout sets.
//
// What held a group up at the same place of the same ranks twice, and passed, is a habit (rank 0
// evaluates, or saves): from then on it is not said before it lasts half as long again as ever.
// What ended an attempt is no habit: it is said at once when it comes back. It gets twice the time
// to move then, so that a pause that is meant to be is not taken for a hang three times.
//
// Where no operation is recorded (point-to-point over gloo), only stacks show who waits, and not
// since when. Such a verdict counts when the group's steps are missing, or, in a group without
// steps and collectives, when it is the same at looks that are kStacksSameFor apart.

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
  explicit HangWatch(HangPolicy policy) : policy_(policy) {}

  void begin_attempt(base::Attempt attempt, base::Nanos now);
  // An agent's word about one operation of one worker; `over`: it is done after all.
  void note_overdue(base::Rank rank, std::uint64_t comm, bool over, base::Nanos expected);
  // A worker has a process group: signals do not meet it while it connects to its peers.
  void note_group(base::Nanos now);
  // The furthest worker has done so many steps, or collectives where nobody counts steps.
  void note_steps(std::uint64_t steps, base::Nanos now);

  // True when it is time to ask all workers what they do. The next time is after take() or give_up.
  [[nodiscard]] bool wants_look(base::Nanos now) const;
  void begin_look(base::Nanos now);
  // Nothing came of it.
  void give_up_look(base::Nanos now);
  // What is to be journaled and logged of this verdict, in order; mostly nothing.
  std::vector<Diagnosed> take(const tracer::Verdict& found, base::Nanos now);
  // The same for a look that the core has asked for (LookAtPace); null: nothing came of it.
  [[nodiscard]] Diagnosed round(const tracer::Verdict* verdict, base::Nanos learnt_in) const;
  // Of a look that was not about hangs (pace_looks.h), what is slow; none: it was said before.
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
  // How long a verdict must last to be proved before --hang-timeout; none: it never is.
  [[nodiscard]] std::optional<base::Nanos> proved_after(const tracer::Verdict& verdict) const;
  [[nodiscard]] Prospect prospect_of(const tracer::Verdict& verdict) const;
  [[nodiscard]] bool is_worth_saying(const tracer::Verdict& verdict) const;
  [[nodiscard]] bool is_only_seen(const tracer::Verdict& verdict) const;
  [[nodiscard]] bool is_proved(const tracer::Verdict& verdict) const;
  Diagnosed diagnosis(Diagnosed::Stage stage, const tracer::Verdict& verdict,
                      base::Nanos now) const;
  void calm_down();

  HangPolicy policy_;
  base::Attempt attempt_;
  std::set<std::pair<base::Rank, std::uint64_t>> overdue_;
  base::Nanos expected_{};  // the most that any of them was allowed
  std::uint64_t steps_ = 0;
  base::Nanos stepped_at_{};
  std::uint32_t gaps_ = 0;  // between steps, seen so far
  base::Nanos longest_gap_{};
  PaceWatch pace_;
  std::vector<Habit> habits_;  // oldest first
  std::vector<std::string> ended_at_;  // places of what ended attempts, and has not passed since
  std::optional<base::Nanos> suspicious_since_;
  std::optional<base::Nanos> looking_since_;
  base::Nanos next_look_{};
  std::optional<base::Nanos> next_blind_look_;  // none: no process group is there yet
  base::Nanos blind_interval_{};
  bool began_blindly_ = false;  // the looks under way did, without anything amiss
  std::optional<base::Nanos> same_since_;  // looks have shown the same stacks, by `last_`
  std::optional<tracer::Verdict> said_;  // the hang that the user was told of last
  std::optional<tracer::Verdict> said_slow_;  // likewise what is slow: nobody waits for its end
  std::optional<tracer::Verdict> last_;  // of the look before
  std::uint64_t last_steps_ = 0;  // done when its operation was first seen
  bool convicted_ = false;
};

}  // namespace robustrun::supervisor
