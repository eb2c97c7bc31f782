#pragma once
// Makes the answer to the supervisor's Observe for one worker, a tracer::RankSnapshot: what the
// worker records about its collectives, and the evidence from outside (evidence_collector.h).
//
// Owned by the Worker, on the agent's loop. `done` is not called after this object is destroyed.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/evidence/collective_watch.h"
#include "agent/evidence/evidence_collector.h"
#include "agent/node/node_context.h"
#include "tracer/analysis/snapshot.h"

namespace robustrun::agent {

class WorkerSnapshot {
 public:
  struct Plan {
    // Returns the members of the snapshot that are not collected here (life, steps, …); called
    // last.
    std::function<tracer::RankSnapshot()> describe;
    CollectiveWatch* watch = nullptr;  // outlives this object; null: no collectives are watched
    std::optional<Suspect> suspect{};  // none: evidence is not wanted, or the worker is dead
    base::Nanos within{};  // time limit for the evidence
  };
  // The encoded snapshot, at most kObservedBytesMax. Called once, from the loop, never from within
  // take().
  using Done = std::function<void(std::string snapshot)>;

  static std::unique_ptr<WorkerSnapshot> take(NodeContext& node, Plan plan, Done done);
  virtual ~WorkerSnapshot() = default;
};

// Encodes `snapshot` (wire::encode()) in at most kObservedBytesMax. If it is too long, it loses the
// history of its communicators, then its evidence, then its communicators.
std::string encode_bounded(tracer::RankSnapshot snapshot);

}  // namespace robustrun::agent
