#pragma once
// The commands of --on-incident and --on-bad-node: a program of the user that gets each incident or
// bad node as JSON on its standard input, or scontrol. A command is an argument vector; no shell
// runs it.
//
// Used on the driver's loop. A thread runs one command at a time, and kills the command with all
// its children after time_max. Only the end of the run waits for commands, for at most end_max.
// Output of commands goes to the log. Incidents beyond a bounded queue are dropped, which is
// logged.

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/core/result.h"
#include "base/io/blocking_pool.h"
#include "supervisor/outlets/limits.h"

namespace robustrun::supervisor {

// Words for log messages: the option, and what is dropped when the command is too slow.
struct HookNames {
  const char* option = "--on-incident";
  const char* subject = "incident";
};

class IncidentHook {
 public:
  struct Limits {
    std::chrono::milliseconds time_max = kHookTimeMax;
    std::size_t queue_max = kHookQueueMax;
    std::chrono::milliseconds end_max = kHookEndMax;
  };
  struct Call {
    std::string input;
    std::vector<std::string> words;  // appended to argv
    // If `done` is set, one line is logged: `done` after a success, or `failed` with the cause.
    // Otherwise the command's output is logged.
    std::string done;
    std::string failed;
  };
  // `argv[0]` is an absolute path.
  static base::Result<std::unique_ptr<IncidentHook>> open(boost::asio::any_io_executor executor,
                                                          base::BlockingPool& pool,
                                                          base::BlockingPool::Lane lane,
                                                          std::vector<std::string> argv,
                                                          Limits limits, HookNames names = {});
  // Kills the running command.
  virtual ~IncidentHook() = default;
  // Runs the command with `json` as its input.
  void tell(std::string json) { run({std::move(json), {}, {}, {}}); }
  virtual void run(Call call) = 0;
  // No more incidents will come. Calls `done` once, from the loop: when all commands have run, or
  // after end_max, when the running command is killed and the others are dropped.
  virtual void finish(std::function<void()> done) = 0;
};

}  // namespace robustrun::supervisor
