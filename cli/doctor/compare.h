#pragma once
// How `robustrun doctor --hosts` shows the checks of several hosts. Checks that fail or differ are
// shown with their hosts; checks that are ok and alike everywhere only by name. Pure.

#include <span>
#include <string>

#include "cli/doctor/survey.h"

namespace robustrun::cli {

// A block for each check that warns, fails or differs, with a line for each outcome, the worst
// first, at most kDoctorGroupsShown. A line has the hosts as ranges, and advice. Below the blocks:
// the hosts that did not answer, the names of checks that are ok and alike everywhere, the names of
// checks that are absent everywhere, and the bad hosts.
[[nodiscard]] std::string survey_text(std::span<const HostChecks> hosts, int columns, bool colour);

// An array with the doctor_json() of each host, or {"host": …, "error": …}.
[[nodiscard]] std::string survey_json(std::span<const HostChecks> hosts);

// Whether a check is bad or the host did not answer.
[[nodiscard]] bool is_bad(const HostChecks& host);

}  // namespace robustrun::cli
