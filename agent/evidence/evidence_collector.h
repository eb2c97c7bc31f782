#pragma once
// Gathers what can be seen of a suspected worker from outside (tracer/analysis/evidence.h): its
// process, the Python stacks that its signal handler writes, native stacks, sockets, GPUs, and the
// node's network.
//
// The parts run side by side, each with its own deadline. A part that is late or not available is
// named in Evidence.missing and is never an error. Nothing needs the worker's cooperation and
// nothing blocks the loop: what may hang runs in helper programs (ask_program.h) or on the pool. On
// the agent's loop. Destroying the collector ends its work: `done` is not called any more, and its
// programs are killed.

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

// The worker to look at.
struct Suspect {
  pid_t pid = 0;
  std::string cgroup;  // folder of its own cgroup v2; empty: none
  std::string stack_file;  // written by its handler of `stack_signal`; empty: none
  int stack_signal = 0;  // 0: none
  // Sends a signal to the worker's own process through its shim (FaultTarget::signal_itself); does
  // nothing once the worker is dead. Called from the loop, once for each look at the stacks.
  std::function<void(int signal)> signal;
  // The GPUs that the worker may use, as in CUDA_VISIBLE_DEVICES: numbers or UUIDs; empty: all.
  std::vector<std::string> gpus;
  std::chrono::milliseconds apart = kLooksApart;  // between two looks at process and stacks
  bool only_use = false;  // look only at process and GPUs: the worker is not suspected
};

// A shorter `within` counts as this, which leaves time for two looks at a process.
inline constexpr std::chrono::milliseconds kEvidenceMin{1500};

class EvidenceCollector {
 public:
  using Done = std::function<void(tracer::Evidence)>;

  // `done` is called once, from the loop, never from within start(), at most `within` later.
  static std::unique_ptr<EvidenceCollector> start(NodeContext& node, Suspect suspect,
                                                  std::chrono::milliseconds within, Done done);
  virtual ~EvidenceCollector() = default;
};

}  // namespace robustrun::agent
