#pragma once
// How long saves took in the starts of a Slurm job before this one, from their journals.

#include <cstdint>
#include <string>

#include "supervisor/core/status/save_times.h"

namespace robustrun::supervisor {

struct EarlierSaves {
  SaveTimes times;
  std::string trouble;  // the journals that are damaged or cannot be read, for people; empty: none
};

// `directory`: the run directory of this start, the one after `requeues` requeues. `robustrun
// submit` has made its name: slurm-JOB-3 follows slurm-JOB-2, slurm-JOB-1 and slurm-JOB. With
// another name no earlier start is known. Blocking; journals that cannot be read are left out, and
// only the newest kEarlierStartsRead starts are looked for. A start that has left no journal is no
// trouble.
[[nodiscard]] EarlierSaves earlier_saves(const std::string& directory, std::uint32_t requeues);

}  // namespace robustrun::supervisor
