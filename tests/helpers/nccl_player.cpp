// nccl_player LIBRARY SCENARIO VERSION: loads the profiler plugin as NCCL would, plays a scenario
// in that version of the interface and ends; the plugin's result is in the progress record.

#include <fcntl.h>
#include <sys/wait.h>

#include <bit>
#include <cstdio>
#include <cstring>

#include "tests/helpers/fake_nccl_impl.h"
#include "tests/helpers/nccl_bench.h"
#include "tests/helpers/nccl_masks.h"
#include "tests/helpers/nccl_player.h"
#include "tests/helpers/nccl_rates.h"
#include "tests/helpers/nccl_threads.h"

using namespace robustrun::test;

namespace {

constexpr std::uint64_t kKey = 0xabc;
const char* g_library = nullptr;

// Operation 1 is done, 2 is stuck on its way, 3 blocks in the launch (where NCCL reports that).
void stuck(Player& player) {
  FakeNccl& nccl = player.nccl();
  const FakeComm comm = nccl.init(kKey, 4, 1);
  player.complete(player.enqueue(comm));
  const PlayedOp op = player.enqueue(comm, 2000);
  void* const first = nccl.kernel(comm, op.task, 0, 7000);
  static_cast<void>(nccl.kernel(comm, op.task, 1, 7100));
  if (first != nullptr) nccl.kernel_stop(first, 9000);

  void* const out = nccl.proxy_op(comm.context, op.task, ::getpid(), 2, 10, true);
  for (int step = 0; step < 2; ++step) player.finish_send(op, out, step);
  player.send(op, out, 2);
  void* const refused = nccl.proxy_step(comm.context, out, 3);
  void* const empty = nccl.proxy_step(comm.context, out, 4);
  nccl.step_state(empty, abi::kSendGpuWait, 0);
  if (nccl.version() >= 4) {
    for (int i = 0; i < 3; ++i) nccl.step_state(refused, abi::kSendPeerWait, 0);
  } else {
    nccl.op_state(out, abi::kSendTransmitted, 3, 300);
    nccl.op_state(out, abi::kSendRemFifoWait, 4, 300);
  }

  void* const in = nccl.proxy_op(comm.context, op.task, ::getpid(), 0, 10, false);
  void* arrived = nullptr;
  for (int i = 0; i < 3; ++i) arrived = nccl.proxy_step(comm.context, in, 0);
  nccl.step_state(arrived, abi::kRecvWait, 0);
  nccl.step_state(arrived, abi::kRecvFlushWait, 100);
  nccl.step_state(arrived, abi::kRecvGpuWait, 0);
  nccl.stop(arrived);
  nccl.step_state(nccl.proxy_step(comm.context, in, 1), abi::kRecvFlushWait, 100);
  static_cast<void>(nccl.proxy_step(comm.context, in, 2));
  nccl.op_state(in, abi::kRecvReceived, 2, 200);

  if (nccl.has_api()) {
    static_cast<void>(player.call(comm, 3000, 2));
    static_cast<void>(nccl.launch(comm, nullptr));
  }
}

void many(Player& player) {
  const FakeComm comm = player.nccl().init(kKey, 4, 1);
  for (int i = 0; i < 5000; ++i) player.complete(player.enqueue(comm, 1U << (i % 16)));
}

void overflow(Player& player) {
  const FakeComm comm = player.nccl().init(kKey, 4, 1);
  std::vector<PlayedOp> ops;
  for (std::size_t i = 0; i < 1500; ++i) {
    ops.push_back(player.enqueue(comm, i));
    if (ops.back().task == nullptr) continue;
    for (int peer = 0; peer < 3; ++peer) {
      static_cast<void>(
          player.nccl().proxy_op(comm.context, ops.back().task, ::getpid(), peer, 5, true));
    }
  }
}

// Two operations finish in the opposite order; the end of a third is never reported, but the fourth
// is done.
void disorder(Player& player) {
  const FakeComm comm = player.nccl().init(kKey, 4, 1);
  const PlayedOp first = player.enqueue(comm);
  const PlayedOp second = player.enqueue(comm);
  player.complete(second);
  player.complete(first);
  static_cast<void>(player.enqueue(comm));
  player.complete(player.enqueue(comm));
}

// One group, whose second operation finishes first.
void together(Player& player) {
  FakeNccl& nccl = player.nccl();
  const FakeComm comm = nccl.init(kKey, 4, 1);
  void* const outer = nccl.group_api(comm);
  std::vector<PlayedOp> ops;
  for (int i = 0; i < 3; ++i) ops.push_back(player.call(comm, 1000, 2, outer));
  void* const group = nccl.group(comm);
  for (PlayedOp& op : ops) {
    op.task = nccl.coll(comm, op.call, group, 1000, 2);
    player.stop(op.task);
  }
  player.stop(group);
  player.stop(outer);
  player.complete(ops[1]);
}

void must(bool claim) {
  if (!claim) std::abort();
}

// Handles of slots that have been reused: an operation, a flow, a communicator.
void reused(Player& player) {
  FakeNccl& nccl = player.nccl();
  const FakeComm closed = nccl.init(kKey + 1, 4, 1);
  nccl.finalize(closed);
  const FakeComm comm = nccl.init(kKey, 4, 1);
  must(nccl.coll(closed, nullptr, nullptr, 1, 1) == nullptr);
  nccl.finalize(closed);
  const PlayedOp old = player.enqueue(comm);
  void* const old_flow = nccl.proxy_op(comm.context, old.task, ::getpid(), 2, 4, true);
  player.stop(old_flow);
  player.complete(old);
  for (int i = 0; i < 1023; ++i) player.complete(player.enqueue(comm));
  const PlayedOp op = player.enqueue(comm);
  for (int i = 0; i < 1023; ++i) player.send_all(op, 2, 1);
  void* const flow = nccl.proxy_op(comm.context, op.task, ::getpid(), 3, 4, true);
  must(flow != nullptr && flow != old_flow);
  must(nccl.proxy_step(comm.context, old_flow, 0) == nullptr);
  player.stop(old_flow);
  player.complete(old);
  player.stop(old.task);
}

// Everything that the plugin must reject; at the end one more operation, which must count.
void stale(Player& player) {
  FakeNccl& nccl = player.nccl();
  const FakeComm comm = nccl.init(kKey, 4, 1);
  const FakeComm closed = nccl.init(kKey + 1, 4, 1);
  const PlayedOp lost = player.enqueue(closed);
  void* const late = nccl.proxy_op(closed.context, lost.task, ::getpid(), 2, 4, true);
  nccl.finalize(closed);
  nccl.finalize(closed);
  const PlayedOp op = player.enqueue(comm);
  // A handle of another process, with numbers like ours.
  must(nccl.proxy_op(comm.context, op.task, ::getpid() + 1, 2, 4, true) == nullptr);
  void* const flow = nccl.proxy_op(comm.context, op.task, ::getpid(), 2, 4, true);
  void* const step = player.send(op, flow, 0);
  player.stop(step);
  player.stop(step);
  player.stop(flow);
  player.stop(flow);
  player.complete(op);
  player.complete(op);
  for (void* handle : {op.group, op.call, op.task, flow, step, late, lost.task}) {
    if (handle == nullptr) continue;
    for (int state = 0; state <= 24; ++state) nccl.state(handle, state);
    nccl.stop(handle);
    static_cast<void>(nccl.proxy_op(comm.context, handle, ::getpid(), 1, 3, true));
    static_cast<void>(nccl.proxy_step(comm.context, handle, 1));
    static_cast<void>(nccl.kernel(comm, handle, 1, 1));
  }
  std::uint64_t number = 0x9e3779b97f4a7c15;
  for (int i = 0; i < 20'000; ++i) {
    number = number * 6364136223846793005U + 1442695040888963407U;
    void* const noise = std::bit_cast<void*>(number);
    nccl.state(noise, i % 25);
    nccl.stop(noise);
    const FakeComm unknown{noise, 1, 0};
    player.stop(nccl.proxy_step(noise, noise, i));
    player.stop(nccl.coll(unknown, noise, noise, 1, 1));
  }
  player.complete(player.enqueue(comm));
}

void fork_child(Player& player) {
  FakeNccl& nccl = player.nccl();
  const FakeComm comm = nccl.init(kKey, 4, 1);
  const PlayedOp op = player.enqueue(comm);
  const pid_t child = ::fork();
  if (child == 0) {
    player.complete(op);
    player.complete(player.enqueue(comm));
    const FakeComm own = nccl.init(kKey + 7, 2, 0);
    player.complete(player.enqueue(own));
    nccl.finalize(comm);
    ::_exit(0);
  }
  int status = -1;
  if (::waitpid(child, &status, 0) != child || status != 0) std::abort();
}

void reinit(Player& player) {
  FakeNccl& nccl = player.nccl();
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const FakeComm comm = nccl.init(kKey + i, 4, 1);
    player.complete(player.enqueue(comm));
    static_cast<void>(player.enqueue(comm));  // aborted with it
    nccl.finalize(comm);
  }
  for (std::uint64_t i = 0; i < 200; ++i) player.enqueue(nccl.init(kKey + 5000 + i, 4, 1));
}

