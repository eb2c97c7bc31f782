#pragma once
// How long saves took in the starts of a Slurm job before this one, from their journals.

#include <cstdint>
#include <string>

#include "supervisor/core/status/save_times.h"

namespace robustrun::supervisor {

struct EarlierSaves {
  SaveTimes times;
  std::string trouble;  // for people: which journals are damaged or cannot be read; empty: none
};

// `directory`: the run directory of this start, which comes after `requeues` requeues. `robustrun
// submit` names the directories slurm-JOB, slurm-JOB-1, slurm-JOB-2 and so on; from another name no
// earlier start is found. Reads at most the kEarlierStartsRead newest earlier starts. Journals that
// cannot be read are left out; a missing journal is no trouble. Blocking.
[[nodiscard]] EarlierSaves earlier_saves(const std::string& directory, std::uint32_t requeues);

}  // namespace robustrun::supervisor
