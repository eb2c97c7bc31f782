#pragma once
// One worker's messages about its checkpoints (worker-socket.md, "checkpoint"), condensed for the
// supervisor: wire::CheckpointNote. Pure; owned by the Worker.
//
// A script may save at every step, and the supervisor serves thousands of workers. So the first
// note of each kind of event is sent at once, and later ones at most every kCheckpointNoteInterval.
// A load of another checkpoint than the last one is sent at once, too, up to kLoadsAtOnceMax times.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/core/clock.h"
#include "wire/messages/checkpoint_note.h"

namespace robustrun::agent {

inline constexpr std::chrono::seconds kCheckpointNoteInterval{5};
inline constexpr std::size_t kLoadsAtOnceMax = 16;
inline constexpr std::size_t kBlockingSamplesMax = 256;
inline constexpr std::chrono::nanoseconds kBlockingSumMax{std::int64_t{1} << 61};

class CheckpointNotes {
 public:
  // Takes one event, as the worker reported it.
  void take(wire::CheckpointNote note);
  // The notes to send now.
  [[nodiscard]] std::vector<wire::CheckpointNote> due(base::Nanos now);
  // All notes that were not sent. To be called when the worker is dead.
  [[nodiscard]] std::vector<wire::CheckpointNote> rest();

 private:
  struct Kind {
    wire::CheckpointNote sum;
    std::vector<base::Nanos> samples;  // blocking times; a ring buffer
    bool has_news = false;
    bool at_once = false;
    std::optional<base::Nanos> sent_at;
  };
  static wire::CheckpointNote summary(Kind& kind);

  std::array<Kind, 3> kinds_;  // by event
  std::size_t loads_at_once_ = 0;
};

}  // namespace robustrun::agent
