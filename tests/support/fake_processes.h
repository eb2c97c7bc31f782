#pragma once
// Processes that do not exist: the test says when each begins, writes and ends, and sees what it
// was started with and which signals it got.

#include <doctest/doctest.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/process/processes.h"

namespace robustrun::test {

class FakeProcess {
 public:
  FakeProcess(agent::ShimOptions with, agent::ShimLink::Handlers from)
      : options(std::move(with)),
        handlers(std::move(from)),
        out_(options.out_fd >= 0 ? ::dup(options.out_fd) : -1),
        err_(options.err_fd >= 0 ? ::dup(options.err_fd) : -1) {}

  void begin(pid_t pid) const { handlers.on_started(pid); }
  void write_stderr(std::string_view text) const {
    REQUIRE(::write(err_.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  // Nothing else of its tree is left.
  void end(base::ExitStatus status, base::Nanos at = {}) {
    exit(status, at);
    vanish();
  }
  void exit(base::ExitStatus status, base::Nanos at = {}) {
    out_.reset();
    err_.reset();
    handlers.on_exited(status, at, false);
  }
  void vanish(unsigned killed = 0) const { handlers.on_gone(killed, {}); }
  void fail_to_start(int os_errno, const std::string& what) {
    out_.reset();
    err_.reset();
    handlers.on_start_failed(os_errno, what);
    vanish();
  }

  const agent::ShimOptions options;
  agent::ShimLink::Handlers handlers;
  std::vector<int> signals;  // to its group, in order
  int kills = 0;  // of its whole tree

 private:
  base::Fd out_, err_;
};

class FakeProcesses final : public agent::Processes {
 public:
  using Started = base::Result<std::unique_ptr<agent::ShimLink>>;
  Started start(const agent::ShimOptions& options, agent::ShimLink::Handlers handlers) override {
    if (error) return std::unexpected(*error);
    started.push_back(std::make_shared<FakeProcess>(options, std::move(handlers)));
    return std::make_unique<Link>(started.back());
  }
  Started adopt(const agent::ShimOptions& options, agent::ShimLink::Handlers handlers,
                const std::function<base::Status(int control)>&) override {
    return start(options, std::move(handlers));
  }
  [[nodiscard]] FakeProcess& operator[](std::size_t which) const { return *started.at(which); }

  std::vector<std::shared_ptr<FakeProcess>> started;
  std::optional<base::Error> error;  // of every start

 private:
  class Link final : public agent::ShimLink {
   public:
    explicit Link(std::shared_ptr<FakeProcess> of) : process_(std::move(of)) {}
    void set_handlers(Handlers handlers) override { process_->handlers = std::move(handlers); }
    void signal_group(int signal) override { process_->signals.push_back(signal); }
    void signal_worker(int signal) override { process_->signals.push_back(signal); }
    void kill_tree() override { ++process_->kills; }
    void keep_going() override {}
    [[nodiscard]] pid_t shim_pid() const override { return 1; }

   private:
    std::shared_ptr<FakeProcess> process_;
  };
};

inline constexpr base::ExitStatus kSucceeded{base::ExitStatus::Kind::kExited, 0, false};
[[nodiscard]] constexpr base::ExitStatus exit_code(int code) {
  return {base::ExitStatus::Kind::kExited, code, false};
}
[[nodiscard]] constexpr base::ExitStatus killed_by(int signal) {
  return {base::ExitStatus::Kind::kSignaled, signal, false};
}

}  // namespace robustrun::test
