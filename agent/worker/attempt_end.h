#pragma once
// Cleans up after the last worker of an attempt on this node: removes stale segments in /dev/shm,
// and saves the copies in memory that the workers left. If another attempt follows, saving
// continues while the next attempt begins; SavingOver then reports the end of saving
// (wire/messages/facts.h).
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
        done;  // called once: WorkersGone may be sent
    // Called after `done`, when saving has ended or takes too long; only if `done` did not wait for
    // it.
    std::function<void()> saved;
  };
  // `node` and `copies` outlive this object.
  AttemptEnd(NodeContext& node, MemoryTier& copies)
      : node_(node), copies_(copies), sweep_pool_(node.executor, 1, 1) {}

  // An attempt begins: no handler of the previous one is called any more. SavingOver is still sent.
  void begin_attempt();
  // To be called when the last worker is gone. `since`: wall time of the attempt's start.
  void begin(base::Attempt attempt, base::Nanos since, Handlers handlers);
  [[nodiscard]] bool has_begun() const { return state_.has_begun; }
  // Sets whether another attempt follows, as the last stop order says. If so, `done` does not wait
  // until copies are saved.
  void set_goes_on(bool goes_on);
  // For WorkersGone: whether saving continues after `done`.
  [[nodiscard]] bool is_saving() const { return state_.saves; }
  // Whether `saved` is still to be called. An agent that leaves waits for it.
  [[nodiscard]] bool is_waited_for() const { return state_.is_done && state_.waits; }

 private:
  struct State {
    bool has_begun = false;
    bool sweeps = false;  // /dev/shm is being swept
    bool waits = false;  // copies are being saved, and the wait has not timed out
    bool goes_on = false;  // another attempt follows
    bool is_done = false;  // `done` was called
    bool saves = false;  // saving continues after `done`, and SavingOver will follow
  };
  void sweep(base::Nanos since);
  void on_saved(std::uint64_t turn);
  void finish_if_done();

  NodeContext& node_;
  MemoryTier& copies_;
  // Not NodeContext::pool, all of whose threads may hang in a log disk. This pool touches only
  // tmpfs.
  base::BlockingPool sweep_pool_;
  State state_;
  base::Attempt attempt_;
  Handlers handlers_;
  std::vector<std::string> removed_;
  std::uint64_t turn_ = 0;  // number of attempts so far
};

}  // namespace robustrun::agent
