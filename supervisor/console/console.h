#pragma once
// Worker output on our own stdout and stderr. If prefixes are requested, each line gets one, and
// workers' output is never mixed inside a line. Writing never blocks the loop.
//
// Owned by the driver, on its loop. The terminal may stall (Ctrl-S, a slow pipe, a full disk behind
// a redirection). While it takes bytes, however slowly, congested() makes the agents wait, and
// nothing is lost. When it has taken none for kConsoleStallMax, output is dropped and counted, and
// a line reports the loss once the terminal takes bytes again. After a closed pipe (EPIPE) the rest
// is dropped silently. With ConsoleStyle::live, if stderr is a terminal, progress bars of ranks
// become one line at its bottom, above a line about the run (live_area.h). The console's own
// threads write; a thread that is stuck in the kernel delays neither the loop nor the exit.

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/io/fd.h"
#include "supervisor/console/limits.h"
#include "supervisor/console/traceback_fold.h"
#include "supervisor/run_request.h"
#include "wire/messages/messages.h"

namespace robustrun::supervisor {

struct ConsoleLimits {
  std::size_t congested_bytes = kConsoleCongestedBytes;
  std::size_t queue_bytes_max = kConsoleQueueBytesMax;
  base::Nanos stall_max = kConsoleStallMax;
  base::Nanos retry_after = kConsoleRetryAfter;
};

class Console {
 public:
  // `on_drained` is called from the loop when congested() turns false again. `role` fills
  // ${role_name}. Descriptors are not closed, and their O_NONBLOCK flag is never changed, as other
  // processes share them. Both may lead to the same file or terminal.
  static std::unique_ptr<Console> open(boost::asio::any_io_executor executor, int out_fd,
                                       int err_fd, ConsoleStyle style, std::string role,
                                       std::function<void()> on_drained, ConsoleLimits limits = {});
  virtual ~Console() = default;
  // `host`: the name of the worker's machine, for ${hostname}.
  virtual void write(const wire::Output& output, std::string_view host) = 0;
  // Which tracebacks are shown as one line each. `failed`: as for TracebackFolder::set().
  virtual void fold_tracebacks(TracebackFold fold, std::optional<base::Rank> failed = {}) = 0;
  // Shows the lines that wait for equal ones (line_fold.h), so that they come before the next log
  // line.
  virtual void show_held() = 0;
  // Ends the progress bars of an attempt that is over: their last states become lines.
  virtual void end_bars() = 0;
  // With ConsoleStyle::live, shows `line` at the bottom of the terminal until the next call or
  // flush().
  virtual void show_live(std::string line) = 0;
  // `copy` also gets all lines that are shown, with their prefixes, even those that are dropped
  // because a destination is too slow. It does not get the lines at the bottom of the terminal. It
  // is called from functions of this class and from the loop.
  using Copy = std::function<void(bool is_stderr, std::string_view bytes)>;
  virtual void copy_to(Copy copy) = 0;
  // Both streams go to this file from now on; they must already lead to one file.
  virtual base::Status redirect(const base::Fd& file) = 0;
  [[nodiscard]] virtual bool congested() const = 0;
  [[nodiscard]] virtual std::uint64_t dropped_bytes() const = 0;
  // Calls `done` from the loop when everything is written, or when a destination has taken nothing
  // for kConsoleStallMax. Ends an open line where lines have prefixes. Logs the number of bytes
  // that were not shown.
  virtual void flush(std::function<void()> done) = 0;
  [[nodiscard]] virtual std::size_t held_bytes() const = 0;  // memory of its buffers
};

}  // namespace robustrun::supervisor
