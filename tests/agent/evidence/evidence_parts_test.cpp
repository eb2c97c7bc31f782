// Sockets, links and GPUs of a suspected worker, and output of stack programs.
#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>

#include "agent/evidence/native_stacks.h"
#include "agent/evidence/network_state.h"
#include "agent/evidence/worker_sockets.h"
#include "agent/gpu/gpu_state.h"
#include "agent/node/limits.h"
#include "agent/node/worker_json.h"
#include "tests/agent/evidence/subject.h"
#include "tests/scratch_folder.h"

namespace robustrun::agent::evidence_parts_test {
namespace {

using tracer::SocketState;

// Two ends of a connection over loopback, within this process.
struct Connection {
  base::Fd listener, near, far;
  std::string near_name, far_name;

  explicit Connection(int family) {
    sockaddr_storage storage{};
    auto* const address = reinterpret_cast<sockaddr*>(&storage);
    socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    storage.ss_family = static_cast<sa_family_t>(family);
    if (family == AF_INET) {
      reinterpret_cast<sockaddr_in*>(address)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    } else {
      reinterpret_cast<sockaddr_in6*>(address)->sin6_addr = in6addr_loopback;
    }
    listener = base::Fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    near = base::Fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::bind(listener.get(), address, size) == 0);
    REQUIRE(::listen(listener.get(), 1) == 0);
    REQUIRE(::getsockname(listener.get(), address, &size) == 0);
    REQUIRE(::connect(near.get(), address, size) == 0);
    far = base::Fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    REQUIRE(far);
    far_name = name_of(address);
    REQUIRE(::getsockname(near.get(), address, &size) == 0);
    near_name = name_of(address);
  }
  static std::string name_of(const sockaddr* address) {
    if (address->sa_family == AF_INET) {
      return fmt::format("127.0.0.1:{}",
                         ntohs(reinterpret_cast<const sockaddr_in*>(address)->sin_port));
    }
    return fmt::format("[::1]:{}",
                       ntohs(reinterpret_cast<const sockaddr_in6*>(address)->sin6_port));
  }
};

const SocketState* find(const std::vector<SocketState>& sockets, const std::string& local) {
  const auto found = std::ranges::find(sockets, local, &SocketState::local);
  return found == sockets.end() ? nullptr : &*found;
}

std::vector<SocketState> own_sockets() {
  const std::vector<pid_t> self = {::getpid()};
  auto sockets = sockets_of(self);
  REQUIRE_MESSAGE(sockets.has_value(), sockets.error().what);
  return *std::move(sockets);
}

TEST_CASE("unread bytes, and bytes that came and went, are reported for each end") {
  std::vector<int> families = {AF_INET};
  if (base::Fd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0))) families.push_back(AF_INET6);
  for (const int family : families) {
    const Connection connection(family);
    REQUIRE(base::write_all(connection.near.get(), std::string(1000, 'x')));
    std::vector<SocketState> sockets;
    CHECK(wait_until([&] {
      sockets = own_sockets();
      const SocketState* const near = find(sockets, connection.near_name);
      return near != nullptr && near->bytes_acked >= 1000;
    }));
    const SocketState* const near = find(sockets, connection.near_name);
    const SocketState* const far = find(sockets, connection.far_name);
    REQUIRE((near != nullptr && far != nullptr));
    CHECK(near->peer == connection.far_name);
    CHECK(far->peer == connection.near_name);
    CHECK(far->recv_queue == 1000);
    CHECK(far->bytes_received == 1000);
    CHECK((near->send_queue == 0 && near->unacked == 0 && near->retransmits == 0));
    CHECK(&sockets.front() == far);  // bytes wait in it
    char bytes[1000];
    REQUIRE(::recv(connection.far.get(), bytes, sizeof bytes, MSG_WAITALL) == 1000);
    CHECK(find(own_sockets(), connection.far_name)->recv_queue == 0);
  }
}

