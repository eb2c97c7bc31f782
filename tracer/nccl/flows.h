#pragma once
// Flows: an operation's data on one channel with one peer. NCCL's progress thread moves the data in
// steps (ProxyOp and ProxyStep in NCCL's terms). At most eight steps of a flow are in progress at a
// time.
//
// NCCL may start the same receiving step several times until there is a buffer, and report several
// times that a peer has posted no buffer. Repetitions do not count.

#include <sys/types.h>

#include <cstdint>

#include "tracer/nccl/abi.h"
#include "tracer/nccl/attach.h"
#include "tracer/nccl/handle.h"

namespace robustrun::tracer::nccl {

struct FlowStart {
  pid_t pid = 0;  // of the operation's process: NCCL also sends for other ranks of the node (PXN)
  std::uint32_t channel = 0;
  std::int32_t peer = 0;
  int steps = 0;
  bool is_send = false;
};

// Returns the flow's handle; null: the flow belongs to another process, its operation is not in
// flight, or no slot is free.
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
