#pragma once
// Shows the output of this node's workers on the terminal of a user's `robustrun` command that
// joined a run which another machine leads; the command is then this node's agent. Used with
// --compat=torchrun. Otherwise the output goes to the supervisor, whose console shows the whole
// run. Made by cli/, used on the agent's loop.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>

namespace robustrun::wire {
struct Output;
}

namespace robustrun::agent {

class OwnConsole {
 public:
  // `on_drained` is called from the loop when congested() turns false again.
  using Open = std::function<std::unique_ptr<OwnConsole>(boost::asio::any_io_executor executor,
                                                         std::function<void()> on_drained)>;
  virtual ~OwnConsole() = default;
  virtual void write(const wire::Output& output) = 0;
  // While true, the agent does not read workers' output.
  [[nodiscard]] virtual bool congested() const = 0;
  // Calls `done` when everything is written, or is given up after a bounded time.
  virtual void flush(std::function<void()> done) = 0;
};

}  // namespace robustrun::agent
