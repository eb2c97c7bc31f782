#pragma once
// A worker's reports about its checkpoints, as its agent passes them on, and the order to mark a
// checkpoint as bad (checkpoint demotion). A resumed job takes the newest checkpoint that is
// committed and not marked (docs/checkpoint-format.md).
//
// An agent sends notes only if WorkerTemplate::checkpoints is set, since an older supervisor does
// not know this message. An agent that sends notes understands the order.

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "wire/messages/facts.h"

namespace robustrun::wire {

// For each worker and event, an agent sends at most one note per kCheckpointNoteInterval
// (agent/worker/checkpoint_notes.h). Two exceptions are sent at once: a load of another checkpoint
// (at most kLoadsAtOnceMax times per worker), and what is unsent when the worker ends. A note
// covers all such events since the worker's start, and names the newest checkpoint.
struct CheckpointNote {
  enum class Event : std::uint8_t { kSaved, kCommitted, kLoaded };
  base::Attempt attempt;
  base::LocalRank local_rank;
  Event event = Event::kSaved;
  std::uint64_t step = 0;
  std::uint64_t generation = 0;  // with `token`: which checkpoint of that step
  std::string token{};
  // The checkpoint's directories. The first one, the home, has the files that commit the
  // checkpoint.
  std::vector<std::string> directories{};
  std::string source{};  // of a load: "disk", "memory", "peer", "parity"; else empty
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  // of all `count` events
  base::Nanos blocking{};  // time that the script waited, in all `count` events
  base::Nanos blocking_median{}, blocking_most{};  // over the newest kBlockingSamplesMax events
  base::Nanos total{};  // duration of the newest event
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "local_rank", local_rank);
    v(3, "event", event);
    v(4, "step", step);
    v(5, "generation", generation);
    v(6, "token", token);
    v(7, "directories", directories);
    v(8, "source", source);
    v(9, "count", count);
    v(10, "bytes", bytes);
    v(11, "blocking", blocking);
    v(12, "blocking_median", blocking_median);
    v(13, "blocking_most", blocking_most);
    v(14, "total", total);
  }
};

// Supervisor to an agent that can reach the directories: mark this checkpoint, so that no later
// attempt loads it. The agent writes only the mark, and only to an existing checkpoint. Answered by
// CheckpointDemoted.
struct DemoteCheckpoint {
  std::uint64_t order = 0;
  std::uint64_t step = 0;
  std::uint64_t generation = 0;
  std::string token;
  std::vector<std::string> directories;
  std::string reason;  // one word
  template <class V>
  void fields(V& v) {
    v(1, "order", order);
    v(2, "step", step);
    v(3, "generation", generation);
    v(4, "token", token);
    v(5, "directories", directories);
    v(6, "reason", reason);
  }
};

}  // namespace robustrun::wire
