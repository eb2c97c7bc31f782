#pragma once
// Watches how far one worker is in its collectives, and says when one lasts for longer than its
// history explains (tracer/head_watch.h).
//
// Two sources: the tables of the worker's progress record (NCCL's plugin, the interposer), read at
// every look; and torch's Flight Recorder (flight_source.h), asked every ten seconds while steps
// advance as usual (five where there are none, but collectives do), and every second while they do
// not. Owned by the Worker, on the agent's loop. What the supervisor hears: CollectiveProgress, at
// most once a second, and once, possibly empty, when the recorder first answers; Overdue, once when
// an operation becomes that and once when it is over.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/evidence/flight_source.h"
#include "agent/node/node_context.h"
#include "tracer/collectives_reader.h"
#include "tracer/record_file.h"

namespace robustrun::agent {

class CollectiveWatch {
 public:
  struct Subject {
    base::Attempt attempt;
    base::LocalRank local_rank;
  };
  // Everything that is known of the worker's collectives at one moment.
  struct Collected {
    std::vector<tracer::Membership> comms;
    std::optional<base::Nanos> calls_still;
    std::optional<base::Nanos> proxy_still;
  };
  using Done = std::function<void(Collected)>;

  // `record` outlives the watch. `flight` may be null: no such source.
  static std::unique_ptr<CollectiveWatch> make(NodeContext& node, Subject subject,
                                               const tracer::RecordFile& record,
                                               std::unique_ptr<FlightSource> flight);
  virtual ~CollectiveWatch() = default;

  // To be called ten times a second, with the steps that the worker has done so far.
  virtual void look(std::uint64_t steps) = 0;
  // Some operation was overdue at the last look and is not over.
  [[nodiscard]] virtual bool has_overdue() const = 0;
  // Both sources anew. `done` comes once, from the loop, never from within collect(); of a worker
  // that does not answer within kFlightAnswerMax it has what it said last. One at a time: a newer
  // one drops that which is under way. Destroying the watch drops it, too.
  virtual void collect(Done done) = 0;
};

}  // namespace robustrun::agent
