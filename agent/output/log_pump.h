#pragma once
// One captured stream of one worker: from the pipe to log file and console; the last lines are
// kept.
//
// Used on the agent's loop; file writes go to the blocking pool. The worker never blocks for ever.
// While the console is congested or the file's queue is full, reading pauses (the worker slows to
// their pace). But a file that has taken nothing for kFileStallMax (dead mount), or that cannot be
// written (full disk), loses bytes: they are counted, reported once, and marked by a line in the
// file once it can be written again. Lines are passed on whole, except lines longer than
// kLineBytesMax and a tail that has not grown for kPartialLineMax ('\r' ends a line too, so that
// progress bars pass). NUL and non-UTF-8 bytes pass unchanged. An idle pump holds no buffers but
// the kept lines.

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/output/limits.h"
#include "base/core/clock.h"
#include "base/io/blocking_pool.h"
#include "base/io/fd.h"

namespace robustrun::agent {

struct LogPumpLimits {
  base::Nanos console_pause_max = kConsolePauseMax;
  base::Nanos file_stall_max = kFileStallMax;
  base::Nanos file_retry_after = kFileRetryAfter;
};

struct LogPumpOptions {
  base::Fd source;  // read end of the worker's pipe
  std::string file;  // path, truncated at start; empty: no file
  bool to_console = true;
  std::size_t tail_lines = 0;  // how many last lines to keep
  // Lines that contain one of these substrings also go to `filter_file` (--duplicate-*-filters),
  // which several pumps may share: whole lines, O_APPEND.
  std::vector<std::string> filters;
  std::string filter_file;
  std::string filter_prefix;  // before each such line: "[default0]:"
  LogPumpLimits limits = {};
};

class LogPump {
 public:
  struct Handlers {
    // Receives all bytes as they come. This handler may be empty.
    std::function<void(std::string_view bytes)> on_bytes;
    // At most kLogReadBytes + kLineBytesMax. `partial`: the bytes do not end with a line's end.
    std::function<void(std::string_view bytes, bool partial)> on_console;
    std::function<void(const std::string& what)> on_trouble;  // for the log; once per kind
    std::function<void()> on_finished;  // EOF and all written or given up; called once
  };
  static base::Result<std::unique_ptr<LogPump>> open(boost::asio::any_io_executor executor,
                                                     base::BlockingPool& pool,
                                                     LogPumpOptions options, Handlers handlers);
  virtual ~LogPump() = default;
  // Console backpressure: while true nothing is read, for kConsolePauseMax at most. May be called
  // from within on_console.
  virtual void set_congested(bool congested) = 0;
  // The worker is dead: reads what is in the pipe, then finishes even if a stray process holds it
  // open.
  virtual void drain() = 0;
  [[nodiscard]] virtual std::vector<std::string> tail() const = 0;
  [[nodiscard]] virtual std::uint64_t dropped_bytes() const = 0;
  [[nodiscard]] virtual std::size_t held_bytes() const = 0;  // memory of its buffers
};

}  // namespace robustrun::agent
