#pragma once
// Holds back workers that want to load or save checkpoints, while copies of earlier workers are
// still being saved here or on another node. Once new workers claim the checkpoint store, those
// copies could no longer be committed (checkpoint/store/fence.h). The supervisor shuts and opens
// the gate (StartWorkers::saving); after `most` it opens by itself.
//
// Owned by the WorkerSet, on the agent's loop.

#include <functional>
#include <vector>

#include "base/io/timer.h"

namespace robustrun::agent {

class SavesGate {
 public:
  SavesGate(const boost::asio::any_io_executor& executor, base::Nanos most)
      : timer_(executor), most_(most) {}
  // Drops calls of the previous attempt that still wait.
  void begin_attempt(bool is_shut);
  void open();
  // Calls `go` when the gate is open, perhaps at once.
  void when_open(std::function<void()> go);

 private:
  base::Timer timer_;
  const base::Nanos most_;
  std::vector<std::function<void()>> waiting_;
  bool is_shut_ = false;
};

}  // namespace robustrun::agent
