#include "cli/doctor/request.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/core/build_id.h"
#include "base/core/text.h"
#include "base/io/fd.h"
#include "cli/doctor/gather.h"
#include "cli/options/limits.h"
#include "cli/plan/program.h"
#include "cli/text/terminal.h"
#include "launcher/limits.h"
#include "supervisor/core/types/exit_code.h"
#include "tracer/document.h"

namespace robustrun::cli {
namespace {

constexpr const char* kInterpreterVariable = "PYTHON_EXEC";
constexpr std::array kAskersVariables = {kInterpreterVariable, "VIRTUAL_ENV",
                                         "NCCL_PROFILER_PLUGIN"};

std::string_view variable_name(std::string_view entry) { return entry.substr(0, entry.find('=')); }

base::Result<std::string> read_input() {
  std::string text;
  std::array<char, 4096> bytes{};
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::fail_errno("cannot read standard input", errno);
    if (got == 0) return text;
    text.append(bytes.data(), static_cast<std::size_t>(got));
    if (text.size() > kDoctorRequestMax) {
      return base::fail(base::Errc::kLimit, "the request is too long");
    }
  }
}

}  // namespace

DoctorRequest doctor_request(const Surroundings& around) {
  DoctorRequest request;
  request.build = base::build_id();
  for (const std::string name : kAskersVariables) {
    request.environment.push_back(name + "=" + around.variable(name).value_or(""));
  }
  // A run gives all hosts the interpreter that is found here.
  if (const auto found = find_interpreter(around)) {
    request.environment.front() = fmt::format("{}={}", kInterpreterVariable, *found);
  }
  return request;
}

// Every text ends with a zero byte: no variable contains one.
std::string write_doctor_request(const DoctorRequest& request) {
  std::string text = request.build + '\0';
  for (const std::string& entry : request.environment) text += entry + '\0';
  return text;
}

base::Result<DoctorRequest> read_doctor_request(std::string_view text) {
  if (!text.ends_with('\0')) {
    return base::fail(base::Errc::kCorrupt, "cannot read the request: it is cut");
  }
  text.remove_suffix(1);
  DoctorRequest request;
  const auto texts = base::split(text, '\0');
  request.build = texts.front();
  for (const std::string_view entry : std::span(texts).subspan(1)) {
    const auto sign = entry.find('=');
    if (sign == 0 || sign == std::string_view::npos) {
      return base::fail(base::Errc::kCorrupt, "cannot read the request: it has no variables");
    }
    request.environment.emplace_back(entry);
  }
  return request;
}

Surroundings looked_around_for(const DoctorRequest& request, Surroundings around) {
  for (const std::string& entry : request.environment) {
    std::erase_if(around.environment, [&](const std::string& own) {
      return variable_name(own) == variable_name(entry);
    });
    if (!entry.ends_with('=')) around.environment.push_back(entry);
  }
  return around;
}

std::string write_doctor_answer(const std::vector<Check>& checks) {
  std::string list;
  for (const Check& check : checks) {
    list += fmt::format(R"({}{{"name":{},"state":"{}","found":{},"advice":{},"kind":{}}})",
                        list.empty() ? "" : ",", base::json_string(check.name),
                        to_string(check.state), base::json_string(check.found),
                        base::json_string(check.advice), base::json_string(check.kind));
  }
  return "[" + list + "]\n";
}

base::Result<std::vector<Check>> read_doctor_answer(std::string_view text) {
  const auto corrupt = [] {
    return base::fail(base::Errc::kCorrupt, "its answer is not a list of checks");
  };
  const auto document = tracer::read_json(text);
  if (!document) return corrupt();
  const tracer::Value list = document->root();
  if (!list.is_list() || list.size() == 0 || list.size() > kDoctorChecksMax) return corrupt();
  std::vector<Check> checks;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const tracer::Value one = list.at(i);
    const auto state = check_state(one["state"].text().value_or(""));
    if (!state || !one["name"].text()) return corrupt();
    const auto member = [&one](std::string_view name) {
      return base::printable(one[name].text().value_or(""));
    };
    checks.push_back({member("name"), *state, member("found"), member("advice"), member("kind")});
  }
  return checks;
}

int answer_doctor_request() {
  const auto fail_with = [](int code, std::string_view what) {
    const std::string line = fmt::format("robustrun agent: {}\n", what);
    static_cast<void>(base::write_all(STDERR_FILENO, line));
    return code;
  };
  const auto text = read_input();
  if (!text) return fail_with(supervisor::kExitFailure, text.error().what);
  const auto request = read_doctor_request(*text);
  if (!request) return fail_with(supervisor::kExitFailure, request.error().what);
  if (request->build != base::build_id()) {
    return fail_with(launcher::kExitOtherBuild, "another build than the asking one");
  }
  const Surroundings around = looked_around_for(*request, look_around("robustrun", this_machine()));
  print(write_doctor_answer(check_all(gather_facts(around))));
  return supervisor::kExitSuccess;
}

}  // namespace robustrun::cli
