#pragma once
// Lets at most so many through at once, and at most so many of them by way of one jump host (the
// rest waits, in order, without holding up others). For connections and for pushes.
//
// Where a server drops connections (many names may be one machine) the limit goes down by one for
// each that is dropped, not below kFanoutMin, and up again by one for each that succeeds.

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace robustrun::launcher {

class SshGate {
 public:
  // Held while inside; dropped to leave.
  using Pass = std::shared_ptr<void>;

  SshGate(boost::asio::any_io_executor executor, std::uint32_t limit, std::uint32_t limit_per_jump);
  ~SshGate();
  SshGate(const SshGate&) = delete;
  SshGate& operator=(const SshGate&) = delete;

  // `entered` is called from the loop; `waited`: not at once. Who has lost interest drops the pass.
  // `jump_host`: empty for none.
  void enter(const std::string& jump_host, std::function<void(Pass, bool waited)> entered);
  void widen();
  void narrow();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace robustrun::launcher
