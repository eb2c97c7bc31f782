#pragma once
// Each start of one Slurm job has a run directory of its own: `robustrun submit` names the first
// slurm-JOB, and those after requeues slurm-JOB-1, slurm-JOB-2 and so on. Together the starts are
// the run that the user submitted.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/runs/run_index.h"
#include "supervisor/core/report/report.h"

namespace robustrun::cli {

// "slurm-4711" of "slurm-4711-2"; any other name is a chain of its own.
[[nodiscard]] std::string chain_id(std::string_view run_id);

// Runs of one chain, in one folder.
struct RunChain {
  std::string id;  // chain_id() of the starts; of a single start, its own id
  std::vector<KnownRun> starts;  // not empty; the first one first
};

// The chains of `runs`, in the order of the first run of each.
[[nodiscard]] std::vector<RunChain> chains_of(const std::vector<KnownRun>& runs);

// The chain of the run in this directory, from the folder that holds it. Blocking.
[[nodiscard]] RunChain chain_of(const std::string& run_directory);

// A row of consecutive starts that asked to be queued again although no worker had started in them.
// It ends with a given start.
struct VainStarts {
  std::uint32_t count = 0;  // at most kVainStartsMax
  std::string reason;  // why the newest of them ended
};
// The row that ends with the run in this directory. Going back, a start that was stopped (by a
// preemption, say) breaks it off, and so does a journal that cannot be read. Blocking.
[[nodiscard]] VainStarts vain_starts(const std::string& run_directory);

// The starts before the one in this directory, in order. Blocking; unreadable journals are left
// out.
[[nodiscard]] std::vector<supervisor::EarlierStart> earlier_starts(
    const std::string& run_directory);

}  // namespace robustrun::cli
