#pragma once
// What srun's error lines say about agents. Pure.
//
// The words are those of Slurm 22.05 to 25.11: "srun: error: n[1,3]: tasks 0,2: Killed",
// "… Task launch for StepId=7.0 failed on node n8: …", "… Node failure on n2".

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace robustrun::launcher {

struct SrunNews {
  std::vector<std::string> nodes;   // whose agents have ended, or cannot be started
  std::string what;                 // in srun's words, without its "srun: error: "
  bool started = true;              // false: its launch failed, and srun ends the whole step
  bool node_answers = true;
};

// nullopt: the line is about no node in particular.
[[nodiscard]] std::optional<SrunNews> read_srun_line(std::string_view line);

// Slurm starts nothing of what was asked for: nodes are missing, or the allocation itself.
[[nodiscard]] bool is_refusal(std::string_view line);

// What is wrong, in one line: the last errors of the log, without what read_srun_line() takes.
[[nodiscard]] std::string srun_errors(const std::vector<std::string>& lines);

}  // namespace robustrun::launcher
