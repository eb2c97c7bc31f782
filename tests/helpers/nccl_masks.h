#pragma once
// Scenarios of nccl_player in which NCCL reports flows only while the mask asks for them.

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "tests/helpers/nccl_player.h"

namespace robustrun::test {

inline constexpr std::uint64_t kMaskedComm = 0xabc;

// Like NCCL, which reads the mask when an operation is called.
inline void complete_as_masked(Player& player, const PlayedOp& op, bool is_last_stuck) {
  const auto mask = static_cast<std::uint64_t>(player.nccl().mask());
  const bool has_flows = (mask & (abi::kProxyOp | abi::kProxyStep)) != 0;
  std::vector<void*> kernels;
  for (int channel = 0; channel < op.channels; ++channel) {
    kernels.push_back(player.nccl().kernel(op.comm, op.task, channel, 1000));
  }
  if (is_last_stuck) {
    if (!has_flows) return;
    void* const flow = player.nccl().proxy_op(op.comm.context, op.task, ::getpid(), 2, 4, true);
    player.send(op, flow, 0);
    return;
  }
  if (has_flows) player.send_all(op, 2, 4);
  for (void* kernel : kernels) {
    if (kernel != nullptr) player.nccl().kernel_stop(kernel, 5000);
  }
}

inline void wish_for(std::uint64_t events) {
  const char* const path = std::getenv("ROBUSTRUN_RECORD");
  const int fd = path == nullptr ? -1 : ::open(path, O_RDWR | O_CLOEXEC);
  if (::pwrite(fd, &events, sizeof events, 40) != sizeof events) std::abort();
  ::close(fd);
}

// Two operations are done, the third is stuck.
inline void play_masked(Player& player) {
  const FakeComm comm = player.nccl().init(kMaskedComm, 4, 1);
  for (int i = 0; i < 3; ++i) complete_as_masked(player, player.enqueue(comm), i == 2);
}

// The second is stuck; then all events are requested.
inline void play_suspected(Player& player) {
  const FakeComm comm = player.nccl().init(kMaskedComm, 4, 1);
  complete_as_masked(player, player.enqueue(comm), false);
  complete_as_masked(player, player.enqueue(comm), true);
  wish_for(0);
  static_cast<void>(player.enqueue(comm));
  complete_as_masked(player, player.enqueue(comm), true);
}

// The last one is stuck, a while after all events were requested.
inline void play_settled(Player& player) {
  const FakeComm comm = player.nccl().init(kMaskedComm, 4, 1);
  complete_as_masked(player, player.enqueue(comm), false);
  wish_for(0);
  for (int i = 0; i < 2; ++i) complete_as_masked(player, player.enqueue(comm), false);
  ::usleep(1'100'000);
  complete_as_masked(player, player.enqueue(comm), true);
}

inline int number_of(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? 0 : std::atoi(text);
}

// A worker of a job, until it is killed: after some operations its last rank does not enter the
// next one, in which the others wait.
inline void play_hang(Player& player) {
  const int rank = number_of("RANK");
  const int size = number_of("WORLD_SIZE");
  const FakeComm comm = player.nccl().init(kMaskedComm, size, rank);
  for (int i = 0; i < 5; ++i) complete_as_masked(player, player.enqueue(comm), false);
  if (rank + 1 < size) complete_as_masked(player, player.enqueue(comm), true);
  while (true) ::pause();
}

}  // namespace robustrun::test
