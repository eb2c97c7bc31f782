#pragma once
// What is done behind the last worker of an attempt on this node: stale segments in /dev/shm are
// removed, and the copies that it left in memory are saved. Where another attempt follows the
// second goes on while that begins; SavingOver says when it is over (wire/messages/peer_copies.h).
//
// Owned by the WorkerSet, on the agent's loop.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/copies/memory_tier.h"
#include "agent/node/node_context.h"

namespace robustrun::agent {

class AttemptEnd {
 public:
  struct Handlers {
    std::function<void(std::vector<std::string> shm_removed)>
        done;  // once: WorkersGone may be said
    std::function<void()> saved;  // behind `done`: nothing is saved any more, or it takes too long
  };
  // Both outlive it.
  static std::shared_ptr<AttemptEnd> make(NodeContext& node, MemoryTier& copies);
  virtual ~AttemptEnd() = default;

  // An attempt begins. Nobody is told of the one before any more, but the supervisor.
  virtual void begin_attempt() = 0;
  // Its last worker is gone. `since`: when it began, wall time.
  virtual void begin(base::Attempt attempt, base::Nanos since, Handlers handlers) = 0;
  [[nodiscard]] virtual bool has_begun() const = 0;
  // Whether another attempt follows, as the last stop order says: `done` need not wait for copies.
  virtual void set_goes_on(bool goes_on) = 0;
  // For WorkersGone, which may be said again.
  [[nodiscard]] virtual bool is_saving() const = 0;
  // `saved` will be called: an agent that leaves waits for it.
  [[nodiscard]] virtual bool is_waited_for() const = 0;
};

}  // namespace robustrun::agent
