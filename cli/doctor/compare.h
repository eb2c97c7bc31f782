#pragma once
// How `robustrun doctor --hosts` shows the checks of several hosts: what fails or differs, host by
// host, and by name what is alike. Pure.

#include <span>
#include <string>

#include "cli/doctor/survey.h"

namespace robustrun::cli {

// A block per check that is neither alike and ok on every host nor absent from all: in it what is
// bad first, with advice, hosts as ranges. Then hosts without an answer, what is alike and ok, what
// no host has, and the count.
[[nodiscard]] std::string survey_text(std::span<const HostChecks> hosts, int columns, bool colour);

// An array: for each host what doctor_json() prints, or {"host": …, "error": …}.
[[nodiscard]] std::string survey_json(std::span<const HostChecks> hosts);

// Something is bad on a host, or a host did not answer.
[[nodiscard]] bool is_bad(const HostChecks& host);

}  // namespace robustrun::cli
