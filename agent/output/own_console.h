#pragma once
// The console of the command that is this agent (`robustrun` on a machine that joined by itself),
// where its user expects the output of its workers. Made by cli/, used on the agent's loop.

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
  // While true, workers' output is not read.
  [[nodiscard]] virtual bool congested() const = 0;
  // Calls `done` when everything is written, or given up after a bounded time.
  virtual void flush(std::function<void()> done) = 0;
};

}  // namespace robustrun::agent
