#pragma once
// How `robustrun doctor --hosts` asks a host for its checks. Both sides are the same build
// (launcher/ssh/errand.h), so request and answer have no version. Pure but for
// answer_doctor_request().
//
// The variables that name the interpreter and NCCL's profiler are the asking user's, as in a run
// that is started from here; all others are the host's own.

#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "cli/doctor/checks.h"
#include "cli/options/surroundings.h"

namespace robustrun::cli {

struct DoctorRequest {
  std::string build;  // of the asking process (base/core/build_id.h)
  std::vector<std::string> environment;  // NAME=VALUE; an empty value: the variable is not set
};

[[nodiscard]] DoctorRequest doctor_request(const Surroundings& around);
[[nodiscard]] std::string write_doctor_request(const DoctorRequest& request);
[[nodiscard]] base::Result<DoctorRequest> read_doctor_request(std::string_view text);
// Returns `around` with the request's variables in place of its own.
[[nodiscard]] Surroundings looked_around_for(const DoctorRequest& request, Surroundings around);

[[nodiscard]] std::string write_doctor_answer(const std::vector<Check>& checks);
// Makes every text safe to show.
[[nodiscard]] base::Result<std::vector<Check>> read_doctor_answer(std::string_view text);

// `robustrun agent --doctor`: reads a request from standard input and prints the answer. Returns
// the exit code, kExitOtherBuild for another build.
int answer_doctor_request();

}  // namespace robustrun::cli