void graph(Player& player) {
  FakeNccl& nccl = player.nccl();
  const FakeComm comm = nccl.init(kKey, 4, 1);
  void* const outer = nccl.group_api(comm);
  PlayedOp op{comm, outer, nccl.coll_api(comm, outer, 1000, true), nullptr, 2};
  player.stop(op.call);
  player.stop(outer);
  for (int replay = 0; replay < 3; ++replay) {
    void* const group = nccl.group(comm);
    op.task = nccl.coll(comm, op.call, group, 1000, 2);
    player.stop(op.task);
    player.stop(group);
    if (replay < 2) player.complete(op);
  }
}

// Collectives of which NCCL reports only the call, among others.
void unreported(Player& player) {
  const FakeComm comm = player.nccl().init(kKey, 4, 1);
  for (int i = 0; i < 3000; ++i) {
    player.leave(player.call(comm, 1000, 2));
    if (i % 3 == 0) player.complete(player.enqueue(comm));
  }
  player.leave(player.call(comm, 1000, 2));
}

// The call returns first; another thread hands the operation over.
void nonblocking(Player& player) {
  const FakeComm comm = player.nccl().init(kKey, 4, 1);
  for (int i = 0; i < 10; ++i) {
    PlayedOp op = player.call(comm, 1000, 2);
    player.leave(op);
    player.hand_over(op, 1000);
    if (i < 9) player.complete(op);
  }
}

