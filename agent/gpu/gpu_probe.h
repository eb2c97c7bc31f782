#pragma once
// Has this machine's GPUs tested by robustrun-probe (probe/tests.h), one test after the other, each
// below a shim and killed at its limit. Whatever the program does, something comes of it: a hang
// and a crash are faults of that test, with the step that it was in; without a result of the first
// test, and so without the program or a GPU, nothing else is tried.
//
// On the loop. Owned by the asker: once it is dropped, `done` is not called any more and the
// program is killed.

#include <functional>
#include <memory>

#include "agent/node/node_context.h"
#include "base/core/gpu_facts.h"

namespace robustrun::agent {

class GpuProbe {
 public:
  using Done = std::function<void(base::GpuFacts)>;

  // The program is the one beside robustrun, else the one in the workers' PATH. `test_max` is
  // kTestMax but in tests.
  static std::unique_ptr<GpuProbe> start(const NodeContext& node,
                                         std::chrono::milliseconds test_max, Done done);
  virtual ~GpuProbe() = default;
};

}  // namespace robustrun::agent
