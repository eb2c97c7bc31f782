#include "agent/faults/inject.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "base/io/fd.h"
#include "tests/support/loop.h"
#include "tests/support/scratch.h"

namespace robustrun::agent::inject_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using wire::FaultKind;

int fault_signal() { return SIGRTMIN + 9; }

// While one of these lives, this process has a handler for the boot module's signal, like a worker
// whose script runs. The signal is never sent.
class Handler {
 public:
  Handler() {
    struct sigaction action{};
    action.sa_handler = [](int) {};
    REQUIRE(::sigaction(fault_signal(), &action, &before_) == 0);
  }
  ~Handler() { ::sigaction(fault_signal(), &before_, nullptr); }
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;

 private:
  struct sigaction before_{};
};

class HandClock final : public base::Clock {
 public:
  base::Nanos time = seconds(1000);
  [[nodiscard]] base::Nanos now() const override { return time; }
  [[nodiscard]] base::Nanos wall_time() const override { return time; }
};

// Records signals without delivering them.
class FakeTarget final : public FaultTarget {
 public:
  pid_t process = ::getpid();
  std::string record;
  std::vector<int> signals;
  std::function<void()> on_signal = [] {};
  [[nodiscard]] pid_t pid() const override { return process; }
  [[nodiscard]] const std::string& record_path() const override { return record; }
  void signal_itself(int signal) override {
    signals.push_back(signal);
    on_signal();
  }
};

// One worker, of attempt 3 with the local rank 1.
struct Fixture {
  test::Scratch scratch;
  test::Loop loop;
  HandClock clock;
  base::BlockingPool pool{loop.executor(), 1, 8};
  std::vector<wire::Injected> answers;
  NodeContext node{
      loop.executor(),
      clock,
      pool,
      [this](const wire::Message& m) { answers.push_back(std::get<wire::Injected>(m)); },
      {},
      {},
      {}};
  FakeTarget target;
  bool gone = false;
  std::vector<std::string> disturbed;
  int deaths = 0;
  std::optional<FaultInjector> injector;

  Fixture() {
    target.record = scratch.path("1.record");
    target.on_signal = [this] { CHECK((answers.size() == 1 || in_python_)); };
    injector.emplace(
        node, FaultInjector::Hooks{
                  [this](base::Attempt attempt, base::LocalRank rank) -> FaultTarget* {
                    const bool known = attempt == base::Attempt{3} && rank == base::LocalRank{1};
                    return known && !gone ? &target : nullptr;
                  },
                  [this](FaultKind kind, base::Nanos duration, base::Nanos delay) {
                    CHECK(answers.size() == 1);  // afterwards it would be held back itself
                    disturbed.push_back(std::to_string(static_cast<int>(kind)) + " " +
                                        std::to_string(duration.count()) + " " +
                                        std::to_string(delay.count()));
                  },
                  [this] {
                    CHECK(answers.size() == 1);
                    ++deaths;
                  }});
  }
  void inject(FaultKind kind, base::Nanos duration = {}, base::Nanos delay = {}) {
    in_python_ = wire::find_fault(kind)->in_python;
    injector->inject({77, {3}, kind, base::LocalRank{1}, duration, delay});
  }
  // The answer to the order above; the only one.
  const wire::Injected& answer() {
    REQUIRE(loop.run_until([this] { return !answers.empty(); }));
    CHECK(answers.size() == 1);
    CHECK(answers[0].id == 77);
    CHECK(answers[0].done.empty() != answers[0].error.empty());
    return answers[0];
  }
  [[nodiscard]] std::string order_file() const { return target.record + ".fault"; }

 private:
  bool in_python_ = false;
};

TEST_CASE("a signal is reported first and then sent, to the worker itself") {
  const std::pair<FaultKind, int> rows[] = {{FaultKind::kKill, SIGKILL},
                                            {FaultKind::kSegfault, SIGSEGV},
                                            {FaultKind::kAbort, SIGABRT},
                                            {FaultKind::kStop, SIGSTOP}};
  for (const auto& [kind, signal] : rows) {
    Fixture f;
    f.inject(kind);
    CHECK(f.target.signals == std::vector<int>{signal});
    CHECK(f.answer().pid == ::getpid());
    CHECK(f.answer().done == std::string("SIG") + ::sigabbrev_np(signal));
    f.loop.run_out();
    CHECK(f.target.signals.size() == 1);  // a stop without a duration lasts for ever
  }
}

TEST_CASE("a stop ends after its duration") {
  Fixture f;
  f.inject(FaultKind::kStop, milliseconds(20));
  CHECK(f.answer().done == "SIGSTOP for 0.02 s");
  CHECK(f.loop.run_until([&] { return f.target.signals.size() == 2; }));
  CHECK(f.target.signals == std::vector<int>{SIGSTOP, SIGCONT});
}

TEST_CASE("the end of a stop is not sent to a process that took the worker's place") {
  Fixture another;
  another.inject(FaultKind::kStop, milliseconds(10));
  another.target.process = 4242;
  another.loop.run_out();
  CHECK(another.target.signals == std::vector<int>{SIGSTOP});
  Fixture absent;
  absent.inject(FaultKind::kStop, milliseconds(10));
  absent.gone = true;
  absent.loop.run_out();
  CHECK(absent.target.signals == std::vector<int>{SIGSTOP});
}

