#pragma once
// Answers the supervisor's Observe for one worker with a tracer::RankSnapshot: what the worker
// records about its collectives, and what can be seen of it from outside.
//
// Owned by the Worker, on the agent's loop. Destroying it drops what is under way.

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
    // Returns life, steps and the like; called when everything else is there.
    std::function<tracer::RankSnapshot()> describe;
    CollectiveWatch* watch = nullptr;  // outlives this; null: its collectives are not watched
    std::optional<Suspect> suspect{};  // none: evidence is not wanted, or the worker is dead
    base::Nanos within{};  // for the evidence
  };
  // The encoded snapshot, at most kObservedBytesMax. Called once, from the loop, never from within
  // take().
  using Done = std::function<void(std::string snapshot)>;

  static std::unique_ptr<WorkerSnapshot> take(NodeContext& node, Plan plan, Done done);
  virtual ~WorkerSnapshot() = default;
};

// The codec's bytes. A snapshot that is too long loses its history, then its evidence, then
// everything but life and steps.
std::string encode_bounded(tracer::RankSnapshot snapshot);

}  // namespace robustrun::agent
