#pragma once
// Whether workers may load and save checkpoints yet: not while copies of earlier workers are still
// being saved, here or on another node: once new workers claim the store, those copies could no
// longer be committed (checkpoint/store/fence.h). The supervisor shuts and opens the gate
// (StartWorkers::saving); after `most` it opens by itself.
//
// Owned by the WorkerSet, on the agent's loop.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>

#include "base/core/clock.h"

namespace robustrun::agent {

class SavesGate {
 public:
  static std::shared_ptr<SavesGate> make(const boost::asio::any_io_executor& executor,
                                         base::Nanos most);
  virtual ~SavesGate() = default;
  // Calls of the previous attempt are dropped.
  virtual void begin_attempt(bool is_shut) = 0;
  virtual void open() = 0;
  // Calls `go` when the gate is open, perhaps at once.
  virtual void when_open(std::function<void()> go) = 0;
};

}  // namespace robustrun::agent
