#pragma once
// Which run's journal `robustrun report` means.

#include <string>

#include "base/core/result.h"
#include "cli/surroundings.h"

namespace robustrun::cli {

// `run`: a run's directory, or its id below ./robustrun-runs (or where --compat=torchrun keeps
// them); empty: the newest. Returns the path of its journal. kNotFound.
[[nodiscard]] base::Result<std::string> find_journal(const std::string& run,
                                                     const Surroundings& around);

}  // namespace robustrun::cli