TEST_CASE("a peer that does not read shows as waiting bytes at both ends") {
  const Connection connection(AF_INET);
  REQUIRE(base::set_nonblocking(connection.near.get(), true));
  const std::string much(1 << 20, 'x');
  while (::send(connection.near.get(), much.data(), much.size(), 0) > 0) continue;
  const auto sockets = own_sockets();
  CHECK(find(sockets, connection.near_name)->send_queue > 0);
  CHECK(find(sockets, connection.far_name)->recv_queue > 0);
}

TEST_CASE(
    "an end in another process is that process's alone; those of its children are reported with "
    "it") {
  Subject subject(
      python("import socket, subprocess, sys\n"
             "listener = socket.create_server(('127.0.0.1', 0))\n"
             "near = socket.create_connection(listener.getsockname())\n"
             "far, _ = listener.accept()\n"
             "listener.close()\n"
             "print(near.getsockname()[1], 'ready', flush=True)\n"
             "sys.stdin.read() or __import__('time').sleep(1000)\n"));
  REQUIRE(subject.says("ready"));
  const std::string local = "127.0.0.1:" + subject.text().substr(0, subject.text().find(' '));
  const std::vector<pid_t> theirs = {subject.pid()};
  const auto sockets = sockets_of(theirs);
  REQUIRE(sockets);
  CHECK(sockets->size() == 2);
  CHECK(find(*sockets, local) != nullptr);
  CHECK(find(own_sockets(), local) == nullptr);
  const std::vector<pid_t> no_process = {0x7FFFFFFF};
  CHECK(sockets_of(no_process)->empty());
}

TEST_CASE("a listener is no connection, and more connections than the limit are left out") {
  std::vector<std::unique_ptr<Connection>> many;
  for (std::size_t i = 0; i < kSocketsMax / 2 + 2; ++i) {
    many.push_back(std::make_unique<Connection>(AF_INET));
  }
  CHECK(find(own_sockets(), many.back()->listener ? "127.0.0.1:0" : "") == nullptr);
  // A connection with waiting bytes is among the reported ones.
  REQUIRE(base::write_all(many.back()->near.get(), "x"));
  CHECK(wait_until([&] {
    const auto sockets = own_sockets();
    CHECK(sockets.size() == kSocketsMax);
    return sockets.front().recv_queue == 1;
  }));
}

TEST_CASE("between two looks: what was acknowledged, for how long data was under way") {
  using std::chrono::milliseconds;
  const auto look = [](std::uint64_t acked, milliseconds busy, std::uint64_t waiting) {
    SocketState socket;
    socket.local = "10.0.0.1:1";
    socket.peer = "10.0.0.2:2";
    socket.bytes_acked = acked;
    socket.busy = busy;
    socket.send_queue = waiting;
    return std::vector<SocketState>{socket};
  };
  const auto compared = [](const std::vector<SocketState>& before, std::vector<SocketState> after) {
    compare_sockets(before, after, milliseconds(1000));
    return after.front();
  };
  const SocketState moved =
      compared(look(100, milliseconds(10), 2), look(700, milliseconds(60), 2));
  CHECK(moved.watched == milliseconds(1000));
  CHECK(moved.acked_meanwhile == 600);
  CHECK(moved.busy_meanwhile == milliseconds(50));
  CHECK(!moved.nothing_acked);
  const auto stood = look(100, milliseconds(10), 2);
  CHECK(compared(stood, look(100, milliseconds(99), 3)).nothing_acked);
  CHECK(!compared(stood, look(100, milliseconds(10), 0)).nothing_acked);
  CHECK(!compared(look(100, milliseconds(10), 0), stood).nothing_acked);
  // Another connection between the same ports, and a new one: seen once.
  CHECK(compared(stood, look(50, milliseconds(10), 2)).watched == milliseconds(0));
  CHECK(compared({}, look(50, milliseconds(10), 2)).watched == milliseconds(0));
}

// ---- links --------------------------------------------------------------------------------------

