#include "agent/spawn/numa.h"
#include "agent/spawn/usable_cpus.h"

#include <doctest/doctest.h>
#include <sched.h>

#include <numeric>

#include "agent/node/cpu_set.h"
#include "agent/node/limits.h"
#include "tests/scratch_folder.h"

namespace numa_test {

using namespace robustrun;
using agent::CpuSet;
using agent::format_cpu_list;
using agent::parse_cpu_list;
using Strings = std::vector<std::string>;

namespace {

// A machine of two sockets with two NUMA nodes each; a node has 4 cores of 2 threads (cpu n and
// n + 16) and two last-level caches; GPUs 0 to 3 are on nodes 3, 3, 1, 0.
struct FakeMachine {
  test::ScratchFolder root{"/dev/shm"};  // some hundred small files
  agent::NumaRequest request;

  FakeMachine() {
    root.write("sys/devices/system/node/online", "0-3\n");
    for (unsigned cpu = 0; cpu < 32; ++cpu) write_cpu(cpu);
    for (unsigned node = 0; node < 4; ++node) {
      root.write("sys/devices/system/node/node" + std::to_string(node) + "/cpulist",
                 cores(node * 4, 4) + "\n");
    }
    write_gpu("0000:3b:00.0", "3", "GPU-aaaa1111");
    write_gpu("0000:5e:00.0", "3", "GPU-bbbb2222");
    write_gpu("0000:86:00.0", "1", "GPU-cccc3333");
    write_gpu("0001:0A:00.0", "-1", "GPU-dddd4444");
    request.root = root.path();
    request.local_world_size = 4;
    request.allowed_cpus.resize(32);
    std::iota(request.allowed_cpus.begin(), request.allowed_cpus.end(), 0U);
  }

