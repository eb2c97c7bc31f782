#pragma once
// Gathers what can be seen of a suspected worker from outside (tracer/analysis/evidence.h): its
// process, the Python stacks that its signal handler writes, native stacks, sockets, GPUs, and the
// node's network.
//
// The parts run side by side, each with a deadline of its own; what is late or cannot be had is
// named in Evidence.missing and is never an error. Nothing needs the worker's cooperation and
// nothing blocks the loop: what may hang is asked of programs (ask_program.h) or on the pool. On
// the agent's loop. Dropped by destroying it: `done` is not called any more, programs are killed.

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/node/limits.h"
#include "agent/node/node_context.h"
#include "tracer/analysis/evidence.h"

namespace robustrun::agent {

// Whom to look at, and how.
struct Suspect {
  pid_t pid = 0;
  std::string cgroup;      // folder of its own cgroup v2; empty: it has none
  std::string stack_file;  // where its handler of `stack_signal` writes; empty: nowhere
  int stack_signal = 0;    // 0: none
  // Sends a signal to the worker's own process by way of its shim (Victim::signal_itself); does
  // nothing once the worker is dead. Called from the loop, once for each look at the stacks.
  std::function<void(int signal)> signal;
  // As in CUDA_VISIBLE_DEVICES, those that the worker may use: numbers or UUIDs; empty: all.
  std::vector<std::string> gpus;
  std::chrono::milliseconds apart = kLooksApart;  // two looks at the process, and at its stacks
};

// `within` below this is taken as this: two looks at a process must be apart.
inline constexpr std::chrono::milliseconds kEvidenceMin{1500};

class EvidenceCollector {
 public:
  using Done = std::function<void(tracer::Evidence)>;

  // `done` comes once, from the loop, never from within start(), and not later than `within`.
  static std::unique_ptr<EvidenceCollector> start(NodeContext& node, Suspect suspect,
                                                  std::chrono::milliseconds within, Done done);
  virtual ~EvidenceCollector() = default;
};

}  // namespace robustrun::agent