struct FakeSys {
  test::ScratchFolder root;
  void interface(const std::string& name, bool physical, const std::string& flags,
                 const std::string& carrier, const std::string& state) const {
    const std::string folder = "sys/class/net/" + name + "/";
    root.write(folder + "flags", flags + "\n");
    if (!carrier.empty()) root.write(folder + "carrier", carrier + "\n");
    root.write(folder + "operstate", state + "\n");
    if (physical) root.write(folder + "device/vendor", "0x15b3\n");
  }
  void port(const std::string& adapter, const std::string& number, const std::string& state,
            const std::string& lost) const {
    const std::string folder = "sys/class/infiniband/" + adapter + "/ports/" + number + "/";
    root.write(folder + "state", state + "\n");
    if (!lost.empty()) root.write(folder + "counters/link_downed", lost + "\n");
  }
};

std::vector<SocketState> connection_from(const std::string& local) {
  SocketState socket;
  socket.local = local;
  return {socket};
}

TEST_CASE("broken links that matter are named; unused ports are not") {
  const FakeSys sys;
  sys.interface("eth0", true, "0x1003", "1", "up");
  sys.interface("eth1", true, "0x1003", "0", "down");
  sys.interface("eth2", true, "0x1003", "0", "down");  // it has no address
  sys.interface("eth3", true, "0x1002", "", "down");  // taken down
  sys.interface("docker0", false, "0x1003", "0", "down");  // as always without a container
  sys.interface("bond0", false, "0x1003", "0", "down");
  sys.interface("vlan7", false, "0x1003", "1", "lowerlayerdown");
  sys.interface("tun0", false, "0x10d1", "1", "unknown");
  const std::vector<InterfaceAddress> addresses = {
      {"eth0", "10.0.0.1"},  {"eth1", "10.1.0.1"}, {"eth3", "10.3.0.1"}, {"docker0", "172.17.0.1"},
      {"bond0", "10.4.0.1"}, {"vlan7", "fd00::7"}, {"tun0", "10.5.0.1"}};
  const auto broken = [&](const std::string& local) {
    return broken_links(connection_from(local), addresses, sys.root.path());
  };
  const std::vector<std::string> always = {"eth1: no carrier", "eth3: is down"};
  CHECK(broken("10.0.0.1:4711") == always);
  CHECK(broken("127.0.0.1:4711") == always);
  CHECK(broken("[::1]:4711") == always);
  CHECK(broken("10.5.0.1:1") == always);
  CHECK(broken("10.4.0.1:1") ==
        std::vector<std::string>{"bond0: no carrier", "eth1: no carrier", "eth3: is down"});
  CHECK(broken("[fd00::7]:1") ==
        std::vector<std::string>{"eth1: no carrier", "eth3: is down", "vlan7: lowerlayerdown"});
  CHECK(broken("10.9.0.1:1").front() == "10.9.0.1: no interface has this address any more");
}

TEST_CASE("InfiniBand ports that lost their link are named, those that never had one are not") {
  const FakeSys sys;
  sys.port("mlx5_0", "1", "4: ACTIVE", "3");
  sys.port("mlx5_1", "1", "1: DOWN", "2");
  sys.port("mlx5_2", "1", "1: DOWN", "0");
  sys.port("mlx5_10", "2", "2: INIT", "");
  const auto links = broken_links({}, {}, sys.root.path());
  CHECK(links == std::vector<std::string>{"mlx5_1/1: DOWN", "mlx5_10/2: INIT"});
}

TEST_CASE("a machine without links has no broken ones; of very many not all are reported") {
  const FakeSys sys;
  CHECK(broken_links({}, {}, sys.root.path()).empty());
  for (std::size_t i = 0; i < kLinksMax + 3; ++i) {
    sys.port("mlx5_" + std::to_string(i), "1", "1: DOWN", "1");
  }
  CHECK(broken_links({}, {}, sys.root.path()).size() == kLinksMax);
}

TEST_CASE("the addresses of this machine are found, loopback's too") {
  const auto addresses = interface_addresses();
  CHECK(std::ranges::find(addresses, "127.0.0.1", &InterfaceAddress::address) != addresses.end());
  CHECK(broken_links(connection_from("127.0.0.1:1"), addresses).size() < kLinksMax);
}

// ---- GPUs ---------------------------------------------------------------------------------------

