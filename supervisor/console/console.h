#pragma once
// Worker output on our own stdout and stderr: whole lines, prefixed if requested, never mixed
// inside a line, never blocking the loop.
//
// Owned by the driver, on its loop. The terminal may stall (Ctrl-S, a slow pipe, a full disk behind
// a redirection). While it takes bytes, however slowly, congested() makes the agents wait, and
// nothing is lost. When it has taken none for kConsoleStallMax, output is dropped and counted, and
// a line reports that once the terminal moves again. After a closed pipe (EPIPE) the rest is
// dropped silently. With style.live, progress bars of ranks become one line at the bottom of the
// terminal, above a line about the run (live_area.h). The console's own threads write; one that is
// stuck in the kernel delays neither the loop nor the exit.

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/io/fd.h"
#include "supervisor/console/limits.h"
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
  // processes share them. Both may lead to the same file or terminal: lines are not mixed there.
  static std::unique_ptr<Console> open(boost::asio::any_io_executor executor, int out_fd,
                                       int err_fd, ConsoleStyle style, std::string role,
                                       std::function<void()> on_drained, ConsoleLimits limits = {});
  virtual ~Console() = default;
  // `host`: the name of the worker's machine, for ${hostname}.
  virtual void write(const wire::Output& output, std::string_view host) = 0;
  // Whether each traceback is shown as one line, as while workers end because another one failed.
  virtual void fold_tracebacks(bool fold) = 0;
  // Shows lines that wait for equal ones: what is logged next came after them.
  virtual void show_held() = 0;
  // Bars of an attempt that is over become lines.
  virtual void end_bars() = 0;
  // Shows `line` at the bottom of the terminal until the next call or flush(), if style.live.
  virtual void show_live(std::string line) = 0;
  // `copy` also gets all lines that are shown, as they look, including output that is dropped
  // because a destination is too slow; but not what style.live draws. Called from write(), from the
  // loop, and from flush().
  using Copy = std::function<void(bool is_stderr, std::string_view bytes)>;
  virtual void copy_to(Copy copy) = 0;
  // Both streams go to this file from now on; they must already lead to one file.
  virtual base::Status redirect(const base::Fd& file) = 0;
  [[nodiscard]] virtual bool congested() const = 0;
  [[nodiscard]] virtual std::uint64_t dropped_bytes() const = 0;
  // Calls `done` when everything is written or given up (within kConsoleStallMax). Ends an open
  // line where lines have prefixes; logs the number of bytes that were not shown.
  virtual void flush(std::function<void()> done) = 0;
  [[nodiscard]] virtual std::size_t held_bytes() const = 0;  // memory of its buffers
};

}  // namespace robustrun::supervisor
