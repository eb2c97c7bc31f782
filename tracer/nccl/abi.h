#pragma once
// The interface between NCCL and a profiler plugin, versions 1 to 7 (NCCL 2.23 to 2.32), as laid
// out in memory on 64-bit Linux: constants here, events in abi_events.h, function tables in
// abi_tables.h.
//
// NCCL's own headers are neither needed nor included; the layout is taken from
// src/include/plugin/profiler/profiler_v1.h to profiler_v7.h of NVIDIA/nccl. NCCL looks for one
// data object per version, ncclProfiler_v1 to ncclProfiler_v7, and takes the newest that it
// supports. Version 7 adds a tag that the user may give to a call, and the phases of kernels that
// begin and end with a barrier (symmetric kernels).

#include <cstdint>

namespace robustrun::tracer::nccl::abi {

using Result = int;  // 0: success
using State = int;   // a C enum
using Log = void (*)(int level, unsigned long flags, const char* file, int line, const char* format,
                     ...);

// Types of events: the bits of the activation mask.
enum Event : std::uint64_t {
  kGroup = 1,
  kColl = 2,
  kP2p = 4,
  kProxyOp = 8,
  kProxyStep = 16,
  kProxyCtrl = 32,
  kKernelCh = 64,  // from version 3 on
  kNetPlugin = 128,
  kGroupApi = 256,  // from version 5 on
  kCollApi = 512,
  kP2pApi = 1024,
  kKernelLaunch = 2048,
  kCeColl = 4096,  // by copy engines; from version 6 on
  kCeSync = 8192,
  kCeBatch = 16384,
  kKernelPhase = 32768,  // from version 7 on
};
inline constexpr int kNewestVersion = 7;

// The bits that exist in an interface version.
[[nodiscard]] constexpr std::uint64_t events_of(int version) {
  if (version <= 2) return 0x3f;
  if (version <= 4) return 0xff;
  if (version == 5) return 0xfff;
  return version == 6 ? 0x7fff : 0xffff;
}

enum : State {
  // States of ProxyOp, versions 1 to 3 only.
  kSendPosted = 0,
  kSendRemFifoWait = 1,
  kSendTransmitted = 2,
  kSendDone = 3,
  kRecvPosted = 4,
  kRecvReceived = 5,
  kRecvTransmitted = 6,
  kRecvDone = 7,
  // States of ProxyStep.
  kSendGpuWait = 8,
  kSendWait = 9,
  kRecvWait = 10,
  kRecvFlushWait = 11,
  kRecvGpuWait = 12,
  kSendPeerWait = 20,  // from version 4 on
  // States of KernelCh, from version 4 on, and of GroupApi, from version 5 on.
  kKernelChStop = 22,
  kGroupStartApiStop = 23,
  kGroupEndApiStart = 24,
  kKernelPhaseStop = 31,  // from version 7 on
};

}  // namespace robustrun::tracer::nccl::abi
