#pragma once
// The runs that calibrate `robustrun sim`: finds journals, reads them one after the other, and
// keeps of each only what the simulator needs.

#include <string>
#include <vector>

#include "base/core/result.h"
#include "cli/options/surroundings.h"
#include "simulator/run_record.h"

namespace robustrun::cli {

// Each of `paths` is a journal, a run's directory, a folder of run directories, or a run's id.
// Returns journals in ascending order, each once. kNotFound: a path leads to no journal; kLimit:
// more than kSimJournalsMax.
[[nodiscard]] base::Result<std::vector<std::string>> find_sim_journals(
    const std::vector<std::string>& paths, const Surroundings& around);

// Skips damaged or incomplete data of a journal, and runs without nodes, with a note on stderr.
// Errors name the file. kInvalidArgument: no journal holds a run.
[[nodiscard]] base::Result<std::vector<simulator::RunRecord>> read_sim_journals(
    const std::vector<std::string>& journals);

// The name of the run with this journal: its directory's name, or the file's if that is not
// "journal".
[[nodiscard]] std::string run_name(const std::string& journal);

}  // namespace robustrun::cli
