#pragma once
// --dry-run: what would be started where. Pure.

#include <string>

#include "base/core/result.h"
#include "cli/plan/plan.h"

namespace robustrun::cli {

// Binding of the workers of one node.
struct NodeCpus {
  std::vector<std::string> bindings;  // by local rank, "0-3,8"; empty: no worker is bound
  unsigned usable = 1;                // processors of all workers together, for --omp=auto
  std::vector<std::string> memory{};  // by local rank, "bind:0-1"; empty: no policy
};

// Values that are known only at the start are in angle brackets; secrets are hidden.
[[nodiscard]] base::Result<std::string> dry_run_text(const RunPlan& plan, const NodeCpus& cpus);

}  // namespace robustrun::cli
