#pragma once
// Gets the Python stacks of a worker from the worker's own signal handler (faulthandler, installed
// by the boot module), which writes them to a file. The handler needs no lock of the interpreter,
// only a thread that can take signals.
//
// The signal is sent only if /proc shows that the handler is installed, that no earlier signal is
// pending, and that the worker is not stopped. There are two looks; comparing them shows whether
// the main thread moves. The reported stacks are those of the first look, because the other
// evidence is of that moment: a second later the worker may be in its next operation. Reads the
// file on the agent's loop, because it is small and in the run's private folder.

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
    std::string missing;  // what is unknown, and why; empty: nothing
  };
  using Done = std::function<void(Answer)>;

  // Calls `done` once, from the loop, never from within start(), after `within` at the latest; not
  // after this object is destroyed.
  static std::unique_ptr<PythonStacks> start(boost::asio::any_io_executor executor,
                                             const Suspect& suspect,
                                             std::chrono::milliseconds within, Done done);
  virtual ~PythonStacks() = default;
};

}  // namespace robustrun::agent
