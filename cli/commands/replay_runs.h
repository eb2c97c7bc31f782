#pragma once
// Several runs of robustrun at the same time, each on hosts of its own, each bounded in time: for
// `robustrun replay`. Blocks; everything that it starts has ended when it returns. Should this
// process be killed, its runs end by limits of their own (--time-limit).

#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/exit_status.h"
#include "base/core/result.h"
#include "cli/options/surroundings.h"
#include "cli/runs/follow.h"

namespace robustrun::cli {

struct ReplayRun {
  std::string name;                // of its log, within `folder`
  std::vector<std::string> words;  // of robustrun, without the program's own name
};

struct ReplayEnds {
  std::vector<base::ExitStatus> ends;  // by run; of one that outlived `limit`: SIGKILL
  int stopped_by = 0;                  // a signal that came meanwhile and ended all; 0: none
};

// `limit`: what outlives it is killed; the runs should end by themselves before. Output of a run
// goes to `folder`/NAME.log. Errors are whole sentences.
[[nodiscard]] base::Result<ReplayEnds> run_side_by_side(const std::vector<ReplayRun>& runs,
                                                        const std::string& folder,
                                                        base::Nanos limit,
                                                        const SignalReader& signals,
                                                        const Surroundings& around);

}  // namespace robustrun::cli
