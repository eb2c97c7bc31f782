#pragma once
// The Python stacks of a worker, as its own handler of a signal writes them (faulthandler, hung up
// by the boot module): without the interpreter's lock, while any thread can take signals at all.
//
// The signal is sent only when /proc shows the handler, and not while an earlier one waits;
// what the file holds from before is not looked at. On the agent's loop: the file
// is a small one of the run's private folder. Two looks, Suspect.apart from each other, say
// whether the main thread moves; what it does is told by the first, which is of the same moment as
// what else is asked of a worker: a stack of a second later may belong to its next operation.

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
    bool moved = false;  // the main thread's stack was another one at the second
    std::string missing;  // what is not known and why; empty: nothing is missing
  };
  using Done = std::function<void(Answer)>;

  // `done` comes once, from the loop, never from within start(), and not later than `within` but
  // for what the loop itself is late. Destroying the object ends it.
  static std::unique_ptr<PythonStacks> start(boost::asio::any_io_executor executor,
                                             const Suspect& suspect,
                                             std::chrono::milliseconds within, Done done);
  virtual ~PythonStacks() = default;
};

}  // namespace robustrun::agent
