#include "agent/worker/gpu_holders.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include "agent/node/limits.h"
#include "base/io/child.h"
#include "base/io/fd.h"
#include "tests/support/loop.h"

namespace gpu_holders_test {

using namespace robustrun;
using agent::gpu_holders;
using agent::gpu_user;
using agent::GpuHolder;
using agent::GpuReading;
using agent::GpuUser;
using Holders = std::vector<GpuHolder>;

namespace {

constexpr pid_t kDead = 10, kEscaped = 20, kNeighbour = 30;

GpuUser user_of(pid_t pid) {
  if (pid == kNeighbour) return GpuUser::kForeign;
  return pid == kEscaped ? GpuUser::kOurs : GpuUser::kGone;
}

GpuReading gpu(std::uint32_t index, std::vector<pid_t> pids,
               std::optional<std::uint64_t> used_mib = std::nullopt) {
  GpuReading reading;
  reading.index = index;
  reading.pids = std::move(pids);
  reading.state.used_mib = used_mib;
  return reading;
}

}  // namespace

TEST_CASE("dead and escaped processes hold a GPU, other jobs' processes do not") {
  const std::vector<GpuReading> before = {gpu(0, {}), gpu(1, {})};
  CHECK(gpu_holders({gpu(0, {kDead, kNeighbour}), gpu(1, {kEscaped})}, before, user_of) ==
        Holders{{0, kDead}, {1, kEscaped}});
  CHECK(gpu_holders({gpu(0, {kNeighbour}), gpu(1, {})}, before, user_of).empty());
}

TEST_CASE("processes that used a GPU before our first workers may go on") {
  CHECK(gpu_holders({gpu(0, {77})}, {gpu(0, {77})}, user_of).empty());
  CHECK(gpu_holders({gpu(0, {77, 78})}, {gpu(0, {77})}, user_of) == Holders{{0, 78}});
}

TEST_CASE("where no process is named, memory above the earlier level counts as held") {
  const std::vector<GpuReading> before = {gpu(0, {}, 600)};
  CHECK(gpu_holders({gpu(0, {}, 600 + agent::kGpuSlackMib)}, before, user_of).empty());
  CHECK(gpu_holders({gpu(0, {}, 601 + agent::kGpuSlackMib)}, before, user_of) == Holders{{0, 0}});
  // A neighbour's process that came meanwhile, and one that is unknown.
  CHECK(gpu_holders({gpu(0, {kNeighbour}, 70'000)}, before, user_of).empty());
  CHECK(gpu_holders({gpu(0, {})}, before, user_of).empty());
  CHECK(gpu_holders({gpu(0, {}, 70'000)}, {}, user_of).empty());
}

TEST_CASE("the holders are named") {
  CHECK(in_words({{0, kDead}, {3, kEscaped}, {4, 0}}, user_of) ==
        "GPU 0 by pid 10, which has ended; GPU 3 by pid 20, which is of this run; GPU 4 by a "
        "process that NVML does not name");
  const Holders many(agent::kGpuHoldersShown + 1, GpuHolder{0, kDead});
  CHECK(in_words(many, user_of).ends_with("; …"));
}

TEST_CASE("a process is ours by the run and the node in its environment") {
  wire::WorkerTemplate workers;
  workers.run_id = "no such run";
  workers.environment = {"ROBUSTRUN_NODE=here"};
  CHECK(gpu_user(::getpid(), workers) == GpuUser::kForeign);
  CHECK(gpu_user(0x7FFFFFFF, workers) == GpuUser::kGone);
  test::Loop loop;
  const auto user_with = [&](std::vector<std::string> variables) {
    base::ChildOptions options;
    options.executable = "/bin/sleep";
    options.argv = {"sleep", "60"};
    options.environment = std::move(variables);
    bool ended = false;
    const auto child =
        base::Child::spawn(loop.executor(), options, [&ended](base::ExitStatus) { ended = true; });
    REQUIRE(child);
    // The kernel shows it a moment after the process exists.
    const std::string shown = "/proc/" + std::to_string((*child)->pid()) + "/environ";
    REQUIRE(loop.run_until([&] { return !base::read_file(shown, 4096).value_or("").empty(); }));
    const GpuUser user = gpu_user((*child)->pid(), workers);
    REQUIRE((*child)->signal(SIGKILL));
    REQUIRE(loop.run_until([&ended] { return ended; }));
    CHECK(gpu_user((*child)->pid(), workers) == GpuUser::kGone);
    return user;
  };
  const std::string run = "ROBUSTRUN_RUN_ID=no such run", node = "ROBUSTRUN_NODE=here";
  CHECK(user_with({run, node}) == GpuUser::kOurs);
  CHECK(user_with({run, "ROBUSTRUN_NODE=there"}) == GpuUser::kForeign);
  CHECK(user_with({"ROBUSTRUN_RUN_ID=another", node}) == GpuUser::kForeign);
  CHECK(user_with({run, node, "ROBUSTRUN_STANDBY_SOCKET=/x"}) == GpuUser::kForeign);
}

}  // namespace gpu_holders_test
