// The helper that follows NVML and its possible failures, played by programs.
#include "agent/health/gpu_watch.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <optional>
#include <string>
#include <vector>

#include "agent/health/limits.h"
#include "base/io/strays.h"
#include "tests/paths.h"
#include "tests/scratch_folder.h"
#include "tests/support/loop.h"

namespace robustrun::agent::gpu_watch_test {
namespace {

// Advanced by hand.
class HandClock final : public base::Clock {
 public:
  base::Nanos time = std::chrono::seconds(1000);
  [[nodiscard]] base::Nanos now() const override { return time; }
  [[nodiscard]] base::Nanos wall_time() const override { return time; }
};

struct Machine {
  explicit Machine(const std::string& script, bool has_driver = true) {
    base::become_subreaper();
    const std::string program = home.write("robustrun", "#!/bin/sh\n" + script);
    REQUIRE(::chmod(program.c_str(), S_IRWXU) == 0);
    if (has_driver) home.write("dev/nvidiactl", "");
    node.executable = program;
    node.workers.environment = {"PATH=/usr/bin:/bin", "HOME=" + home.path()};
    watch.emplace(node, home.path(), [this](const GpuNews& news) {
      reported.push_back(news.finding.line + (news.finding.over ? " (over)" : ""));
    });
  }
  bool tells(std::size_t count) {
    return loop.run_until([&] { return reported.size() >= count; });
  }

  test::ScratchFolder home;
  test::Loop loop;
  HandClock clock;
  base::BlockingPool pool{loop.executor(), 1, 16};
  NodeContext node{.executor = loop.executor(),
                   .clock = clock,
                   .pool = pool,
                   .send = [](const wire::Message&) {},
                   .shim = built_program("robustrun-shim"),
                   .runtime_directory = home.path(),
                   .workers = {}};
  std::vector<std::string> reported;
  std::optional<GpuWatch> watch;
};

constexpr const char* kPatient = "exec sleep 1000\n";

TEST_CASE("lines become findings, in whatever pieces they arrive") {
  Machine machine(std::string("test \"$1 $2\" = 'agent --watch-gpus' || exit 1\n"
                              "printf 'gpu 0 pci=00000000:3b:00.0 ecc=0\\nbeat\\nxid 0 0000'\n"
                              "printf '0000:3b:00.0 79\\nnonsense\\ngpu 0 ecc=3\\n'\n") +
                  kPatient);
  REQUIRE(machine.tells(2));
  CHECK(machine.reported[0] == "NVRM: Xid (PCI:0000:3b:00): 79, reported by NVML");
  CHECK(machine.reported[1].starts_with("GPU 0 uncorrectable ECC error encountered: 3 more"));
}

TEST_CASE("without a driver no helper is started") {
  Machine machine("touch $HOME/started\n", false);
  machine.loop.run_for(std::chrono::milliseconds(50));
  CHECK_FALSE(std::filesystem::exists(machine.home / "started"));
  CHECK(machine.watch->name_of("0000:3b:00").empty());
}

TEST_CASE("a helper that hangs is reported once") {
  Machine machine(std::string("echo beat\ntouch $HOME/begun\n") + kPatient);
  REQUIRE(machine.loop.run_until([&] { return std::filesystem::exists(machine.home / "begun"); }));
  machine.loop.run_for(std::chrono::milliseconds(20));  // and its beat is read
  REQUIRE(machine.loop.run_until([&] {
    machine.clock.time += std::chrono::seconds(1);
    return !machine.reported.empty();
  }));
  machine.clock.time += 10 * kGpuSilenceMax;
  machine.loop.run_for(2 * kHealthTick);
  CHECK(machine.reported[0] == "NVML does not answer for 30 s");
  CHECK(machine.reported.size() == 1);
}

TEST_CASE("a library that refuses is quoted") {
  Machine machine("echo 'refused 18 (Driver/library version mismatch)'\n");
  REQUIRE(machine.tells(1));
  CHECK(machine.reported[0] == "NVML does not work: 18 (Driver/library version mismatch)");
}

TEST_CASE("a refusal is over when the library gives values again") {
  Machine machine(std::string("echo 'refused 18 (no)'\necho beat\n"
                              "echo 'gpu 0 pci=00000000:3b:00.0 ecc=0'\n") +
                  kPatient);
  REQUIRE(machine.tells(2));
  CHECK(machine.reported[0] == "NVML does not work: 18 (no)");
  CHECK(machine.reported[1] == "NVML works again (over)");
}

TEST_CASE("a helper that dies is reported, with its last line") {
  Machine machine("echo 'driver is gone' >&2\nexit 3\n");
  REQUIRE(machine.tells(1));
  CHECK(machine.reported[0] == "NVML does not work: exit code 3: driver is gone");
}

}  // namespace
}  // namespace robustrun::agent::gpu_watch_test