// Operations are reported only after the next ones have been called.
void late(Player& player) {
  const FakeComm comm = player.nccl().init(kKey, 4, 1);
  PlayedOp before = player.call(comm, 1000, 2);
  player.leave(before);
  for (int i = 0; i < 20; ++i) {
    PlayedOp op = player.call(comm, 1000, 2);
    player.leave(op);
    player.hand_over(before, 1000);
    player.complete(before);
    before = op;
  }
}

void peers(Player& player) {
  FakeNccl& nccl = player.nccl();
  const FakeComm comm = nccl.init(kKey, 4, 1);
  for (int i = 0; i < 5; ++i) {
    const bool send = i % 2 == 0;
    void* const outer = nccl.group_api(comm);
    void* const call = nccl.p2p_api(comm, outer, send, 10);
    player.stop(call);
    void* const group = nccl.group(comm);
    PlayedOp op{comm, outer, call, nccl.p2p(comm, call, group, send, send ? 2 : 3), 1};
    player.stop(op.task);
    player.stop(group);
    player.stop(outer);
    if (i < 4) player.complete(op);
  }
}

void crowded(Player& player) {
  for (std::uint64_t i = 0; i < 140; ++i) {
    player.enqueue(player.nccl().init(kKey + i, 4, 1));
  }
}