  // "4-7,20-23" for cores(4, 4).
  static std::string cores(unsigned first, unsigned count) {
    CpuSet cpus;
    for (unsigned core = first; core < first + count; ++core) cpus.insert({core, core + 16});
    return format_cpu_list(cpus);
  }
  void write_cpu(unsigned cpu) {
    const unsigned core = cpu % 16;
    const std::string folder = "sys/devices/system/cpu/cpu" + std::to_string(cpu);
    root.write(folder + "/topology/thread_siblings_list", cores(core, 1) + "\n");
    root.write(folder + "/topology/physical_package_id", std::to_string(core / 8) + "\n");
    write_cache(folder + "/cache/index0", "Data", 1, cores(core, 1));
    write_cache(folder + "/cache/index1", "Instruction", 4, cores(0, 16));
    write_cache(folder + "/cache/index3", "Unified", 3, cores(core / 2 * 2, 2));
    root.write(folder + "/cache/uevent", "");
  }
  void write_cache(const std::string& folder, const std::string& type, int level,
                   const std::string& shared) {
    root.write(folder + "/type", type + "\n");
    root.write(folder + "/level", std::to_string(level) + "\n");
    root.write(folder + "/shared_cpu_list", shared + "\n");
  }
  void write_gpu(const std::string& address, const std::string& node, const std::string& uuid) {
    root.write("proc/driver/nvidia/gpus/" + address + "/information",
               "Model: \t\t X\nGPU UUID: \t " + uuid + "\nBus Location: \t " + address + "\n");
    std::string lower = address;
    for (char& c : lower) c = c == 'A' ? 'a' : c;
    root.write("sys/bus/pci/devices/" + lower + "/numa_node", node + "\n");
  }
  Strings plan(const std::string& mode) {
    request.mode = mode;
    auto plan = agent::plan_numa_binding(request);
    REQUIRE_MESSAGE(plan, plan.error().what);
    notices = plan->notices;
    return plan->cpus;
  }
  Strings plan_memory(const std::string& mode, const std::string& memory) {
    request.mode = mode;
    request.memory = memory;
    auto plan = agent::plan_numa_binding(request);
    REQUIRE_MESSAGE(plan, plan.error().what);
    notices = plan->notices;
    CHECK(plan->cpus.empty() == mode.empty());
    return plan->memory;
  }
  Strings notices;
};

const std::string kNode0 = FakeMachine::cores(0, 4);
const std::string kNode1 = FakeMachine::cores(4, 4);
const std::string kNode3 = FakeMachine::cores(12, 4);

}  // namespace

TEST_CASE("lists of processors are read and written as sysfs does") {
  CHECK(parse_cpu_list("0-2,4,6-7\n") == CpuSet{0, 1, 2, 4, 6, 7});
  CHECK(format_cpu_list({0, 1, 2, 4, 6, 7}) == "0-2,4,6-7");
  CHECK(parse_cpu_list("").empty());
  CHECK(format_cpu_list({}).empty());
  CHECK(parse_cpu_list("x,1-,-3,9-8,5") == CpuSet{5});
  CHECK(parse_cpu_list("0-4294967295").size() == agent::kCpusMax);
}

TEST_CASE("node: all processors of the NUMA node of the rank's GPU") {
  FakeMachine machine;
  CHECK(machine.plan("node") == Strings{kNode3, kNode3, kNode1, kNode0});
  CHECK(machine.notices.empty());
}

TEST_CASE("socket: all nodes of the GPU's socket") {
  FakeMachine machine;
  const std::string socket0 = FakeMachine::cores(0, 8);
  const std::string socket1 = FakeMachine::cores(8, 8);
  CHECK(machine.plan("socket") == Strings{socket1, socket1, socket0, socket0});
}

TEST_CASE(
    "exclusive: a node's cores are shared out between its GPUs, the first get the remainder") {
  FakeMachine machine;
  CHECK(machine.plan("exclusive") ==
        Strings{FakeMachine::cores(12, 2), FakeMachine::cores(14, 2), kNode1, kNode0});
  // One core of node 3 is not ours: three remain for two GPUs.
  std::erase_if(machine.request.allowed_cpus, [](unsigned cpu) { return cpu % 16 == 15; });
  CHECK(machine.plan("exclusive")[0] == FakeMachine::cores(12, 2));
  CHECK(machine.plan("exclusive")[1] == FakeMachine::cores(14, 1));
}

TEST_CASE("exclusive with fewer cores than GPUs is refused with advice") {
  FakeMachine machine;
  machine.request.mode = "exclusive";
  std::erase_if(machine.request.allowed_cpus, [](unsigned cpu) { return cpu % 16 > 12; });
  const auto plan = agent::plan_numa_binding(machine.request);
  REQUIRE(!plan);
  CHECK(plan.error().code == base::Errc::kInvalidArgument);
  CHECK(plan.error().what.find("--numa-binding=node") != std::string::npos);
}

TEST_CASE("core-complex: GPUs of a node take its largest caches in turn") {
  FakeMachine machine;
  CHECK(machine.plan("core-complex") == Strings{FakeMachine::cores(12, 2),
                                                FakeMachine::cores(14, 2), FakeMachine::cores(4, 2),
                                                FakeMachine::cores(0, 2)});
  // The first complex of node 3 lost a core: the other is larger now and comes first.
  std::erase_if(machine.request.allowed_cpus, [](unsigned cpu) { return cpu % 16 == 12; });
  CHECK(machine.plan("core-complex")[0] == FakeMachine::cores(14, 2));
  CHECK(machine.plan("core-complex")[1] == FakeMachine::cores(13, 1));
}

TEST_CASE("CUDA_VISIBLE_DEVICES gives the order, by index or by UUID") {
  FakeMachine machine;
  machine.request.local_world_size = 2;
  machine.request.cuda_visible_devices = "2, 0";
  CHECK(machine.plan("node") == Strings{kNode1, kNode3});
  machine.request.cuda_visible_devices = "GPU-dddd,GPU-bbbb2222";
  CHECK(machine.plan("node") == Strings{kNode0, kNode3});
  // exclusive counts only the visible GPUs.
  machine.request.local_world_size = 1;
  machine.request.cuda_visible_devices = "1";
  CHECK(machine.plan("exclusive") == Strings{kNode3});
}

TEST_CASE("without a GPU for each rank the ranks are spread over the nodes, with a notice") {
  FakeMachine machine;
  for (const char* const visible : {"", "-1", "9", "0,1,-1,2", "MIG-x"}) {
    CAPTURE(visible);
    machine.request.cuda_visible_devices = visible;
    CHECK(machine.plan("node") == Strings{kNode0, kNode1, FakeMachine::cores(8, 4), kNode3});
    CHECK(machine.notices.size() == 1);
  }
  machine.request.local_world_size = 8;
  machine.request.cuda_visible_devices.reset();
  CHECK(machine.plan("exclusive")[1] == FakeMachine::cores(2, 2));
  CHECK(machine.notices.at(0).find("4 GPUs for 8 workers") != std::string::npos);
}

TEST_CASE("nodes whose processors are not ours are skipped, and no rank is left without any") {
  FakeMachine machine;
  machine.request.cuda_visible_devices = "";
  std::erase_if(machine.request.allowed_cpus, [](unsigned cpu) { return cpu % 16 >= 4; });
  CHECK(machine.plan("node") == Strings(4, kNode0));
  machine.request.cuda_visible_devices.reset();
  const auto plan = agent::plan_numa_binding(machine.request);
  REQUIRE(!plan);
  CHECK(plan.error().code == base::Errc::kNotFound);
  CHECK(plan.error().what.find("local rank 0") != std::string::npos);
}

TEST_CASE("a machine without information on NUMA or caches is one node") {
  const test::ScratchFolder empty;
  for (const char* const mode : {"node", "socket", "exclusive", "core-complex"}) {
    CAPTURE(mode);
    const auto plan = agent::plan_numa_binding({mode, 2, {}, {0, 1, 5}, empty.path()});
    REQUIRE(plan);
    const bool exclusive = std::string(mode) == "exclusive";
    CHECK(plan->cpus == (exclusive ? Strings{"0-1", "5"} : Strings{"0-1,5", "0-1,5"}));
  }
}

TEST_CASE("memory is that of the nodes of a worker's processors, or else of its GPU's node") {
  FakeMachine machine;
  CHECK(machine.plan_memory("node", "bind") == Strings{"bind:3", "bind:3", "bind:1", "bind:0"});
  CHECK(machine.plan_memory("socket", "prefer") ==
        Strings{"prefer:2-3", "prefer:2-3", "prefer:0-1", "prefer:0-1"});
  CHECK(machine.plan_memory("core-complex", "bind") ==
        Strings{"bind:3", "bind:3", "bind:1", "bind:0"});
  CHECK(machine.plan_memory("", "bind") == Strings{"bind:3", "bind:3", "bind:1", "bind:0"});
  CHECK(machine.notices.empty());
  CHECK(machine.plan_memory("node", "").empty());
}

TEST_CASE("a node without memory is left out, and that is noticed once") {
  FakeMachine machine;
  machine.root.write("sys/devices/system/node/has_memory", "0-2\n");
  CHECK(machine.plan_memory("node", "bind") == Strings{"", "", "bind:1", "bind:0"});
  CHECK(machine.notices == Strings{"--numa-memory=bind: NUMA node 3 has no memory"});
  CHECK(machine.plan_memory("socket", "bind")[0] == "bind:2");
  CHECK(machine.notices.empty());
}

TEST_CASE("without NUMA there is no memory to choose") {
  const test::ScratchFolder empty;
  const auto plan = agent::plan_numa_binding({"node", 2, {}, {0, 1}, empty.path(), "prefer"});
  REQUIRE(plan);
  CHECK(plan->memory == Strings{"", ""});
  CHECK(plan->notices.back() ==
        "--numa-memory=prefer: this machine has no NUMA nodes to choose memory from");
}

TEST_CASE("an unknown mode is refused with the choices") {
  const auto plan = agent::plan_numa_binding({"banana", 1, {}, {0}, {}});
  REQUIRE(!plan);
  CHECK(plan.error().what.find("node, socket, exclusive or core-complex") != std::string::npos);
}

TEST_CASE("this machine can be planned for") {
  const auto plan = agent::plan_numa_binding({"node", 3, "", agent::allowed_cpus(), {}});
  REQUIRE(plan);
  for (const std::string& cpus : plan->cpus) CHECK(!parse_cpu_list(cpus).empty());
}

TEST_CASE("usable processors are the affinity, cut by the smallest cgroup quota above") {
  const auto all = static_cast<unsigned>(agent::allowed_cpus().size());
  REQUIRE(all >= 1);
  const test::ScratchFolder none;
  CHECK(agent::usable_cpus(none.path()) == all);

  const test::ScratchFolder v2;
  v2.write("proc/self/cgroup", "0::/user/job\n");
  v2.write("sys/fs/cgroup/user/job/cpu.max", "max 100000\n");
  CHECK(agent::usable_cpus(v2.path()) == all);
  v2.write("sys/fs/cgroup/user/cpu.max", "150000 100000\n");
  CHECK(agent::usable_cpus(v2.path()) == 1);
  v2.write("sys/fs/cgroup/user/cpu.max", "1000 100000\n");
  CHECK(agent::usable_cpus(v2.path()) == 1);
  v2.write("sys/fs/cgroup/user/cpu.max", "999900000 100000\n");
  CHECK(agent::usable_cpus(v2.path()) == all);

  // A container: its path is the host's, the mounted part is its own group.
  const test::ScratchFolder v1;
  v1.write("proc/self/cgroup", "5:cpuset:/x\n4:cpu,cpuacct:/docker/abc\n0::/\n");
  v1.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  v1.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  CHECK(agent::usable_cpus(v1.path()) == all);
  v1.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000\n");
  CHECK(agent::usable_cpus(v1.path()) == 1);
}

}  // namespace numa_test
