#pragma once
// What the agent saw of a suspected worker from outside. Plain data; every part may be missing,
// because the agent collects each within a time limit.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"

namespace robustrun::tracer {

struct Frame {
  std::string function;
  std::string file;
  std::uint32_t line = 0;  // 0: unknown
  // The call in this line if it may wait for a peer: "dist.recv(x, src=1)"; mostly empty.
  std::string call{};
  friend bool operator==(const Frame&, const Frame&) = default;
  template <class V>
  void fields(V& v) {
    v(1, "function", function);
    v(2, "file", file);
    v(3, "line", line);
    v(4, "call", call);
  }
};

struct ThreadStack {
  std::string thread;  // name or id; Python's main thread comes first
  bool is_main = false;
  bool is_native = false;  // true: C frames; false: Python frames
  bool holds_gil = false;  // known only from py-spy
  std::vector<Frame> frames;  // innermost first
  template <class V>
  void fields(V& v) {
    v(1, "thread", thread);
    v(2, "is_main", is_main);
    v(3, "is_native", is_native);
    v(4, "holds_gil", holds_gil);
    v(5, "frames", frames);
  }
};

// A TCP connection of the worker (sock_diag, tcp_info of linux/tcp.h).
struct SocketState {
  std::string local;  // numeric endpoint
  std::string peer;
  std::uint64_t send_queue = 0;  // bytes not acknowledged
  std::uint64_t recv_queue = 0;  // bytes that the worker has not read
  std::uint64_t bytes_acked = 0;
  std::uint64_t bytes_received = 0;
  std::uint32_t retransmits = 0;  // of the segment in flight
  std::uint32_t unacked = 0;  // segments
  base::Nanos last_received{};  // how long ago
  base::Nanos last_sent{};  // how long ago
  // Total time with data in flight, without the time when the peer did not read.
  base::Nanos busy{};
  // The time between two looks; 0: there was only one look.
  base::Nanos watched{};
  std::uint64_t acked_meanwhile = 0;
  base::Nanos busy_meanwhile{};
  // No byte was acknowledged between two looks, although bytes waited for that at both looks.
  bool nothing_acked = false;
  template <class V>
  void fields(V& v) {
    v(1, "local", local);
    v(2, "peer", peer);
    v(3, "send_queue", send_queue);
    v(4, "recv_queue", recv_queue);
    v(5, "bytes_acked", bytes_acked);
    v(6, "bytes_received", bytes_received);
    v(7, "retransmits", retransmits);
    v(8, "unacked", unacked);
    v(9, "last_received", last_received);
    v(10, "last_sent", last_sent);
    v(11, "busy", busy);
    v(12, "watched", watched);
    v(13, "acked_meanwhile", acked_meanwhile);
    v(14, "busy_meanwhile", busy_meanwhile);
    v(15, "nothing_acked", nothing_acked);
  }
};

// What the main thread waits for, by its system call.
enum class MainWait : std::uint8_t {
  kOther,  // unknown, or anything else
  kSleep,  // a sleep with a minute or more left; shorter sleeps end before robustrun acts
  kLock,  // a lock, without a time limit
};

struct ProcessState {
  std::string state;  // one letter, from /proc/PID/stat; empty: unknown
  std::string wait_channel;  // /proc/PID/wchan of the main thread
  bool frozen = false;  // by its cgroup
  // What the worker and all its descendants used between two looks.
  base::Nanos watched{};  // the time between the looks; 0: there was only one
  base::Nanos cpu{};  // CPU time used
  base::Nanos cpu_delay{};  // time that main threads spent runnable without a CPU
  std::uint64_t io_bytes = 0;  // read and written
  // At the last look.
  std::uint32_t children = 0;  // all descendants
  std::uint32_t children_blocked = 0;  // descendants in state D
  double io_pressure = 0;  // of its cgroup: PSI some avg10, in per cent
  double memory_pressure = 0;  // the same for memory
  MainWait main_wait = MainWait::kOther;
  // Its other threads and its descendants wait for work, and no connection to another machine
  // carries data. False: not so, or unknown.
  bool others_idle = false;
  std::uint64_t memory_bytes = 0;  // resident, with all descendants; shared pages count for each
  std::uint32_t threads_blocked = 0;  // the worker's threads in state D, without the main thread
  template <class V>
  void fields(V& v) {
    v(1, "state", state);
    v(2, "wait_channel", wait_channel);
    v(3, "frozen", frozen);
    v(4, "watched", watched);
    v(5, "cpu", cpu);
    v(6, "io_bytes", io_bytes);
    v(7, "children", children);
    v(8, "children_blocked", children_blocked);
    v(9, "io_pressure", io_pressure);
    v(10, "memory_pressure", memory_pressure);
    v(11, "cpu_delay", cpu_delay);
    v(12, "main_wait", main_wait);
    v(13, "others_idle", others_idle);
    v(14, "memory_bytes", memory_bytes);
    v(15, "threads_blocked", threads_blocked);
  }
};

// A GPU of the worker, from NVML.
struct GpuState {
  std::string name;
  std::uint32_t utilisation_percent = 0;
  std::uint32_t power_w = 0;
  std::uint32_t power_limit_w = 0;
  std::vector<std::string> errors;  // Xid lines, ECC, "lost"
  std::optional<std::uint64_t> used_mib;  // of its memory, by all processes
  template <class V>
  void fields(V& v) {
    v(1, "name", name);
    v(2, "utilisation_percent", utilisation_percent);
    v(3, "power_w", power_w);
    v(4, "power_limit_w", power_limit_w);
    v(5, "errors", errors);
    v(6, "used_mib", used_mib);
  }
};

struct Evidence {
  bool has_process = false;
  ProcessState process;
  std::vector<ThreadStack> stacks;
  bool stacks_moved = false;  // the main thread's stack changed between two looks
  std::vector<SocketState> sockets;
  std::vector<GpuState> gpus;  // the GPUs that the worker uses
  std::vector<std::string> network;  // of the node: "eth1: no carrier", "mlx5_0/1: DOWN"
  std::vector<std::string>
      missing;  // what could not be collected, and why: "py-spy: not installed"
  std::vector<std::string> hearsay;  // claims of third parties: "NCCL's RAS considers it dead"
  // The training data for which its script waits, by its record: "source web, /data/web-0.bin";
  // empty: it does not wait.
  std::string data_wait;
  template <class V>
  void fields(V& v) {
    v(1, "has_process", has_process);
    v(2, "process", process);
    v(3, "stacks", stacks);
    v(4, "stacks_moved", stacks_moved);
    v(5, "sockets", sockets);
    v(6, "gpus", gpus);
    v(7, "network", network);
    v(8, "missing", missing);
    v(9, "hearsay", hearsay);
    v(10, "data_wait", data_wait);
  }
};

}  // namespace robustrun::tracer