TEST_CASE("a worker that does not run is not signalled") {
  for (const wire::FaultRow& row : wire::fault_rows()) {
    if (row.target != wire::FaultRow::Target::kRank) continue;
    CAPTURE(row.name);
    Fixture dead;
    dead.target.process = 0;
    dead.inject(row.kind, seconds(1));
    CHECK(dead.answer().error == "the worker is not running");
    CHECK(dead.target.signals.empty());
    Fixture gone;
    gone.gone = true;
    gone.inject(row.kind, seconds(1));
    CHECK(gone.answer().error == "the worker is not running");
    Fixture old;
    old.injector->inject({77, {2}, row.kind, base::LocalRank{1}, {}, {}});
    CHECK(old.answer().error == "the worker is not running");
    Fixture unnamed;
    unnamed.injector->inject({77, {3}, row.kind, {}, {}, {}});
    CHECK(unnamed.answer().error == "the worker is not running");
  }
}

TEST_CASE("a newer supervisor's kind of fault, or one that is not ours, is refused") {
  for (const auto kind : {FaultKind::kSupervisorDeath, static_cast<FaultKind>(200)}) {
    Fixture f;
    f.injector->inject({77, {3}, kind, base::LocalRank{1}, {}, {}});
    CHECK_FALSE(f.answer().error.empty());
  }
}

TEST_CASE("a disturbance of the connection is reported before it begins") {
  Fixture drop;
  drop.inject(FaultKind::kNetDrop, seconds(3));
  CHECK(drop.disturbed == std::vector<std::string>{"9 3000000000 0"});
  CHECK(drop.answer().done == "nothing passes, for 3 s");
  Fixture delay;
  delay.inject(FaultKind::kNetDelay, seconds(3), milliseconds(200));
  CHECK(delay.disturbed == std::vector<std::string>{"8 3000000000 200000000"});
  CHECK(delay.answer().done == "every message is 0.2 s late, for 3 s");
}

TEST_CASE("the agent's death is reported before it happens, a turn of the loop later") {
  Fixture f;
  f.inject(FaultKind::kAgentDeath);
  CHECK(f.deaths == 0);
  CHECK(f.answer().pid == ::getpid());
  f.loop.run_out();
  CHECK(f.deaths == 1);
}

TEST_CASE("a run without log files has no disk to fill") {
  Fixture f;
  f.inject(FaultKind::kDiskFull, seconds(1));
  CHECK_FALSE(f.answer().error.empty());
}

TEST_CASE("a fault in Python is ordered by a file and a signal, and done when the file is taken") {
  const Handler handler;
  Fixture f;
  f.inject(FaultKind::kGilLock, milliseconds(1500));
  CHECK(f.target.signals == std::vector<int>{fault_signal()});
  const auto text = base::read_file(f.order_file(), 4096);
  REQUIRE(text);
  CHECK(*text == R"({"version": 1, "kind": "gil-lock", "seconds": 1.500})");
  f.loop.run_for(milliseconds(50));
  CHECK(f.answers.empty());
  std::filesystem::remove(f.order_file());
  CHECK(f.answer().done.ends_with("for 1.5 s"));
  CHECK(f.answer().pid == ::getpid());
}

TEST_CASE(
    "a fault that the boot module cannot carry out is refused in words, and its file is removed") {
  const Handler handler;
  for (const auto& [kind, module] : {std::pair(FaultKind::kDataStall, "torch.utils.data"),
                                     std::pair(FaultKind::kCollectiveSleep, "torch.distributed")}) {
    Fixture f;
    f.inject(kind, seconds(1));
    std::filesystem::rename(f.order_file(), f.order_file() + ".refused");
    CHECK(f.answer().error.find(module) != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(f.order_file() + ".refused"));
  }
}

TEST_CASE("an order that is not taken in time is reported as waiting") {
  const Handler handler;
  Fixture f;
  f.inject(FaultKind::kException);
  f.loop.run_for(milliseconds(50));
  CHECK(f.answers.empty());
  f.clock.time += seconds(5);
  CHECK(f.answer().done.find("as soon as its main thread is in Python again") != std::string::npos);
}

TEST_CASE("without a handler of the boot module no signal is sent: it would kill") {
  Fixture f;
  f.inject(FaultKind::kException);
  CHECK(f.answer().error.find("no handler") != std::string::npos);
  CHECK(f.target.signals.empty());
  CHECK_FALSE(std::filesystem::exists(f.order_file()));
}

TEST_CASE("without our boot module, or with its signal taken, Python is left alone") {
  const Handler handler;
  Fixture plain;
  plain.target.record.clear();
  plain.inject(FaultKind::kException);
  CHECK(plain.answer().error.find("--inject=off") != std::string::npos);
  Fixture taken;
  taken.node.workers.stack_signal = static_cast<std::uint32_t>(fault_signal());
  taken.inject(FaultKind::kException);
  CHECK(taken.answer().error.find("--stack-signal") != std::string::npos);
  CHECK(taken.target.signals.empty());
}

TEST_CASE("a folder that cannot be written is reported, and no signal is sent") {
  const Handler handler;
  Fixture f;
  f.target.record = f.scratch.path("no/such/folder/1.record");
  f.inject(FaultKind::kException);
  CHECK_FALSE(f.answer().error.empty());
  CHECK(f.target.signals.empty());
}

TEST_CASE("destroying the injector ends its waits") {
  const Handler handler;
  Fixture f;
  f.inject(FaultKind::kStop, milliseconds(5));
  f.answers.clear();
  f.inject(FaultKind::kGilLock, seconds(1));
  f.injector.reset();
  f.loop.run_out();
  CHECK(f.answers.empty());
  CHECK(f.target.signals == std::vector<int>{SIGSTOP, fault_signal()});
}

}  // namespace
}  // namespace robustrun::agent::inject_test
