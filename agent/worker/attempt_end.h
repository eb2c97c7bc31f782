#pragma once
// What is done after the last worker of an attempt on this node: stale segments in /dev/shm are
// removed, and the copies that workers left in memory are saved. If another attempt follows, saving
// continues while that one begins; SavingOver reports its end (wire/messages/peer_copies.h).
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
        done;  // once: WorkersGone may be sent
    // After `done`: no copies are saved any more, or saving takes too long.
    std::function<void()> saved;
  };
  // `node` and `copies` outlive it.
  static std::shared_ptr<AttemptEnd> make(NodeContext& node, MemoryTier& copies);
  virtual ~AttemptEnd() = default;

  // An attempt begins. The end of saves of the previous one is reported to the supervisor only.
  virtual void begin_attempt() = 0;
  // The last worker is gone. `since`: wall time of the attempt's start.
  virtual void begin(base::Attempt attempt, base::Nanos since, Handlers handlers) = 0;
  [[nodiscard]] virtual bool has_begun() const = 0;
  // Whether another attempt follows, as the last stop order says. If so, `done` does not wait for
  // copies.
  virtual void set_goes_on(bool goes_on) = 0;
  // For WorkersGone, which may be sent again.
  [[nodiscard]] virtual bool is_saving() const = 0;
  // `saved` will be called: an agent that leaves waits for that.
  [[nodiscard]] virtual bool is_waited_for() const = 0;
};

}  // namespace robustrun::agent
