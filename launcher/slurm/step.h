#pragma once
// One srun, from its start to its end. It starts one agent on each of some nodes.
//
// The srun runs in its own session, reads its standard input from an unnamed file and prints to a
// file. So our death affects neither the srun nor the agents (docs/internals/slurm.md, section 0).
// To be used on the loop of its executor, which also calls handlers.

#include <sys/types.h>

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "launcher/slurm/command.h"
#include "launcher/slurm/words.h"

namespace robustrun::launcher {

class SlurmStep {
 public:
  struct End {
    std::string what;         // in words
    bool began = false;       // false: Slurm refused the step, and nothing was started anywhere
  };
  struct Handlers {
    std::function<void(const SrunNews&)> on_news;
    std::function<void(const End&)> on_end;  // once, as the last handler
  };
  // `credential`: one line for all agents (wire::Credential::places). `number`: not used before in
  // `options.folder`, since it is part of the names of files there. The folder must exist. Errors:
  // a file cannot be made or watched, or srun cannot be started.
  static base::Result<std::unique_ptr<SlurmStep>> start(boost::asio::any_io_executor executor,
                                                        const SlurmOptions& options,
                                                        const std::vector<std::string>& nodes,
                                                        const std::string& credential,
                                                        unsigned number, Handlers handlers);
  // Tells a running srun to end its step, which kills the agents that are left in the step.
  virtual ~SlurmStep() = default;
  // Lets srun continue, even after this object or this process has ended. No handler is called any
  // more.
  virtual void leave() = 0;
  [[nodiscard]] virtual pid_t pid() const = 0;
};

}  // namespace robustrun::launcher
