#pragma once
// The command of --on-incident: the user's own program, told of every incident by JSON on its
// standard input (an argument vector, never a shell).
//
// On the driver's loop; a thread waits for the command, one at a time, and kills it with all that
// it has started when its time is over. The run waits for it only at its end, and not for long. Its
// output goes to the log. Incidents beyond a bounded queue are dropped and said.

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
    std::chrono::milliseconds farewell_max = kHookFarewellMax;
  };
  // `argv[0]` is an absolute path.
  static base::Result<std::unique_ptr<IncidentHook>> open(boost::asio::any_io_executor executor,
                                                          base::BlockingPool& pool,
                                                          base::BlockingPool::Lane lane,
                                                          std::vector<std::string> argv,
                                                          Limits limits);
  // Kills the command that runs.
  virtual ~IncidentHook() = default;
  virtual void tell(std::string json) = 0;
  // No more will come. `done` once, from the loop: when all have been told, or after farewell_max,
  // when the one that runs is killed and the others are dropped.
  virtual void finish(std::function<void()> done) = 0;
};

}  // namespace robustrun::supervisor
