#pragma once
// What one worker says of its checkpoints (worker-socket.md, "checkpoint"), folded to what the
// supervisor is told: wire::CheckpointNote. Pure; owned by the worker's keeper.
//
// A script may save at every step, and the supervisor hears of thousands of workers: of each event
// one note goes out at once and then one in kCheckpointNoteInterval at most. A load of another
// checkpoint does not wait, kLoadsAtOnceMax times.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/core/clock.h"
#include "wire/messages/checkpoint_note.h"

namespace robustrun::agent {

class CheckpointNotes {
 public:
  // One event, as the worker told it: count is 1, and both times are its own.
  void take(wire::CheckpointNote note);
  // What is to be sent now.
  [[nodiscard]] std::vector<wire::CheckpointNote> due(base::Nanos now);
  // What is left; the worker is dead.
  [[nodiscard]] std::vector<wire::CheckpointNote> rest();

 private:
  struct Kind {
    wire::CheckpointNote sum;
    std::vector<base::Nanos> samples;  // of blocking; a ring
    bool has_news = false;
    bool at_once = false;
    std::optional<base::Nanos> sent_at;
  };
  static wire::CheckpointNote summary(Kind& kind);

  std::array<Kind, 3> kinds_;  // by event
  std::size_t loads_at_once_ = 0;
};

}  // namespace robustrun::agent
