// Rules about GPUs, Python, torch and robustrun itself.

#include <fmt/format.h>

#include <vector>

#include "base/core/text.h"
#include "base/core/words.h"
#include "cli/doctor/checks.h"
#include "cli/doctor/versions.h"

namespace robustrun::cli {
namespace {

constexpr Release kPythonOldest{3, 8};
constexpr Release kTorchOldest{2, 1};
constexpr Release kTorchDispatcher{2, 2};  // --trace=dispatcher
constexpr Release kTorchRecorder{2, 8};    // the Flight Recorder sees gloo
constexpr Release kTorchTested{2, 13};     // all tests run with it
constexpr Release kNcclProfiler{2, 23};    // loads profiler plugins

// "535.104.05" of /proc/driver/nvidia/version.
std::string_view driver_version(std::string_view text) {
  for (const std::string_view word : base::split(text.substr(0, text.find('\n')), ' ')) {
    const bool is_number = word.find('.') != std::string_view::npos &&
                           word.find_first_not_of("0123456789.") == std::string_view::npos;
    if (is_number) return word;
  }
  return "of an unknown version";
}

// Within WSL the driver has no file in /proc.
bool has_driver(const Facts& facts) { return !facts.nvidia.empty() || facts.gpus.count > 0; }

}  // namespace

Check check_nvidia_driver(const Facts& facts) {
  if (!has_driver(facts)) return {"NVIDIA driver", CheckState::kAbsent, "not loaded", ""};
  const std::string_view version =
      facts.nvidia.empty() ? std::string_view(facts.gpus.driver) : driver_version(facts.nvidia);
  return {"NVIDIA driver", CheckState::kOk, base::printable(version), ""};
}

Check check_nvml(const Facts& facts) {
  const base::Gpus& gpus = facts.gpus;
  Check check{"NVML", CheckState::kOk, "", ""};
  if (!gpus.has_library) {
    check.found = "no libnvidia-ml.so.1";
    check.state = facts.nvidia.empty() ? CheckState::kAbsent : CheckState::kWarn;
    if (!facts.nvidia.empty()) {
      check.found += ": GPUs are not watched";
      check.advice = "install the driver's libraries, or start the container with them (--gpus)";
    }
  } else if (!gpus.error.empty()) {
    check.found = base::printable(gpus.error);
    check.state = facts.nvidia.empty() ? CheckState::kAbsent : CheckState::kBad;
    if (!facts.nvidia.empty()) {
      check.advice = "nvidia-smi; dmesg | grep Xid. A GPU may have failed: reset it, or reboot";
    }
  } else {
    check.found = base::counted(gpus.count, "GPU");
  }
  return check;
}

// That of torch's packages. A torch that was built with a NCCL of its own has none.
Check check_nccl(const Facts& facts) {
  const std::string& nccl = facts.python.nccl;
  Check check{"NCCL", CheckState::kOk, base::printable(nccl), ""};
  if (nccl.empty()) return {check.name, CheckState::kAbsent, "no package of Python has it", ""};
  const auto release = release_of(nccl);
  if (release && *release < kNcclProfiler) {
    check.state = CheckState::kWarn;
    check.found += ": older than 2.23, cannot be traced";
    check.advice = "use a torch with a newer NCCL; jobs run with this one, too";
  }
  return check;
}

Check check_nccl_profiler(const Facts& facts) {
  using Kind = agent::ProfilerChoice::Kind;
  const agent::ProfilerChoice& plugin = facts.nccl_profiler;
  Check check{"NCCL profiler", CheckState::kOk, "", ""};
  switch (plugin.kind) {
    case Kind::kNone:
      if (!has_driver(facts)) return {check.name, CheckState::kAbsent, "no GPU", ""};
      check.found = "free; robustrun's plugin takes it";
      break;
    case Kind::kNamed:
      check.found = plugin.source + "; robustrun's plugin loads it and shares";
      break;
    case Kind::kKept:
      check.state = CheckState::kWarn;
      check.found = fmt::format("{}: {}; NCCL is not traced", plugin.source, plugin.reason);
      break;
    case Kind::kOff:
      check.state = CheckState::kWarn;
      check.found = fmt::format("switched off: {}; NCCL is not traced", plugin.source);
      check.advice = "unset NCCL_PROFILER_PLUGIN";
      break;
  }
  return check;
}

Check check_python(const Facts& facts) {
  const PythonFacts& python = facts.python;
  Check check{"Python", CheckState::kOk, "", ""};
  if (python.interpreter.empty()) {
    check.state = CheckState::kBad;
    // Behind the semicolon is find_interpreter's own advice.
    const std::string_view cause = std::string_view(python.error).substr(0, python.error.find(';'));
    check.found = cause.empty() ? "no interpreter" : base::printable(cause);
    check.advice = "activate the environment that you train with, or set PYTHON_EXEC";
    return check;
  }
  const std::string path = base::printable(python.interpreter);
  const auto release = release_of(python.version);
  if (!release) {
    check.state = CheckState::kBad;
    check.found = python.answer.state == Answer::State::kHung
                      ? path + " does not answer"
                      : fmt::format("{} fails: {}", path, base::printable(python.answer.text));
    check.advice = "call it by hand; PYTHON_EXEC names another interpreter";
    return check;
  }
  check.found = fmt::format("{} ({})", base::printable(python.version), path);
  if (*release < kPythonOldest) {
    check.state = CheckState::kWarn;
    check.found += ": older than 3.8";
    check.advice = "use Python 3.8 or newer, or --inject=off: no progress, stacks or checkpoints";
  }
  return check;
}

Check check_torch(const Facts& facts) {
  const std::string& torch = facts.python.torch;
  Check check{"torch", CheckState::kOk, base::printable(torch), ""};
  if (facts.python.version.empty()) return {check.name, CheckState::kAbsent, "no Python", ""};
  if (torch.empty()) {
    check.state = CheckState::kWarn;
    check.found = "not installed for " + base::printable(facts.python.interpreter);
    check.advice = "activate the environment that has it, or set PYTHON_EXEC; pip install torch";
    return check;
  }
  const auto release = release_of(torch);
  if (!release || *release < kTorchOldest) {
    check.state = CheckState::kWarn;
    check.found += ": older than 2.1";
    check.advice = "jobs run; checkpoints and tracing need torch 2.1 or newer";
  } else if (*release < kTorchRecorder) {
    check.found += *release < kTorchDispatcher
                       ? ": all but tracing of gloo, which needs 2.2"
                       : ": all; tracing of gloo needs --trace=dispatcher before 2.8";
  } else if (*release > kTorchTested) {
    check.found += ": newer than 2.13, with which robustrun is tested";
  } else {
    check.found += ": all of robustrun";
  }
  return check;
}

Check check_parts(const Facts& facts) {
  Check check{"robustrun", CheckState::kOk, "", ""};
  std::vector<std::string> missing;
  for (const PartFact& part : facts.parts) {
    if (part.is_here) continue;
    missing.push_back(fmt::format("{} ({})", part.name, part.use));
    if (part.is_needed) check.state = CheckState::kBad;
  }
  check.found = fmt::format(ROBUSTRUN_VERSION " in {}", base::printable(facts.prefix));
  check.kind = ROBUSTRUN_VERSION;
  if (missing.empty()) return check;
  if (check.state == CheckState::kOk) check.state = CheckState::kWarn;
  check.found += ", without " + base::join(missing, ", ");
  check.advice = "install robustrun again; each of its packages holds all of it";
  return check;
}

}  // namespace robustrun::cli
