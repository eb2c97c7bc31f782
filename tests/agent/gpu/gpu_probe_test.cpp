// How the agent runs the tests of GPUs, with a program that plays the probe and its possible
// outcomes.
#include "agent/gpu/gpu_probe.h"

#include <doctest/doctest.h>

#include <boost/asio/any_io_executor.hpp>
#include <filesystem>
#include <optional>

#include "agent/node/limits.h"
#include "base/io/fd.h"
#include "base/io/strays.h"
#include "probe/tests.h"
#include "tests/paths.h"
#include "tests/scratch_folder.h"
#include "tests/support/loop.h"

namespace robustrun::agent::gpu_probe_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A machine with robustrun-probe in its PATH, beside robustrun, or not at all.
struct Machine {
  explicit Machine(const std::string& folder = "bin") {
    base::become_subreaper();
    for (const char* const each : {"bin", "own"}) std::filesystem::create_directory(home / each);
    if (!folder.empty()) {
      std::filesystem::create_symlink(test_helper("fake_probe"),
                                      home / (folder + "/" + probe::kProgram));
    }
    node.workers.environment = {"PATH=" + (home / "bin"), "FAKE_PROBE_CALLS=" + (home / "calls")};
  }

  base::GpuFacts test(const std::string& behaviour = "", milliseconds within = seconds(20)) {
    node.workers.environment.push_back("FAKE_PROBE=" + behaviour);
    std::optional<base::GpuFacts> came;
    const auto probing = GpuProbe::start(
        node, within, [&](base::GpuFacts facts) { came.emplace(std::move(facts)); });
    REQUIRE(loop.run_until([&] { return came.has_value(); }, seconds(60)));
    CHECK(came->asked);
    return *std::move(came);
  }
  [[nodiscard]] std::string calls() const {
    return base::read_file(home / "calls", 4096).value_or("");
  }

  test::ScratchFolder home;
  test::Loop loop;
  base::SystemClock clock;
  base::BlockingPool pool{loop.executor(), 1, 16};
  NodeContext node{.executor = loop.executor(),
                   .clock = clock,
                   .pool = pool,
                   .send = [](const wire::Message&) {},
                   .shim = built_program("robustrun-shim"),
                   .runtime_directory = home.path(),
                   .workers = {},
                   .executable = home / "own/robustrun"};
};

constexpr const char* kAllCalls = "copy\ngemm\nrepeat\nall-to-all\nneighbours\n";

TEST_CASE("all tests are run, one after the other, and their results combined") {
  for (const char* const folder : {"bin", "own"}) {
    Machine machine(folder);
    const base::GpuFacts facts = machine.test();
    CHECK(facts.error.empty());
    CHECK(facts.faults.empty());
    CHECK(facts.models == std::vector<std::string>(2, "NVIDIA Fake"));
    CHECK(facts.figures.size() == 8);
    CHECK(facts.sums.size() == 2);
    CHECK(machine.calls() == kAllCalls);
  }
}

TEST_CASE("without the program, a GPU, or a result of the first test no other test is run") {
  CHECK(Machine("").test().error.starts_with(
      "robustrun-probe is neither beside robustrun nor in the PATH here"));
  struct Row {
    const char* behaviour;
    const char* words;
  };
  for (const auto& [behaviour, words] :
       {Row{"copy=none", "cannot count the GPUs: no device"},
        Row{"copy=loader", "error while loading shared libraries: libcublas.so.13"},
        Row{"copy=crash", "step: copy on 2 GPUs"}, Row{"copy=nothing", "its answer makes no sense"},
        Row{"copy=other", "its answer makes no sense"}}) {
    CAPTURE(behaviour);
    Machine machine;
    const base::GpuFacts facts = machine.test(behaviour);
    CAPTURE(facts.error);
    CHECK(facts.error.find(words) != std::string::npos);
    CHECK(facts.figures.empty());
    CHECK(machine.calls() == "copy\n");
  }
}

TEST_CASE("any outcome of a later test is a fault of that test alone, with its step") {
  struct Row {
    const char* how;
    const char* words;
  };
  for (const auto& [how, words] :
       {Row{"crash", "gemm: SIGSEGV"}, Row{"crash", "step: gemm on 2 GPUs"},
        Row{"nothing", "gemm: its answer makes no sense"},
        Row{"garbage", "gemm: its answer makes no sense"},
        Row{"other", "gemm: its answer makes no sense"},
        Row{"flood", "gemm: its answer makes no sense"},
        Row{"none", "gemm: cannot count the GPUs: no device"},
        Row{"fewer", "gemm: it sees 1 GPUs, the first test saw 2"},
        Row{"nccl", "gemm: cannot join the GPUs: unhandled system error"}}) {
    const std::string behaviour = std::string("gemm=") + how;
    CAPTURE(behaviour);
    Machine machine;
    const base::GpuFacts facts = machine.test(behaviour);
    CHECK(facts.error.empty());
    std::string faults;
    for (const std::string& fault : facts.faults) faults += fault + "; ";
    CAPTURE(faults);
    REQUIRE(facts.faults.size() == 1);
    CHECK(facts.faults[0].find(words) != std::string::npos);
    CHECK(facts.figures.size() == 6);
    CHECK(facts.sums.size() == 2);
    CHECK(machine.calls() == kAllCalls);
  }
}

TEST_CASE("a GPU that fails is a fault, and the other's figures count") {
  const base::GpuFacts facts = Machine().test("gemm=memory");
  CHECK(facts.faults == std::vector<std::string>{"gemm: GPU 1: cannot take memory: out of memory"});
  CHECK(facts.figures.size() == 7);
}

TEST_CASE("a test that hangs, or does not end after its result, is killed; its step is named") {
  Machine machine;
  const base::GpuFacts facts = machine.test("all-to-all=hang,neighbours=stays", seconds(2));
  CHECK(facts.error.empty());
  REQUIRE(facts.faults.size() == 2);
  CHECK(facts.faults[0] ==
        "all-to-all: no answer within 2 s; its last line: step: all-to-all on 2 GPUs");
  CHECK(facts.faults[1].starts_with("neighbours: no answer within 2 s"));
  CHECK(machine.calls() == kAllCalls);
}

TEST_CASE("output of libraries, NCCL's log included, does not matter") {
  Machine machine;
  machine.node.workers.environment.push_back("NCCL_DEBUG=INFO");
  CHECK(machine.test("gemm=noisy").faults.empty());
}

TEST_CASE("a dropped probe does not call back") {
  Machine machine;
  machine.node.workers.environment.push_back("FAKE_PROBE=copy=hang");
  bool is_called = false;
  auto probing =
      GpuProbe::start(machine.node, seconds(20), [&](base::GpuFacts) { is_called = true; });
  REQUIRE(machine.loop.run_until([&] { return machine.calls() == "copy\n"; }));
  probing.reset();
  machine.loop.run_for(milliseconds(50));
  CHECK_FALSE(is_called);
}

}  // namespace
}  // namespace robustrun::agent::gpu_probe_test
