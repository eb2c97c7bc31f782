#pragma once
// Options of sbatch for the jobs of --replace, from those of the run's own job. Pure.

#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace robustrun::cli {

// `text`: options of sbatch, as --replace-with and --sbatch have them. Options that concern only
// the run's own job (its nodes, dependencies, arrays, output, mails, requeue) are left out;
// --exclude is kept, as "--exclude=LIST". The error is a cause without a subject.
[[nodiscard]] base::Result<std::vector<std::string>> replacement_options(std::string_view text);

}  // namespace robustrun::cli
