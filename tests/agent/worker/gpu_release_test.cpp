#include "agent/worker/gpu_release.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "agent/node/limits.h"
#include "base/io/fd.h"
#include "base/io/log.h"
#include "base/io/strays.h"
#include "tests/paths.h"
#include "tests/scratch_folder.h"
#include "tests/support/loop.h"

namespace gpu_release_test {

using namespace robustrun;
using agent::GpuRelease;

namespace {

class HandClock final : public base::Clock {
 public:
  [[nodiscard]] base::Nanos now() const override { return time; }
  [[nodiscard]] base::Nanos wall_time() const override { return {}; }
  base::Nanos time{};
};

// The helper prints the file "gpus" and counts its calls.
struct Machine {
  explicit Machine(const std::string& helper =
                       "echo >> calls; test ! -e gpus.new || mv gpus.new gpus; cat gpus\n",
                   bool has_driver = true) {
    base::become_subreaper();
    const std::string program = home.write("robustrun", "#!/bin/sh\ncd \"$HOME\"\n" + helper);
    REQUIRE(::chmod(program.c_str(), S_IRWXU) == 0);
    if (has_driver) home.write("dev/nvidiactl", "");
    node.executable = program;
    node.workers.environment = {"PATH=/usr/bin:/bin", "HOME=" + home.path(),
                                "ROBUSTRUN_HEALTH_ROOT=" + home.path()};
    base::redirect_log(
        [this](base::LogLevel, const base::LogContext&, std::string_view text) { said += text; });
    say("gpu 0\npid 1\n");
  }
  ~Machine() { base::redirect_log({}); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // Written in one piece.
  void say(const std::string& gpus) {
    const std::string part = home.write("gpus.part", gpus);
    REQUIRE(::rename(part.c_str(), (home / "gpus.new").c_str()) == 0);
  }
  [[nodiscard]] std::size_t calls() const {
    return base::read_file(home.path() + "/calls", 4096).value_or("").size();
  }
  void begin() {
    release = GpuRelease::start(node);
    REQUIRE(loop.run_until([this] { return release->is_ready(); }));
  }
  void workers_come_and_go() {
    release->when_free([this] { ++started; });
    REQUIRE(started == 1);
    release->workers_gone(1);
  }

  test::ScratchFolder home;
  test::Loop loop;
  HandClock clock;
  base::BlockingPool pool{loop.executor(), 1, 16};
  agent::NodeContext node{.executor = loop.executor(),
                          .clock = clock,
                          .pool = pool,
                          .send = [](const wire::Message&) {},
                          .shim = built_program("robustrun-shim"),
                          .runtime_directory = home.path(),
                          .workers = {}};
  std::unique_ptr<GpuRelease> release;
  std::string said;
  int started = 0;
};

constexpr const char* kHeld = "gpu 0\npid 1\npid 2147483647\n";
constexpr const char* kFree = "gpu 0\npid 1\n";

}  // namespace

TEST_CASE("workers wait until the previous workers' GPUs are free") {
  Machine machine;
  machine.begin();
  machine.say(kHeld);
  machine.workers_come_and_go();
  machine.release->when_free([&machine] { ++machine.started; });
  REQUIRE(machine.loop.run_until([&machine] { return machine.calls() >= 4; }));
  CHECK(machine.started == 1);
  machine.clock.time += std::chrono::seconds(3);
  machine.say(kFree);
  REQUIRE(machine.loop.run_until([&machine] { return machine.started == 2; }));
  CHECK(machine.said.find("waited 3.0 s for GPU memory") != std::string::npos);
}

TEST_CASE("they wait for a limited time, and the holder is named") {
  Machine machine;
  machine.begin();
  machine.say(kHeld);
  machine.workers_come_and_go();
  machine.release->when_free([&machine] { ++machine.started; });
  REQUIRE(machine.loop.run_until([&machine] { return machine.calls() >= 3; }));
  CHECK(machine.started == 1);
  machine.clock.time += agent::kGpuFreeMax;
  REQUIRE(machine.loop.run_until([&machine] { return machine.started == 2; }));
  CHECK(machine.said.find("held: GPU 0 by pid 2147483647, which has ended") != std::string::npos);
}

TEST_CASE("they wait for a limited time even if the holders cannot be counted") {
  Machine machine;
  machine.begin();
  machine.say(kHeld);
  const auto gate = base::make_pipe();
  REQUIRE(gate);
  const auto hang = [fd = gate->first.get()] {
    char byte = 0;
    static_cast<void>(!::read(fd, &byte, 1));
  };
  REQUIRE(machine.pool.submit(0, hang, {}));  // as a dead mount does
  machine.workers_come_and_go();
  machine.release->when_free([&machine] { ++machine.started; });
  REQUIRE(machine.loop.run_until([&machine] { return machine.calls() >= 2; }));
  CHECK(machine.started == 1);
  machine.clock.time += agent::kGpuFreeMax;
  REQUIRE(machine.loop.run_until([&machine] { return machine.started == 2; }));
  CHECK(
      machine.said.find("not free after 10 s; new workers start nevertheless; held: by unknown") !=
      std::string::npos);
}

TEST_CASE("without holders no start waits, and that is known before a start asks") {
  Machine machine;
  machine.begin();
  machine.workers_come_and_go();
  REQUIRE(machine.loop.run_until([&machine] { return machine.calls() == 2; }));
  machine.release->when_free([&machine] { ++machine.started; });
  REQUIRE(machine.loop.run_until([&machine] { return machine.started == 2; }));
  CHECK(machine.calls() == 2);
  CHECK(machine.said.empty());
}

TEST_CASE("only the GPUs of the workers count") {
  Machine machine;
  machine.node.workers.environment.emplace_back("CUDA_VISIBLE_DEVICES=1");
  machine.begin();
  machine.say(kHeld);
  machine.workers_come_and_go();
  machine.release->when_free([&machine] { ++machine.started; });
  REQUIRE(machine.loop.run_until([&machine] { return machine.started == 2; }));
}

TEST_CASE("a first look that ends after workers have begun still counts") {
  Machine machine;
  machine.release = GpuRelease::start(machine.node);
  machine.release->when_free([&machine] { ++machine.started; });
  REQUIRE(machine.started == 1);
  REQUIRE(machine.loop.run_until([&machine] { return machine.release->is_ready(); }));
  machine.say(kHeld);
  machine.release->workers_gone(1);
  machine.release->when_free([&machine] { ++machine.started; });
  REQUIRE(machine.loop.run_until([&machine] { return machine.calls() >= 3; }));
  CHECK(machine.started == 1);
}

TEST_CASE("a helper that fails, or does not answer, is not waited for") {
  Machine broken("echo >> calls; test ! -e broken || exit 1; mv gpus.new gpus; cat gpus\n");
  broken.begin();
  broken.home.write("broken", "");
  broken.workers_come_and_go();
  broken.release->when_free([&broken] { ++broken.started; });
  REQUIRE(broken.loop.run_until([&broken] { return broken.started == 2; }));

  Machine late("echo >> calls; exec sleep 1000\n");
  late.release = GpuRelease::start(late.node);
  late.workers_come_and_go();
  late.release->when_free([&late] { ++late.started; });
  CHECK(late.started == 2);
}

TEST_CASE("without a driver no helper is started") {
  Machine machine("echo >> calls\n", false);
  machine.release = GpuRelease::start(machine.node);
  machine.workers_come_and_go();
  machine.release->when_free([&machine] { ++machine.started; });
  CHECK(machine.started == 2);
  CHECK(machine.calls() == 0);
}

}  // namespace gpu_release_test
