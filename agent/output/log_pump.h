#pragma once
// Reads one captured stream of one worker from its pipe, passes it to log file and console, and
// keeps the last lines.
//
// Used on the agent's loop; file writes run on the blocking pool. While the console is congested or
// the file's queue is full, the pipe is not read, which slows the worker down. But the worker never
// blocks for ever. After kConsolePauseMax of congestion, output skips the console. A file that has
// taken nothing for kFileStallMax (dead mount), or that cannot be written (full disk), loses bytes:
// they are counted, reported once, and marked by a line in the file once it can be written again.
//
// The console gets whole lines, except lines longer than kLineBytesMax and an incomplete line that
// no longer grows (kPartialLineMax). '\r' ends a line, too, so that progress bars are shown. NUL
// and non-UTF-8 bytes pass unchanged. An idle pump holds no buffers except the kept lines.

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
  std::size_t tail_lines = 0;  // number of last lines to keep
  // Lines that contain one of these substrings also go to `filter_file` (--duplicate-*-filters).
  // Several pumps may share the file: whole lines are appended (O_APPEND).
  std::vector<std::string> filters;
  std::string filter_file;
  std::string filter_prefix;  // put before each line in `filter_file`: "[default0]:"
  LogPumpLimits limits = {};
};

class LogPump {
 public:
  struct Handlers {
    // Receives all bytes as they are read. May be empty.
    std::function<void(std::string_view bytes)> on_bytes;
    // Receives at most kLogReadBytes + kLineBytesMax for the console. `partial`: the bytes do not
    // end with a line end.
    std::function<void(std::string_view bytes, bool partial)> on_console;
    std::function<void(const std::string& what)> on_trouble;  // for the log; once per kind
    // Called once: the stream has ended, and all bytes are written or given up.
    std::function<void()> on_finished;
  };
  static base::Result<std::unique_ptr<LogPump>> open(boost::asio::any_io_executor executor,
                                                     base::BlockingPool& pool,
                                                     LogPumpOptions options, Handlers handlers);
  virtual ~LogPump() = default;
  // The console is congested, or no longer is. While it is, nothing is read, for kConsolePauseMax
  // at most. May be called from within on_console.
  virtual void set_congested(bool congested) = 0;
  // The worker is dead: reads the rest of the pipe's content before it returns, then finishes even
  // if a stray process holds the pipe open. What console or file cannot take yet is held in memory.
  virtual void drain() = 0;
  // The last lines, oldest first.
  [[nodiscard]] virtual std::vector<std::string> tail() const = 0;
  // Bytes that the log file lost or the console did not get.
  [[nodiscard]] virtual std::uint64_t dropped_bytes() const = 0;
  [[nodiscard]] virtual std::size_t held_bytes() const = 0;  // memory of the pump's buffers
};

}  // namespace robustrun::agent
