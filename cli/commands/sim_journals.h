#pragma once
// The runs that `robustrun sim` is fed with: finds journals, reads them one after the other, and
// keeps of each only what the simulator asks of it.

#include <string>
#include <vector>

#include "base/core/result.h"
#include "cli/options/surroundings.h"
#include "simulator/run_record.h"

namespace robustrun::cli {

// Journals behind each of `paths`: a journal, a run's directory, a folder of such, or a run's id.
// Ascending by path, each once. kNotFound, kLimit (kSimJournalsMax).
[[nodiscard]] base::Result<std::vector<std::string>> find_sim_journals(
    const std::vector<std::string>& paths, const Surroundings& around);

// Errors name the file, and the record where one cannot be read. What a journal has behind its
// last whole record is not used, and said on stderr; so is a run that tells nothing of its nodes.
[[nodiscard]] base::Result<std::vector<simulator::RunRecord>> read_sim_journals(
    const std::vector<std::string>& journals);

// How a run is called whose journal this is: its directory's name.
[[nodiscard]] std::string run_name(const std::string& journal);

}  // namespace robustrun::cli
