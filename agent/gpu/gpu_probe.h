#pragma once
// Has this machine's GPUs tested by robustrun-probe (probe/tests.h): one test after the other, each
// below a shim and killed at its limit. Every outcome of the program becomes a result: a hang or a
// crash is a fault of that test, with the step that it was in. If the first test gives no result,
// for whatever reason, GpuFacts::error says why and no other test is run.
//
// Used on the loop. Owned by its caller: once it is destroyed, `done` is not called any more and
// the program is killed.

#include <functional>
#include <memory>

#include "agent/node/node_context.h"
#include "base/core/gpu_facts.h"

namespace robustrun::agent {

class GpuProbe {
 public:
  using Done = std::function<void(base::GpuFacts)>;

  // Runs the robustrun-probe in the folder of robustrun, else the one in the workers' PATH.
  // `test_max`: kTestMax, except in tests.
  static std::unique_ptr<GpuProbe> start(const NodeContext& node,
                                         std::chrono::milliseconds test_max, Done done);
  virtual ~GpuProbe() = default;
};

}  // namespace robustrun::agent
