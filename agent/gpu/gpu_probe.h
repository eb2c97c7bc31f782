#pragma once
// Tests this machine's GPUs with robustrun-probe (probe/tests.h): one test after the other, each
// below a shim and killed at its time limit. A hang or a crash counts as a fault of that test, and
// the fault names the step in which it happened. If the first test gives no result, GpuFacts::error
// says why and no other test is run.
//
// Used on the loop. Owned by its caller: once this object is destroyed, `done` is not called any
// more and the program is killed.

#include <functional>
#include <memory>

#include "agent/node/node_context.h"
#include "base/core/gpu_facts.h"

namespace robustrun::agent {

class GpuProbe {
 public:
  using Done = std::function<void(base::GpuFacts)>;

  // Runs the robustrun-probe in the folder of robustrun, otherwise the one in the workers' PATH.
  // `test_max`: time limit of each test, probe::kTestMax. `done` may destroy this object.
  static std::unique_ptr<GpuProbe> start(const NodeContext& node,
                                         std::chrono::milliseconds test_max, Done done);
  virtual ~GpuProbe() = default;
};

}  // namespace robustrun::agent
