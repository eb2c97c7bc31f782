#pragma once
// Interprets srun's error lines about agents. Pure.
//
// Wording of Slurm 22.05 to 25.11: "srun: error: n[1,3]: tasks 0,2: Killed", "… Task launch for
// StepId=7.0 failed on node n8: …", "… Node failure on n2".

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace robustrun::launcher {

struct SrunNews {
  std::vector<std::string> nodes;   // nodes whose agents have ended or cannot be started
  std::string what;                 // in srun's words, without its "srun: error: "
  // false: an agent could not be started, and srun ends the whole step
  bool started = true;
  bool node_answers = true;
  // numbers of the tasks on `nodes`, in the same order; empty: unknown
  std::vector<std::uint32_t> tasks{};
  int exit_code = 0;  // exit code of these tasks; 0: unknown, or they died by a signal
};

// The last line of an agent's log that is not blank, printable; empty: no such line.
[[nodiscard]] std::string last_log_line(std::string_view log);

// nullopt: the line names no node.
[[nodiscard]] std::optional<SrunNews> read_srun_line(std::string_view line);

// Whether Slurm refuses the whole step, because nodes or the allocation itself are missing.
[[nodiscard]] bool is_refusal(std::string_view line);

// The cause of srun's end in one line: the last errors in `lines`, without those that
// read_srun_line() understands.
[[nodiscard]] std::string srun_errors(const std::vector<std::string>& lines);

}  // namespace robustrun::launcher
