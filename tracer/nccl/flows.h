#pragma once
// Flows: an operation's data on one channel with one peer, which NCCL's progress thread moves in
// steps (its ProxyOp and ProxyStep). At most eight steps of a flow are in progress at a time.
//
// NCCL starts a receiving step repeatedly until there is a buffer, and reports repeatedly that a
// peer has posted no buffer; each counts once.

#include <sys/types.h>

#include <cstdint>

#include "tracer/nccl/abi.h"
#include "tracer/nccl/attach.h"
#include "tracer/nccl/handle.h"

namespace robustrun::tracer::nccl {

struct FlowStart {
  pid_t pid = 0;  // the process whose operation it is: NCCL also sends for neighbours (PXN)
  std::uint32_t channel = 0;
  std::int32_t peer = 0;
  int steps = 0;
  bool is_send = false;
};

// Null if the flow is another process's, its operation is not in flight, or no slot is free.
[[nodiscard]] void* start_flow(Tables& t, Handle task, const FlowStart& start, std::uint64_t now);
// Versions 1 to 3: `steps` steps and `bytes` bytes have reached `state`.
void set_flow_state(Tables& t, Handle flow, abi::State state, std::uint32_t steps,
                    std::uint64_t bytes, std::uint64_t now);
void end_flow(Tables& t, Handle flow, std::uint64_t now);

[[nodiscard]] void* start_step(Tables& t, Handle flow, int step, std::uint64_t now);
void set_step_state(Tables& t, Handle step, abi::State state, std::uint64_t bytes,
                    std::uint64_t now);
void end_step(Tables& t, Handle step, std::uint64_t now);

}  // namespace robustrun::tracer::nccl
