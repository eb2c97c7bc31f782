#pragma once
// Admits a limited number of callers at once, and a limited number of them through any one jump
// host. The rest wait in order, without holding up callers for other jump hosts. For connections
// and for pushes.
//
// When a server drops connections (many names may be one machine) each dropped connection lowers
// the limit by one, not below kFanoutMin, and each success raises it again.

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace robustrun::launcher {

class SshGate {
 public:
  // Held while inside; release it to leave.
  using Pass = std::shared_ptr<void>;

  SshGate(boost::asio::any_io_executor executor, std::uint32_t limit, std::uint32_t limit_per_jump);
  ~SshGate();
  SshGate(const SshGate&) = delete;
  SshGate& operator=(const SshGate&) = delete;

  // Calls `entered` from the loop; `waited`: not at once. A caller that is no longer interested
  // releases the pass. `jump_host`: empty for none.
  void enter(const std::string& jump_host, std::function<void(Pass, bool waited)> entered);
  void widen();
  void narrow();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace robustrun::launcher
