#pragma once
// How `robustrun doctor --hosts` asks a host for its checks. Both sides are the same build
// (launcher/ssh/errand.h), so request and answer have no version. Pure but for
// answer_doctor_request().
//
// The host's checks see what a run started from here would see there: the variables that name the
// interpreter and NCCL's profiler are the asking user's, all others the host's own.

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
// `around` with the request's variables in place of its own.
[[nodiscard]] Surroundings looked_around_for(const DoctorRequest& request, Surroundings around);

[[nodiscard]] std::string write_doctor_answer(const std::vector<Check>& checks);
// Every text is made safe to show.
[[nodiscard]] base::Result<std::vector<Check>> read_doctor_answer(std::string_view text);

// `robustrun agent --doctor`: reads a request from standard input and prints the answer. Returns
// the exit code, kExitOtherBuild for another build.
int answer_doctor_request();

}  // namespace robustrun::cli
