#pragma once
// What a run shows on the console and to commands that watch the run: the output of its workers,
// its decisions, and the table of its nodes.
//
// Owned by the driver, on its loop. A detached run's console is a file, which is rotated
// (console_log.h). From open() on, commands that watch the run also get all log lines.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "base/io/timer.h"
#include "supervisor/console/console.h"
#include "supervisor/console/output_hub.h"
#include "supervisor/core/types/actions.h"
#include "supervisor/run_request.h"

namespace robustrun::supervisor {

class ConsoleLog;

class RunConsole {
 public:
  struct Hands {
    std::function<void()> on_drained;  // is_congested() turned false again
    std::function<std::string()> live_line;  // for the bottom of the terminal
  };
  // `request` outlives this object.
  RunConsole(const boost::asio::any_io_executor& executor, const RunRequest& request, Hands hands);
  ~RunConsole();
  RunConsole(const RunConsole&) = delete;
  RunConsole& operator=(const RunConsole&) = delete;

  // Standard output and error lead to `log`, which is rotated from here and outlives this object.
  void log_to(ConsoleLog& log) { log_ = &log; }
  // Must be called before the functions below. Does not close the descriptors.
  void open(int out_fd, int err_fd);
  // Logs the first line of a run.
  void introduce(const base::Clock& clock) const;
  // With ConsoleStyle::live, shows a line about the run at the bottom of the terminal until end(),
  // and renews it until stop_live().
  void show_live();
  void stop_live();

  // `host`: the name of the worker's machine.
  void write(const wire::Output& output, std::string_view host);
  [[nodiscard]] bool is_congested() const { return console_->congested(); }
  // The workers of an attempt are about to start.
  void begin_workers();
  // `exited`: the rank whose end led to the decision.
  void announce(const Decision& decision, std::optional<base::Rank> exited = {});
  // Logs a table of the nodes if there are several.
  void show(const GroupFormed& group) const;
  [[nodiscard]] OutputHub& hub() { return hub_; }
  // Calls `done` when all output is written or given up, and the hub's watchers have seen the end.
  void end(std::function<void()> done);

 private:
  [[nodiscard]] bool is_shown(base::Rank rank) const;
  [[nodiscard]] bool may_fold_tracebacks() const;
  void note_shown(bool is_stderr, std::string_view bytes);

  const boost::asio::any_io_executor executor_;
  const RunRequest& request_;
  const Hands hands_;
  OutputHub hub_;
  ConsoleLog* log_ = nullptr;  // null: the console is the caller's
  std::unique_ptr<Console> console_;
  std::string end_line_;  // of a run that went well
  bool node_ends_said_ = false;
  base::Timer live_timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace robustrun::supervisor
