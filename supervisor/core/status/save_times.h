#pragma once
// How long the saves of a run take, from its journal, so that the last save before the end of the
// scheduler's job begins early enough. Pure.
//
// Two kinds count: saves and commits that workers report (CheckpointNoted::total_most), and stops
// before which the workers are told to save, from the order until the last worker has ended. A stop
// counts only if every rank has done a step in this attempt: before that there is nothing to save.
// It tells the least that a save may take, as nothing shows that the workers did save; and no more
// than the workers were given, as a node that cannot be reached may tell of their end much later.

#include <optional>
#include <set>

#include "supervisor/core/types/journal_entry.h"

namespace robustrun::supervisor {

struct LongestSaves {
  std::optional<base::Nanos> reported;  // none: workers have reported no save
  base::Nanos stop{};  // 0: there was no stop that counts
  // How long the next save may take. `grace`: what workers may take if they report none.
  [[nodiscard]] base::Nanos expected(base::Nanos grace) const;
};

class SaveTimes {
 public:
  void take(const JournalEntry& entry);
  // Those of another start of the same job.
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
  base::Attempt attempt_;  // the newest; what follows is of it
  bool does_steps_ = false;  // every rank has done one
  std::optional<Stop> stop_;  // before which workers save
  std::set<base::NodeId> gone_;  // nodes whose workers have ended
};

}  // namespace robustrun::supervisor
