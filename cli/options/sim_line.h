#pragma once
// What the user typed behind `robustrun sim`; texts as given. sim_plan.h says what they mean.

#include <optional>
#include <string>
#include <vector>

namespace robustrun::cli {

struct SimLine {
  std::optional<std::string> nodes, gpus_per_node, spares;
  std::optional<std::string> preset, failures;
  std::optional<std::string> step_time, start;
  std::optional<std::string> checkpoint_every, checkpoint_save, checkpoint_load;
  std::optional<std::string> residual, days, seeds, seed;
  std::optional<std::string> compare, policy, svg;
  std::vector<std::string> from_journal;
  std::optional<std::string> replay;
  bool json = false;
  bool help = false;
};

}  // namespace robustrun::cli
