#pragma once
// What a run does about faults, in sentences: `robustrun policy`. Pure.

#include <string>

#include "supervisor/core/types/policy.h"

namespace robustrun::cli {

[[nodiscard]] std::string policy_text(const supervisor::Policy& policy);

}  // namespace robustrun::cli
