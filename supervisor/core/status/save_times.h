#pragma once
// How long the saves of a run take, from its journal, so that the last save before the end of the
// scheduler's job begins early enough. Pure.
//
// Two kinds count: saves and commits that workers report (CheckpointNoted::total_most), and stops
// before which the workers are told to save, from the order until the last worker has ended. A stop
// counts only if every rank has done a step in this attempt: before that there is nothing to save.

#include <optional>

#include "supervisor/core/types/journal_entry.h"

namespace robustrun::supervisor {

class SaveTimes {
 public:
  void take(const JournalEntry& entry);
  // Those of another start of the same job.
  void add(const SaveTimes& other);
  // None: none is known.
  [[nodiscard]] std::optional<base::Nanos> longest() const { return longest_; }

 private:
  void take(const Event& event);
  void note(base::Nanos took);

  std::optional<base::Nanos> longest_;
  bool does_steps_ = false;  // every rank has done one in this attempt
  std::optional<base::Nanos> stop_began_;  // of a stop under way before which workers save
};

}  // namespace robustrun::supervisor
