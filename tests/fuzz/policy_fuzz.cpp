// A policy in TOML: any bytes become a policy or an error that names the file; and any policy can
// be followed, for any number of faults.
// Seeds: configs

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cli/tables/policy_file.h"
#include "cli/text/policy_text.h"
#include "supervisor/core/fault/escalation.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace core = robustrun::supervisor;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto policy = robustrun::cli::parse_policy(text, "fuzz.toml");
  if (!policy) {
    if (!policy.error().what.starts_with("fuzz.toml:")) std::abort();
    return 0;
  }
  if (robustrun::cli::policy_text(*policy).empty()) std::abort();
  core::Escalation escalation;
  for (std::uint8_t i = 0; i < 64; ++i) {
    const auto choice = escalation.choose(*policy, static_cast<core::FirstAction>(i % 6), {});
    if (static_cast<std::size_t>(choice.step) >= core::kSteps) std::abort();
    escalation.take(choice.step);
  }
  return 0;
}
