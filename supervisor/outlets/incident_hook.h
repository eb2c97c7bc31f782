#pragma once
// The command of --on-incident: a program of the user's that gets every incident as JSON on its
// standard input (an argument vector, never a shell).
//
// On the driver's loop. A thread runs one command at a time, and kills it with all its children
// when its time is over. The run waits for it only at its end, and not for long. Its output goes to
// the log. Incidents beyond a bounded queue are dropped, which is logged.

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/io/blocking_pool.h"
#include "supervisor/outlets/limits.h"

namespace robustrun::supervisor {

class IncidentHook {
 public:
  struct Limits {
    std::chrono::milliseconds time_max = kHookTimeMax;
    std::size_t queue_max = kHookQueueMax;
    std::chrono::milliseconds end_max = kHookEndMax;
  };
  // `argv[0]` is an absolute path.
  static base::Result<std::unique_ptr<IncidentHook>> open(boost::asio::any_io_executor executor,
                                                          base::BlockingPool& pool,
                                                          base::BlockingPool::Lane lane,
                                                          std::vector<std::string> argv,
                                                          Limits limits);
  // Kills the running command.
  virtual ~IncidentHook() = default;
  virtual void tell(std::string json) = 0;
  // No more incidents will come. Calls `done` once, from the loop: when all commands have run, or
  // after end_max, when the running command is killed and the others are dropped.
  virtual void finish(std::function<void()> done) = 0;
};

}  // namespace robustrun::supervisor
