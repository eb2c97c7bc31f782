// What a worker reports of its start and its end, and how it is stopped.
#include "agent/worker/worker.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <utility>
#include <vector>

#include "tests/agent/fake_node.h"

namespace robustrun::agent::worker_test {
namespace {

using namespace std::chrono_literals;
using test::exit_code;
using test::killed_by;
using test::kSucceeded;

struct One : test::FakeNode {
  base::Status start() {
    const Worker::Plan plan{standbys, hot_files, start_order, start_order.slots[0], paths, {}, 1};
    auto started = Worker::start(node, plan, [this](const Worker::Gone& how) { gone = how; });
    if (!started) return std::unexpected(started.error());
    worker = *std::move(started);
    return {};
  }
  // It runs.
  void begin() {
    REQUIRE(start());
    processes[0].begin(100);
  }
  [[nodiscard]] wire::WorkerExited exited() {
    REQUIRE(wait_for<wire::WorkerExited>());
    return all<wire::WorkerExited>()[0];
  }
  [[nodiscard]] bool wait_until_gone() {
    return loop.run_until([this] { return gone.has_value(); });
  }

  wire::StartWorkers start_order = order(3);
  AttemptPaths paths;
  HotFiles hot_files{node};
  StandbySet standbys{node, {}};
  std::optional<Worker::Gone> gone;
  std::unique_ptr<Worker> worker;
};

TEST_CASE("a worker is started with its place, and reported once it runs") {
  One run;
  REQUIRE(run.start());
  REQUIRE(run.processes.started.size() == 1);
  const auto& options = run.processes[0].options;
  CHECK(options.argv.back() == "/bin/true");
  CHECK(std::ranges::find(options.environment, "RANK=0") != options.environment.end());
  CHECK(run.all<wire::WorkerStarted>().empty());
  run.processes[0].begin(100);
  REQUIRE(run.all<wire::WorkerStarted>().size() == 1);
  CHECK(run.all<wire::WorkerStarted>()[0].pid == 100);
  CHECK(run.all<wire::WorkerStarted>()[0].ordered_by == 1);
  CHECK(run.worker->pid() == 100);
}

TEST_CASE("an exit is reported with the worker's last words; it is gone when its tree is") {
  One run;
  run.begin();
  run.processes[0].write_stderr("RuntimeError: no\n");
  run.processes[0].exit(exit_code(3), run.clock.now());
  const wire::WorkerExited report = run.exited();
  CHECK(report.attempt == base::Attempt{3});
  CHECK(report.end.code == 3);
  CHECK(report.stderr_tail == std::vector<std::string>{"RuntimeError: no"});
  CHECK_FALSE(report.stopped_by_us);
  CHECK(run.worker->pid() == 0);
  CHECK_FALSE(run.gone);
  run.processes[0].vanish(2);
  REQUIRE(run.wait_until_gone());
  CHECK(run.gone->descendants_killed == 2);
  CHECK(run.gone->has_failed_early);
  CHECK(run.worker->gone());
}

TEST_CASE("output for a log file goes to the console if there is no log folder") {
  One run;
  run.start_order.slots[0].err = wire::StreamRoute::kFile;
  run.begin();
  run.processes[0].write_stderr("hello\n");
  run.processes[0].exit(kSucceeded, run.clock.now());
  REQUIRE(run.all<wire::Output>().size() == 1);
  CHECK(run.all<wire::Output>()[0].bytes == "hello\n");
}

TEST_CASE("the numbers that a worker printed last are reported before its exit") {
  One run;
  run.node.workers.metrics = {"loss=loss={value}"};
  run.node.workers.python_path = "/nowhere";
  run.begin();
  run.processes[0].write_stderr("loss=1\n");
  run.processes[0].exit(kSucceeded, run.clock.now());
  REQUIRE(run.all<wire::WorkerProgress>().size() == 1);
  const wire::WorkerProgress last = run.all<wire::WorkerProgress>()[0];
  CHECK(last.lines == 1);
  REQUIRE(last.metrics.size() == 1);
  CHECK(last.metrics[0].value == 1);
  CHECK(std::holds_alternative<wire::WorkerExited>(run.sent.back()));
}

TEST_CASE("printed numbers are reported without the boot module, too") {
  One run;
  run.node.workers.metrics = {"loss=loss={value}"};
  run.begin();
  run.processes[0].write_stderr("loss=1\n");
  REQUIRE(run.loop.run_until([&run] {
    CHECK_FALSE(run.worker->report_progress());
    return !run.all<wire::WorkerProgress>().empty();
  }));
  CHECK_FALSE(run.worker->report_progress());
  REQUIRE(run.all<wire::WorkerProgress>().size() == 1);
  const wire::WorkerProgress progress = run.all<wire::WorkerProgress>()[0];
  CHECK(progress.attempt == base::Attempt{3});
  CHECK(progress.lines == 1);
  CHECK(progress.steps == 0);
  REQUIRE(progress.metrics.size() == 1);
  CHECK(progress.metrics[0].name == "loss");
  run.worker->tell_again();
  CHECK_FALSE(run.worker->report_progress());
  CHECK_FALSE(run.worker->report_progress());
  CHECK(run.all<wire::WorkerProgress>().size() == 2);
}

TEST_CASE("only a failure of its own before a step counts as an early one") {
  for (const base::ExitStatus status : {kSucceeded, killed_by(SIGTERM), killed_by(SIGKILL)}) {
    One run;
    run.begin();
    run.processes[0].end(status, run.clock.now());
    REQUIRE(run.wait_until_gone());
    CHECK_FALSE(run.gone->has_failed_early);
  }
}

TEST_CASE("a stop signals the worker's group, and its end is then ours") {
  One run;
  run.begin();
  run.worker->stop({{3}, SIGTERM, 30s, wire::StopReason::kStop, false});
  CHECK(run.processes[0].signals == std::vector{SIGTERM, SIGCONT});
  run.processes[0].end(killed_by(SIGTERM), run.clock.now());
  CHECK(run.exited().stopped_by_us);
  run.worker->stop({{3}, SIGTERM, 30s, wire::StopReason::kStop, false});
  run.worker->signal(SIGUSR1);
  CHECK(run.processes[0].signals.size() == 2);  // it is dead
}

TEST_CASE("a worker that had ended before the stop was not stopped by us") {
  One run;
  run.begin();
  const base::Nanos before = run.clock.now() - 1s;
  run.worker->stop({{3}, SIGTERM, 30s, wire::StopReason::kStop, false});
  run.processes[0].end(exit_code(1), before);
  CHECK_FALSE(run.exited().stopped_by_us);
}

TEST_CASE("a kill takes the whole tree, as long as something of it is left") {
  One run;
  run.begin();
  run.processes[0].exit(exit_code(1), run.clock.now());
  run.worker->kill();
  CHECK(run.processes[0].kills == 1);
  run.processes[0].vanish();
  run.worker->kill();
  CHECK(run.processes[0].kills == 1);
}

TEST_CASE("a worker that cannot be started is reported, and gone") {
  One run;
  REQUIRE(run.start());
  run.processes[0].fail_to_start(ENOEXEC, "exec format error");
  const auto failed = run.all<wire::WorkerStartFailed>();
  REQUIRE(failed.size() == 1);
  CHECK(failed[0].os_errno == ENOEXEC);
  CHECK(run.wait_until_gone());
  CHECK(run.all<wire::WorkerExited>().empty());
}

TEST_CASE("where no process can be made at all there is no worker") {
  One run;
  run.processes.error = base::Error{base::Errc::kLimit, EAGAIN, "cannot fork"};
  const base::Status started = run.start();
  REQUIRE_FALSE(started);
  CHECK(started.error().os_errno == EAGAIN);
  CHECK(run.sent.empty());
  CHECK_FALSE(run.gone);
}

TEST_CASE("a signal to the worker's parent is an order to the run, from that rank") {
  One run;
  run.begin();
  run.processes[0].handlers.on_signalled(SIGTERM);
  const auto orders = run.all<wire::StopRun>();
  REQUIRE(orders.size() == 1);
  CHECK(orders[0].signal == SIGTERM);
  CHECK(orders[0].host == "rank 0");
}

}  // namespace
}  // namespace robustrun::agent::worker_test
