#pragma once
// Watches how far one worker is in its collectives, and reports when one lasts longer than its
// history explains (tracer/head_watch.h).
//
// There are two sources. The tables of the worker's progress record (NCCL's plugin, the interposer)
// are read at every look. torch's Flight Recorder (flight_source.h) is asked every ten seconds
// while steps advance as usual, every five where only collectives do, and every second while
// neither does. Owned by the Worker, on the agent's loop. The supervisor gets CollectiveProgress at
// most once a second, and once, possibly empty, when the recorder first answers; Overdue once when
// an operation becomes overdue and once when it is over; BandwidthReport for NCCL.

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
  // What is known of the worker's collectives at one moment.
  struct Collected {
    std::vector<tracer::Membership> comms;
    std::optional<base::Nanos> calls_still;
    std::optional<base::Nanos> proxy_still;
  };
  using Done = std::function<void(Collected)>;

  // `record` outlives the watch. `flight`: null where there is no Flight Recorder.
  static std::unique_ptr<CollectiveWatch> make(NodeContext& node, Subject subject,
                                               const tracer::RecordFile& record,
                                               std::unique_ptr<FlightSource> flight);
  virtual ~CollectiveWatch() = default;

  // Call up to ten times a second; `steps`: how many the worker has done so far.
  virtual void look(std::uint64_t steps) = 0;
  // Some operation was overdue at the last look and has not ended.
  [[nodiscard]] virtual bool has_overdue() const = 0;
  // Reads both sources anew. `done` comes once, from the loop, never from within collect(). If the
  // worker does not answer within kFlightAnswerMax, `done` gets its previous answer. A newer call
  // drops the one under way, and so does destroying the watch.
  virtual void collect(Done done) = 0;
};

}  // namespace robustrun::agent
