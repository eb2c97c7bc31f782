#pragma once
// The rules of `robustrun doctor`: each makes one line from the facts. Pure.
//
// kWarn: runs work, but a feature is missing or a limit is low. kBad: runs will fail, or hardware
// of this machine does not work. kAbsent: optional and not here; such checks have no advice.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/doctor/facts.h"

namespace robustrun::cli {

enum class CheckState : std::uint8_t { kOk, kWarn, kBad, kAbsent };
[[nodiscard]] const char* to_string(CheckState state);  // "ok", "warn", "bad", "absent"
[[nodiscard]] std::optional<CheckState> check_state(std::string_view word);

struct Check {
  std::string name;
  CheckState state = CheckState::kOk;
  std::string found;
  std::string advice;  // what to do; empty: nothing
  // If `found` has values that vary, such as free memory: the text by which hosts are compared when
  // all is well. Empty: they are compared by `found`.
  std::string kind = {};
};

using CheckRule = Check (*)(const Facts&);

// system_checks.cpp
[[nodiscard]] Check check_kernel(const Facts& facts);
[[nodiscard]] Check check_cgroups(const Facts& facts);
[[nodiscard]] Check check_stacks(const Facts& facts);
[[nodiscard]] Check check_fuse(const Facts& facts);
[[nodiscard]] Check check_namespaces(const Facts& facts);
[[nodiscard]] Check check_memory(const Facts& facts);
[[nodiscard]] Check check_shared_memory(const Facts& facts);
[[nodiscard]] Check check_open_files(const Facts& facts);

// cluster_checks.cpp
[[nodiscard]] Check check_ssh(const Facts& facts);
[[nodiscard]] Check check_ssh_keys(const Facts& facts);
[[nodiscard]] Check check_slurm(const Facts& facts);
[[nodiscard]] Check check_munge(const Facts& facts);

// software_checks.cpp
[[nodiscard]] Check check_nvidia_driver(const Facts& facts);
[[nodiscard]] Check check_nvml(const Facts& facts);
[[nodiscard]] Check check_nccl(const Facts& facts);
[[nodiscard]] Check check_nccl_profiler(const Facts& facts);
[[nodiscard]] Check check_python(const Facts& facts);
[[nodiscard]] Check check_torch(const Facts& facts);
[[nodiscard]] Check check_parts(const Facts& facts);

// In the order in which they are shown.
[[nodiscard]] std::span<const CheckRule> check_rules();
[[nodiscard]] std::vector<Check> check_all(const Facts& facts);

}  // namespace robustrun::cli
