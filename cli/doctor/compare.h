#pragma once
// How `robustrun doctor --hosts` shows the checks of several hosts: what fails or differs is shown
// for each host; of what is ok and alike everywhere, only the names. Pure.

#include <span>
#include <string>

#include "cli/doctor/survey.h"

namespace robustrun::cli {

// A block for each check that warns, fails or differs, with a line for each outcome: the worst
// first, with advice, and the hosts as ranges. Below them: the hosts that did not answer; the names
// of checks that are ok and alike everywhere; the names of those that no host has; how many hosts
// are bad.
[[nodiscard]] std::string survey_text(std::span<const HostChecks> hosts, int columns, bool colour);

// An array: for each host what doctor_json() prints, or {"host": …, "error": …}.
[[nodiscard]] std::string survey_json(std::span<const HostChecks> hosts);

// Something is bad on a host, or a host did not answer.
[[nodiscard]] bool is_bad(const HostChecks& host);

}  // namespace robustrun::cli
