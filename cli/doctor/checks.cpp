#include "cli/doctor/checks.h"

#include <array>

namespace robustrun::cli {
namespace {

constexpr std::array kCheckRules = {
    check_kernel,        check_cgroups,       check_stacks,        check_fuse,  check_namespaces,
    check_memory,        check_shared_memory, check_open_files,    check_ssh,   check_ssh_keys,
    check_slurm,         check_munge,         check_nvidia_driver, check_nvml,  check_nccl,
    check_nccl_profiler, check_python,        check_torch,         check_parts,
};

}  // namespace

const char* to_string(CheckState state) {
  switch (state) {
    case CheckState::kOk: return "ok";
    case CheckState::kWarn: return "warn";
    case CheckState::kBad: return "bad";
    case CheckState::kAbsent: return "absent";
  }
  return "";
}

std::optional<CheckState> check_state(std::string_view word) {
  for (const CheckState state :
       {CheckState::kOk, CheckState::kWarn, CheckState::kBad, CheckState::kAbsent}) {
    if (word == to_string(state)) return state;
  }
  return std::nullopt;
}

std::span<const CheckRule> check_rules() { return kCheckRules; }

std::vector<Check> check_all(const Facts& facts) {
  std::vector<Check> checks;
  for (const CheckRule rule : check_rules()) checks.push_back(rule(facts));
  return checks;
}

}  // namespace robustrun::cli
