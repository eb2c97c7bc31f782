#pragma once
// From the end of the run to the end of this process: the agents end, all output is shown, and
// on_finished() is called once. An agent that does not end is killed, as a stopped or hung agent
// would keep its workers for ever.
//
// Owned by the driver, on its loop.

#include <boost/asio/any_io_executor.hpp>
#include <functional>

#include "base/core/clock.h"
#include "base/io/timer.h"
#include "supervisor/limits.h"

namespace robustrun::supervisor {

class RunEnd {
 public:
  struct Hands {
    std::function<bool()> are_agents_gone;
    std::function<void()> kill_agents;
    // Calls `done` once all output is shown or given up.
    std::function<void(std::function<void()> done)> flush;
    std::function<void(int exit_code)> on_finished;
  };
  struct Times {
    base::Nanos before_kill = kShutdownMax;  // how long agents may take to end by themselves
    base::Nanos after_kill = kKillMax;  // how long killed agents are waited for
  };
  RunEnd(const boost::asio::any_io_executor& executor, const Times& times, Hands hands);

  // The run is over: nothing is reported to the core any more. False: the run was over before.
  [[nodiscard]] bool begin(int exit_code);
  [[nodiscard]] bool is_over() const { return is_over_; }
  [[nodiscard]] int exit_code() const { return exit_code_; }
  // One of the next two is called after begin().
  // Waits until the agents have sent their last output and ended, and then finishes.
  void wait_for_agents();
  // Finishes without waiting for agents.
  void say_goodbye();
  // An agent's connection or process has ended. Has no effect before begin().
  void on_agent_left();

 private:
  const Times times_;
  const Hands hands_;
  bool is_over_ = false, said_goodbye_ = false;
  int exit_code_ = 0;
  base::Timer timer_;
};

}  // namespace robustrun::supervisor
