#pragma once
// How long the saves of a run take, from its journal, so that the last save before the end of the
// scheduler's job begins early enough. Pure.
//
// Two kinds of times count. The first are saves and commits that workers report
// (CheckpointNoted::total_most). The second are stops before which the workers are told to save,
// from the order until the last worker has ended. A stop counts only if every rank has done a step
// in this attempt, as before that there is nothing to save. It counts for at most its grace period,
// as a node that cannot be reached may report the end of its workers much later. Nothing shows that
// the workers did save, so a stop can only raise the expected time.

#include <optional>
#include <set>

#include "supervisor/core/types/journal_entry.h"

namespace robustrun::supervisor {

struct LongestSaves {
  std::optional<base::Nanos> reported;  // nullopt: workers have reported no save
  base::Nanos stop{};  // 0: there was no stop that counts
  // How long the next save may take. `grace`: its least time if workers have reported no save.
  [[nodiscard]] base::Nanos expected(base::Nanos grace) const;
};

class SaveTimes {
 public:
  void take(const JournalEntry& entry);
  // Adds the times of another start of the same job.
  void add(const SaveTimes& other);
  [[nodiscard]] const LongestSaves& longest() const { return longest_; }

 private:
  struct Stop {
    base::Nanos began{};
    base::Nanos grace{};
  };
  void take(const Event& event);
  void take(const Decision& decision, base::Nanos at);
  [[nodiscard]] bool is_current(base::Attempt attempt);
  void note_report(base::Nanos took);
  void note_stop(base::Nanos took);

  LongestSaves longest_;
  base::Nanos default_grace_{};  // of the run
  base::Nanos grace_{};  // of a stop that follows from the last event
  base::Attempt attempt_;  // the newest; the members below are about it
  bool does_steps_ = false;  // every rank has done a step
  std::optional<Stop> stop_;  // before which workers save
  std::set<base::NodeId> gone_;  // nodes whose workers have ended
};

}  // namespace robustrun::supervisor
