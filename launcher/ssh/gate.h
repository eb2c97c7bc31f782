#pragma once
// Admits a limited number of callers at once, and of these a limited number through any one jump
// host. The others wait in order; callers for a busy jump host do not delay callers for other jump
// hosts. For connections and for pushes.
//
// The limit on callers at once adapts. narrow() lowers it by one, not below kFanoutMin; to be
// called when a server has dropped a connection, perhaps because many of the hosts are one machine.
// widen() raises it by one, up to the first limit; to be called after a success. The limit per jump
// host does not change.

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace robustrun::launcher {

class SshGate {
 public:
  // Counts as one admitted caller until it is released.
  using Pass = std::shared_ptr<void>;

  SshGate(boost::asio::any_io_executor executor, std::uint32_t limit, std::uint32_t limit_per_jump);
  ~SshGate();  // callers that still wait are dropped without a call
  SshGate(const SshGate&) = delete;
  SshGate& operator=(const SshGate&) = delete;

  // Calls `entered` from the loop, never before enter() returns. `waited`: the caller had to wait.
  // A caller that is no longer interested releases the pass. `jump_host`: empty: no jump host.
  void enter(const std::string& jump_host, std::function<void(Pass, bool waited)> entered);
  void widen();
  void narrow();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace robustrun::launcher
