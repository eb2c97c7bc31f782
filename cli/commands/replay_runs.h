#pragma once
// Several runs of robustrun at the same time, each on its own hosts and bounded in time, for
// `robustrun replay`. Blocks until all of them have ended. If this process is killed, they end by
// their own --time-limit.

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
  std::string name;                // its log is `folder`/NAME.log
  std::vector<std::string> words;  // arguments of robustrun
  std::vector<std::string> environment;
};

struct ReplayEnds {
  std::vector<base::ExitStatus> ends;  // by run; SIGKILL for a run that exceeded `limit`
  int stopped_by = 0;                  // the signal that ended all runs; 0: none
};

// Runs should end before `limit`; those that do not are killed. Errors are whole sentences.
[[nodiscard]] base::Result<ReplayEnds> run_side_by_side(const std::vector<ReplayRun>& runs,
                                                        const std::string& folder,
                                                        base::Nanos limit,
                                                        const SignalReader& signals,
                                                        const Surroundings& around);

}  // namespace robustrun::cli