// Prints the mask before and after another communicator is closed.
void waking(Player& player) {
  FakeNccl& nccl = player.nccl();
  const FakeComm comm = nccl.init(kKey, 4, 1);
  const FakeComm other = nccl.init(kKey + 1, 4, 1);
  player.complete(player.enqueue(comm));
  std::printf("%x", static_cast<unsigned>(nccl.mask()));
  nccl.finalize(other);
  for (std::size_t i = 0; i < 3; ++i) player.complete(player.enqueue(comm, 100 + i));
  std::printf(" %x\n", static_cast<unsigned>(nccl.mask()));
}

int open_record() {
  const char* path = std::getenv("ROBUSTRUN_RECORD");
  return path == nullptr ? -1 : ::open(path, O_RDWR | O_CLOEXEC);
}

// The boot module has marked this process as the worker.
void boot(Player& player) {
  const int fd = open_record();
  const auto pid = static_cast<std::uint64_t>(::getpid());
  if (::pwrite(fd, &pid, sizeof pid, 64) != sizeof pid) std::abort();
  ::close(fd);
  many(player);
}

// Hangs, and continues as another program.
void again(Player& player) {
  stuck(player);
  const std::string version = std::to_string(player.nccl().version());
  ::execl("/proc/self/exe", "nccl_player", g_library, "many", version.c_str(), nullptr);
  std::abort();
}

// Prints the mask at first, after the agent has asked for other events and an operation has run,
// and after the agent has asked for none.
void wish(Player& player) {
  const FakeComm comm = player.nccl().init(kKey, 4, 1);
  std::printf("%x", static_cast<unsigned>(player.nccl().mask()));
  const int fd = open_record();
  for (const std::uint64_t wanted : {0x8fULL, 0x8000ULL, 0ULL}) {
    if (fd >= 0 && ::pwrite(fd, &wanted, sizeof wanted, 40) != sizeof wanted) std::abort();
    player.enqueue(comm);
    std::printf(" %x", static_cast<unsigned>(player.nccl().mask()));
  }
  if (fd >= 0) ::close(fd);
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  struct Scenario {
    const char* name;
    void (*play)(Player&);
  };
  constexpr Scenario kScenarios[] = {
      {"stuck", stuck},
      {"many", many},
      {"overflow", overflow},
      {"disorder", disorder},
      {"together", together},
      {"stale", stale},
      {"reused", reused},
      {"fork", fork_child},
      {"reinit", reinit},
      {"graph", graph},
      {"unreported", unreported},
      {"nonblocking", nonblocking},
      {"late", late},
      {"peers", peers},
      {"crowded", crowded},
      {"waking", waking},
      {"wish", wish},
      {"masked", play_masked},
      {"suspected", play_suspected},
      {"settled", play_settled},
      {"hang", play_hang},
      {"rates", play_rates},
      {"phases", play_phases},
      {"tags", play_tags},
      {"ring", play_ring},
      {"threads", play_threads},
      {"bench", play_bench},
      {"busy", play_busy},
      {"boot", boot},
      {"again", again},
  };
  if (argc == 4) {
    g_library = argv[1];
    const auto nccl = FakeNccl::load(argv[1], std::atoi(argv[3]));
    for (const Scenario& scenario : kScenarios) {
      if (std::strcmp(argv[2], scenario.name) != 0 || nccl == nullptr) continue;
      Player player(*nccl);
      scenario.play(player);
      return 0;
    }
  }
  std::fprintf(stderr, "usage: nccl_player LIBRARY SCENARIO VERSION\n");
  return 2;
}