const std::string kTwoGpus =
    "gpu 0\nname NVIDIA H100 80GB HBM3\nuuid GPU-aa01\npci 00000000:3b:00.0\n"
    "utilisation_percent 100\npower_w 120\npower_limit_w 700\npid 10\npid 12\n"
    "gpu 1\nname NVIDIA H100 80GB HBM3\nuuid GPU-bb02\npci 00000000:5e:00.0\n"
    "error 15 (GPU is lost)\nnonsense\n\npid x\n";

TEST_CASE("the output of the library's helper about the GPUs is read") {
  const auto gpus = read_gpu_states(kTwoGpus);
  REQUIRE(gpus);
  REQUIRE(gpus->size() == 2);
  const GpuReading& first = gpus->front();
  CHECK(first.state.name == "NVIDIA H100 80GB HBM3");
  CHECK(first.state.utilisation_percent == 100);
  CHECK((first.state.power_w == 120 && first.state.power_limit_w == 700));
  CHECK(first.pids == std::vector<pid_t>{10, 12});
  CHECK(first.pci == "00000000:3b:00.0");
  CHECK(gpus->back().index == 1);
  CHECK(gpus->back().state.errors == std::vector<std::string>{"15 (GPU is lost)"});
  CHECK(read_gpu_states("")->empty());
  CHECK(read_gpu_states("name x\npid 3\n")->empty());
  const auto refused = read_gpu_states("refused nvmlInit failed with 18 (mismatch)\n");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what == "nvmlInit failed with 18 (mismatch)");
  std::string many;
  for (std::size_t i = 0; i < kGpusMax + 9; ++i) {
    many += fmt::format("gpu {}\n", i);
    for (std::size_t j = 0; j < kGpuErrorsMax + 9; ++j)
      many += "error " + std::string(900, 'e') + "\n";
  }
  const auto limited = read_gpu_states(many);
  CHECK(limited->size() == kGpusMax);
  CHECK(limited->front().state.errors.size() == kGpuErrorsMax);
  CHECK(limited->front().state.errors.front().size() == kFactBytesMax);
}

TEST_CASE("the worker's GPUs are those it computes on, else those it may use") {
  const auto all = *read_gpu_states(kTwoGpus);
  const auto indexes = [&](std::vector<pid_t> tree, std::vector<std::string> visible) {
    std::vector<std::uint32_t> found;
    for (const GpuReading& gpu : gpus_of(all, tree, visible)) found.push_back(gpu.index);
    return found;
  };
  using Indexes = std::vector<std::uint32_t>;
  CHECK(indexes({9, 12}, {"1"}) == Indexes{0});
  CHECK(indexes({9}, {"1"}) == Indexes{1});
  CHECK(indexes({9}, {"GPU-bb"}) == Indexes{1});
  CHECK(indexes({9}, {}) == Indexes{0, 1});
  CHECK(indexes({9}, {"MIG-1", "7"}) == Indexes{});
}

// A file is read as one record here, unlike the kernel's own log.
TEST_CASE("the kernel's lines about a GPU are added, those from before the worker are not") {
  const test::ScratchFolder folder;
  const auto log = folder.write(
      "kmsg",
      "4,1234,5000000,-;NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', GPU has fallen off the "
      "bus.\n SUBSYSTEM=pci\n");
  const auto errors = [&](std::chrono::seconds since) {
    auto gpus = *read_gpu_states(kTwoGpus);
    add_xid_lines(since, gpus, log);
    CHECK(gpus[1].state.errors.size() == 1);
    return gpus[0].state.errors;
  };
  CHECK(errors(std::chrono::seconds(5)) ==
        std::vector<std::string>{
            "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', GPU has fallen off the bus."});
  CHECK(errors(std::chrono::seconds(6)).empty());
  auto gpus = *read_gpu_states(kTwoGpus);
  add_xid_lines({}, gpus, folder / "none");
  for (const char* const text :
       {"", ";", "NVRM: Xid (PCI:", "1,2,x,-;NVRM: Xid (PCI:0000:3b:00): 1",
        "1,2;NVRM: Xid (PCI:0000:3b:00): 1", "1,2,9,-;NVRM: Xid (PCI:): 1"}) {
    add_xid_lines({}, gpus, folder.write("odd", text));
  }
  CHECK(gpus[0].state.errors.empty());
}

