#pragma once
// Gathers evidence about a suspected worker from outside (tracer/analysis/evidence.h): its process,
// the Python stacks that its signal handler writes, native stacks, waits of its threads, sockets,
// GPUs, and the node's network.
//
// The parts run side by side, each with its own deadline. A part that is late or not available is
// named in Evidence.missing and is never an error. Work that may hang runs in helper programs
// (ask_program.h) or on the pool. Used on the agent's loop. Destroying the collector ends its work:
// `done` is not called any more, and its programs are killed.

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
  // The file to which the worker's handler of `stack_signal` writes Python stacks; empty: none.
  std::string stack_file;
  int stack_signal = 0;  // 0: none
  // Sends a signal to the worker's own process through its shim (FaultTarget::signal_itself); does
  // nothing once the worker is dead. Called from the loop, once for each look at the stacks.
  std::function<void(int signal)> signal;
  // The GPUs that the worker may use, as in CUDA_VISIBLE_DEVICES: numbers or UUIDs; empty: all.
  std::vector<std::string> gpus;
  // Time between the two looks at process, stacks and sockets.
  std::chrono::milliseconds apart = kLooksApart;
  bool only_use = false;  // the worker is not suspected: look only at process and GPUs
};

// The least time limit of start(): enough for two looks at a process.
inline constexpr std::chrono::milliseconds kEvidenceMin{1500};

class EvidenceCollector {
 public:
  using Done = std::function<void(tracer::Evidence)>;

  // `done` is called once, from the loop, never from within start(), after `within` at the latest;
  // a shorter time than kEvidenceMin counts as kEvidenceMin.
  static std::unique_ptr<EvidenceCollector> start(NodeContext& node, Suspect suspect,
                                                  std::chrono::milliseconds within, Done done);
  virtual ~EvidenceCollector() = default;
};

}  // namespace robustrun::agent
