#include <doctest/doctest.h>

#include "cli/doctor/checks.h"
#include "cli/doctor/gather.h"

namespace robustrun::cli::software_checks_test {
namespace {

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

Facts with_driver() {
  Facts facts;
  facts.nvidia =
      "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\n"
      "GCC version:  gcc version 12.2.0\n";
  return facts;
}

Facts with_torch(const std::string& version) {
  Facts facts;
  facts.python.interpreter = "/usr/bin/python3";
  facts.python.version = "3.11.2";
  facts.python.torch = version;
  return facts;
}

}  // namespace

TEST_CASE("the driver's version is read from its file") {
  CHECK(check_nvidia_driver(Facts{}).state == CheckState::kAbsent);
  CHECK(check_nvidia_driver(with_driver()).found == "535.104.05");
  Facts open;
  open.nvidia = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build";
  CHECK(check_nvidia_driver(open).found == "550.54.15");
  open.nvidia = "garbage";
  CHECK(has(check_nvidia_driver(open).found, "unknown"));
  Facts by_nvml;
  by_nvml.gpus.has_library = true;
  by_nvml.gpus.count = 1;
  by_nvml.gpus.driver = "560.35";
  CHECK(check_nvidia_driver(by_nvml).found == "560.35");
}

TEST_CASE("NVML that fails is bad only where there is a driver") {
  Facts facts;
  CHECK(check_nvml(facts).state == CheckState::kAbsent);
  facts.gpus.has_library = true;
  facts.gpus.error = "Driver Not Loaded";
  CHECK(check_nvml(facts).state == CheckState::kAbsent);
  Facts with = with_driver();
  CHECK(check_nvml(with).state == CheckState::kWarn);
  with.gpus = facts.gpus;
  CHECK(check_nvml(with).state == CheckState::kBad);
  with.gpus.error.clear();
  with.gpus.count = 8;
  CHECK(check_nvml(with).found == "8 GPUs");
}

TEST_CASE("NCCL's version decides whether it can be traced") {
  Facts facts = with_torch("2.13.0");
  CHECK(check_nccl(facts).state == CheckState::kAbsent);
  facts.python.answer = {Answer::State::kAnswered, 0,
                         "robustrun-python 3.11.2\nrobustrun-torch 2.13.0\n"
                         "robustrun-nccl 2.29.3\n"};
  read_python_answer(facts.python);
  CHECK(check_nccl(facts).found == "2.29.3");
  CHECK(check_nccl(facts).state == CheckState::kOk);
  facts.python.nccl = "2.20.5";
  CHECK(check_nccl(facts).state == CheckState::kWarn);
  CHECK(has(check_nccl(facts).found, "cannot be traced"));
  facts.python.nccl = "unknown";
  CHECK(check_nccl(facts).state == CheckState::kOk);
}

TEST_CASE("NCCL has one slot for a profiler") {
  Facts facts = with_driver();
  CHECK(has(check_nccl_profiler(facts).found, "free"));
  using Kind = agent::ProfilerChoice::Kind;
  CHECK(check_nccl_profiler(facts).state == CheckState::kOk);
  facts.nccl_profiler = {Kind::kOff, "", "NCCL_PROFILER_PLUGIN=none", ""};
  CHECK(check_nccl_profiler(facts).state == CheckState::kWarn);
  facts.nccl_profiler = {Kind::kNamed, "inspector",
                         "NCCL_PROFILER_PLUGIN=inspector in /etc/nccl.conf", ""};
  CHECK(check_nccl_profiler(facts).found ==
        "NCCL_PROFILER_PLUGIN=inspector in /etc/nccl.conf; robustrun's plugin loads it and shares");
  CHECK(check_nccl_profiler(facts).state == CheckState::kOk);
  facts.nccl_profiler = {Kind::kKept, "", "NCCL_PROFILER_PLUGIN=STATIC_PLUGIN",
                         "it is part of the program"};
  CHECK(check_nccl_profiler(facts).state == CheckState::kWarn);
  CHECK(has(check_nccl_profiler(facts).found, "part of the program"));
  CHECK(check_nccl_profiler(Facts{}).state == CheckState::kAbsent);
}

TEST_CASE("an interpreter that fails, hangs or is too old") {
  Facts facts;
  facts.python.error = "cannot find a Python interpreter";
  CHECK(check_python(facts).state == CheckState::kBad);
  facts.python.interpreter = "/usr/bin/python3";
  facts.python.answer = {Answer::State::kHung, 0, ""};
  CHECK(check_python(facts).found == "/usr/bin/python3 does not answer");
  facts.python.answer = {Answer::State::kFailed, 1, "No module named 'encodings'"};
  CHECK(has(check_python(facts).found, "encodings"));
  facts.python.version = "3.6.8";
  CHECK(check_python(facts).state == CheckState::kWarn);
  facts.python.version = "3.11.2";
  CHECK(check_python(facts).state == CheckState::kOk);
}

TEST_CASE("the interpreter's answer gives versions, and torch may be missing") {
  PythonFacts python;
  python.answer = {Answer::State::kAnswered, 0,
                   "a site's greeting\nrobustrun-python 3.11.2\nrobustrun-torch 2.13.0+cpu"};
  read_python_answer(python);
  CHECK(python.version == "3.11.2");
  CHECK(python.torch == "2.13.0+cpu");
  python = {};
  python.answer = {Answer::State::kAnswered, 0, "robustrun-python 3.8.0"};
  read_python_answer(python);
  CHECK(python.version == "3.8.0");
  CHECK(python.torch.empty());
  python = {};
  python.answer = {Answer::State::kFailed, 1, "robustrun-python 3.8.0"};
  read_python_answer(python);
  CHECK(python.version.empty());
}

TEST_CASE("what robustrun supports depends on torch's version") {
  CHECK(check_torch(Facts{}).state == CheckState::kAbsent);
  CHECK(check_torch(with_torch("")).state == CheckState::kWarn);
  CHECK(check_torch(with_torch("1.13.1")).state == CheckState::kWarn);
  CHECK(has(check_torch(with_torch("2.1.2")).found, "needs 2.2"));
  CHECK(has(check_torch(with_torch("2.7.1+cu126")).found, "--trace=dispatcher"));
  CHECK(check_torch(with_torch("2.8.0")).found == "2.8.0: all of robustrun");
  CHECK(check_torch(with_torch("2.13.0+cpu")).found == "2.13.0+cpu: all of robustrun");
  CHECK(has(check_torch(with_torch("2.14.0")).found, "newer than 2.13"));
  CHECK(check_torch(with_torch("2.14.0")).state == CheckState::kOk);
}

TEST_CASE("missing parts are named, and the shim is needed") {
  Facts facts;
  facts.prefix = "/opt/rr";
  facts.parts = {{"robustrun-shim", "starts workers", true, true},
                 {"librobustrun.so", "checkpoints", false, true}};
  CHECK(check_parts(facts).state == CheckState::kOk);
  CHECK(has(check_parts(facts).found, "in /opt/rr"));
  facts.parts[1].is_here = false;
  CHECK(check_parts(facts).state == CheckState::kWarn);
  CHECK(has(check_parts(facts).found, "without librobustrun.so (checkpoints)"));
  facts.parts[0].is_here = false;
  CHECK(check_parts(facts).state == CheckState::kBad);
}

TEST_CASE("sizes in /proc/meminfo are KiB") {
  MemoryFacts memory;
  read_meminfo(
      "MemTotal:       16384000 kB\nMemFree: 1 kB\nMemAvailable:    8192000 kB\n"
      "HugePages_Total:       0\nMemTotal\n: kB\n",
      memory);
  CHECK(memory.total == std::uint64_t{16'384'000} * 1024);
  CHECK(memory.available == std::uint64_t{8'192'000} * 1024);
}

}  // namespace robustrun::cli::software_checks_test