// ---- programs -----------------------------------------------------------------------------------

TEST_CASE("the output of eu-stack is read") {
  const auto stack = parse_eu_stack(
      "PID 14224 - process\nTID 14224:\n"
      "#0  0x00007f637e4ed545 clock_nanosleep@GLIBC_2.2.5 - /usr/lib/libc.so.6\n"
      "#1  0x00005612a36024af - /usr/bin/sleep\n"
      "#2  0x00007f39a2cea305 __libc_start_main@@GLIBC_2.34\n"
      "#3  0x0000000000000000\n"
      "eu-stack: dwfl_thread_getframes tid 14224 at 0x0 in <unknown>: no matching address range\n");
  REQUIRE(stack);
  CHECK((stack->is_main && stack->is_native));
  CHECK(stack->frames == std::vector<tracer::Frame>{{"clock_nanosleep", "/usr/lib/libc.so.6", 0},
                                                    {"", "/usr/bin/sleep", 0},
                                                    {"__libc_start_main", "", 0},
                                                    {"", "", 0}});
  const auto refused =
      parse_eu_stack("eu-stack: dwfl_linux_proc_attach pid 1: Operation not permitted\n");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what == "eu-stack: dwfl_linux_proc_attach pid 1: Operation not permitted");
  CHECK(parse_eu_stack("").error().what == "it printed no stack");
  CHECK_FALSE(parse_eu_stack("#\n#1\n# 0"));
  std::string deep;
  for (std::size_t i = 0; i < kStackFramesMax + 9; ++i) deep += "#1  0x01 f - g\n";
  CHECK(parse_eu_stack(deep)->frames.size() == kStackFramesMax);
}

TEST_CASE("the output of py-spy is read") {
  const std::string text =
      R"([{"pid": 7, "thread_id": 140, "thread_name": "holder", "os_thread_id": 8, "active": false,
           "owns_gil": true, "frames": [
             {"name": "hold", "filename": "/job/x.py", "module": null, "line": 6, "locals": null}]},
          {"pid": 7, "thread_id": 160, "thread_name": null, "os_thread_id": 7, "active": true,
           "owns_gil": false, "frames": []}])";
  const auto dump = parse_py_spy(text, 7);
  REQUIRE(dump);
  REQUIRE(dump->stacks.size() == 2);
  CHECK((dump->stacks[0].is_main && !dump->stacks[0].holds_gil));
  CHECK(dump->stacks[0].thread == "0xa0");
  CHECK((!dump->stacks[1].is_main && dump->stacks[1].holds_gil));
  CHECK(dump->stacks[1].thread == "holder");
  CHECK(dump->stacks[1].frames == std::vector<tracer::Frame>{{"hold", "/job/x.py", 6}});
  CHECK(dump->idents == std::vector<std::uint64_t>{160, 140});
  CHECK(main_stack(parse_py_spy(text, 99)->stacks) == nullptr);
  for (const char* const nonsense : {"", "{}", "[]", "[", "3", "null"}) {
    CHECK_FALSE(parse_py_spy(nonsense, 7));
  }
  const auto odd = parse_py_spy(R"([1, {"frames": 3}, {"frames": [1, {"name": 3, "line": -1}]},
      {"frames": [{"line": 1e99}, {"line": 99999999999}]}])",
                                7);
  REQUIRE(odd);
  CHECK(odd->stacks.size() == 4);
  CHECK(odd->stacks[3].frames.at(1).line == 0xFFFFFFFF);
  std::string many = "[";
  for (std::size_t i = 0; i < kStackThreadsMax + 9; ++i) many += "{},";
  CHECK(parse_py_spy(many + R"({"os_thread_id": 7}])", 7)->stacks.size() == kStackThreadsMax);
}

}  // namespace
}  // namespace robustrun::agent::evidence_parts_test
