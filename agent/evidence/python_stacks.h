#pragma once
// The Python stacks of a worker, as its own signal handler writes them (faulthandler, installed by
// the boot module). It needs no lock of the interpreter, only a thread that can take signals.
//
// The signal is sent only when /proc shows the handler, and not while an earlier signal is pending.
// Older content of the file is skipped. On the agent's loop: the file is a small one of the run's
// private folder. There are two looks, Suspect.apart from each other; comparing them shows whether
// the main thread moves. The reported stack is the first look's, because the other evidence is of
// that moment: a stack taken a second later may belong to the worker's next operation.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>

#include "agent/evidence/evidence_collector.h"
#include "agent/node/faulthandler_text.h"

namespace robustrun::agent {

class PythonStacks {
 public:
  struct Answer {
    StackDump dump;  // of the first look
    bool moved = false;  // the main thread's stack differed at the second look
    std::string missing;  // what is not known and why; empty: nothing is missing
  };
  using Done = std::function<void(Answer)>;

  // `done` comes once, from the loop, never from within start(), and within `within` unless the
  // loop itself is late. Destroying the object ends it.
  static std::unique_ptr<PythonStacks> start(boost::asio::any_io_executor executor,
                                             const Suspect& suspect,
                                             std::chrono::milliseconds within, Done done);
  virtual ~PythonStacks() = default;
};

}  // namespace robustrun::agent
