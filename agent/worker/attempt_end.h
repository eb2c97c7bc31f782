#pragma once
// What is done after the last worker of an attempt on this node: stale segments in /dev/shm are
// removed, and the copies that workers left in memory are saved. If another attempt follows, saving
// continues while that one begins; SavingOver reports its end (wire/messages/facts.h).
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

class AttemptEnd : public std::enable_shared_from_this<AttemptEnd> {
 public:
  struct Handlers {
    std::function<void(std::vector<std::string> shm_removed)>
        done;  // once: WorkersGone may be sent
    // After `done`: no copies are saved any more, or saving takes too long.
    std::function<void()> saved;
  };
  // `node` and `copies` outlive it.
  AttemptEnd(NodeContext& node, MemoryTier& copies)
      : node_(node), copies_(copies), sweep_pool_(node.executor, 1, 1) {}

  // An attempt begins. The end of saves of the previous one is reported to the supervisor only.
  void begin_attempt();
  // The last worker is gone. `since`: wall time of the attempt's start.
  void begin(base::Attempt attempt, base::Nanos since, Handlers handlers);
  [[nodiscard]] bool has_begun() const { return state_.has_begun; }
  // Whether another attempt follows, as the last stop order says. If so, `done` does not wait for
  // copies.
  void set_goes_on(bool goes_on);
  // For WorkersGone, which may be sent again.
  [[nodiscard]] bool is_saving() const { return state_.saves; }
  // `saved` will be called: an agent that leaves waits for that.
  [[nodiscard]] bool is_waited_for() const { return state_.is_done && state_.waits; }

 private:
  struct State {
    bool has_begun = false;
    bool sweeps = false;  // of /dev/shm
    bool waits = false;  // copies are being saved, and the wait has not timed out
    bool goes_on = false;  // another attempt follows
    bool is_done = false;  // `done` was called
    bool saves = false;  // saving nevertheless continues, and SavingOver will follow
  };
  void sweep(base::Nanos since);
  void on_saved(std::uint64_t turn);
  void finish_if_done();

  NodeContext& node_;
  MemoryTier& copies_;
  // Of its own: a log disk that hangs occupies all threads of the other pool; this one only touches
  // tmpfs.
  base::BlockingPool sweep_pool_;
  State state_;
  base::Attempt attempt_;
  Handlers handlers_;
  std::vector<std::string> removed_;
  std::uint64_t turn_ = 0;  // number of attempts so far
};

}  // namespace robustrun::agent
