#pragma once
// Worker output on our own stdout and stderr: whole lines, prefixed if asked, never mixed inside a
// line, never blocking the loop.
//
// Owned by the driver, on its loop. The terminal may stop (Ctrl-S, a slow pipe, a full disk behind
// a redirection): while it takes bytes, however slowly, `congested()` asks the agents to wait, so
// nothing is lost; when it has taken none for kConsoleStallMax, output is dropped and counted, and
// a line says so once it moves again. A closed pipe (EPIPE) drops the rest without a word. Writing
// is done by threads of its own; one that is stuck in the kernel holds up neither loop nor exit.

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
  // ${role_name}. Descriptors are not closed; their O_NONBLOCK flag is never changed, because
  // they are shared with other processes. Both may lead to the same file or terminal: streams are
  // then kept apart there.
  static std::unique_ptr<Console> open(boost::asio::any_io_executor executor, int out_fd,
                                       int err_fd, ConsoleStyle style, std::string role,
                                       std::function<void()> on_drained, ConsoleLimits limits = {});
  virtual ~Console() = default;
  virtual void write(const wire::Output& output) = 0;
  // Everything that is shown is given to `copy`, too, as it looks: also what the destinations are
  // too slow for. Called from write(), from the loop, and from flush().
  using Copy = std::function<void(bool is_stderr, std::string_view bytes)>;
  virtual void copy_to(Copy copy) = 0;
  // Both streams go to this file from now on; they must lead to one file already.
  virtual base::Status redirect(const base::Fd& file) = 0;
  [[nodiscard]] virtual bool congested() const = 0;
  [[nodiscard]] virtual std::uint64_t dropped_bytes() const = 0;
  // Calls `done` when everything was written or given up (bounded by kConsoleStallMax). An open
  // line is ended where lines have prefixes; what was not shown is counted in a line of the log.
  virtual void flush(std::function<void()> done) = 0;
  [[nodiscard]] virtual std::size_t held_bytes() const = 0;  // memory of its buffers
};

}  // namespace robustrun::supervisor
