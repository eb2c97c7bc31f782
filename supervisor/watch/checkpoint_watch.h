#pragma once
// Folds all workers' notes about checkpoints into a few events about the whole group. Pure; the
// caller gives the time.
//
// A worker's note includes all its earlier notes (wire/messages/checkpoint_note.h), so a lost note
// does no harm. For saves and commits the first event is journaled at once, and then at most one in
// kCheckpointEventInterval. For loads the first event for each checkpoint and source is journaled
// at once. The driver calls rest() for the remaining events at intervals and when a worker ends.
// Owned by the driver, one for the run.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "supervisor/core/types/checkpoint_events.h"
#include "wire/messages/checkpoint_note.h"

namespace robustrun::supervisor {

class CheckpointWatch {
 public:
  struct News {
    base::NodeId node;  // the last node that reported it; for a load the first one
    CheckpointNoted event;
  };

  // `began`: a time of take()'s clock before the attempt's first worker started. No save can be
  // longer than the time since.
  void begin_attempt(base::Attempt attempt, std::uint32_t world_size, base::Nanos began);
  // Returns the events to be journaled now. A note of another attempt gives none.
  std::vector<News> take(base::Rank rank, base::NodeId node, wire::CheckpointNote note,
                         base::Nanos now);
  // The events that are still due.
  std::vector<News> rest();

 private:
  struct Saves {
    std::uint64_t count = 0, bytes = 0;
    base::Nanos blocking{}, median{}, most{};
  };
  struct Load {
    News news;
    std::vector<bool> ranks;
  };
  void take_save(base::Rank rank, const wire::CheckpointNote& note);
  void take_commit(base::Rank rank, const wire::CheckpointNote& note);
  News saved();
  News committed();
  bool take_load(base::Rank rank, base::NodeId node, const wire::CheckpointNote& note);

  base::Attempt attempt_;
  base::Nanos began_{};
  std::vector<Saves> saves_;  // by rank
  std::vector<std::uint64_t> commits_;  // by rank
  News saved_, committed_;  // without the sums over ranks
  bool has_commits_ = false;
  base::Nanos total_most_{};
  bool saved_changed_ = false, committed_changed_ = false;
  std::optional<base::Nanos> saved_at_, committed_at_;  // when the last event was returned
  std::vector<Load> loads_;  // by checkpoint and source, at most kLoadsMax
  std::vector<bool> load_changed_;
};

}  // namespace robustrun::supervisor
