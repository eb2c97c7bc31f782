// A fake robustrun-probe: a machine with two GPUs whose tests succeed, except those that FAKE_PROBE
// names: "gemm=hang,copy=crash". behave() has all kinds.

#include <fmt/core.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "probe/result.h"

namespace {

using robustrun::base::GpuFacts;

std::string behaviour_of(const std::string& test) {
  const char* const all = std::getenv("FAKE_PROBE");
  const std::string list = fmt::format(",{},", all == nullptr ? "" : all);
  const std::size_t at = list.find("," + test + "=");
  if (at == std::string::npos) return "";
  const std::size_t begin = at + test.size() + 2;
  return list.substr(begin, list.find(',', begin) - begin);
}

GpuFacts healthy(const std::string& test) {
  GpuFacts facts;
  facts.models = {"NVIDIA Fake", "NVIDIA Fake"};
  for (const std::uint32_t gpu : {0U, 1U}) {
    if (test == "repeat")
      facts.sums.push_back({gpu, "bf16 GEMM", 0xABCD});
    else
      facts.figures.push_back({gpu, test, "GB/s", 100.0 + gpu});
  }
  return facts;
}

// Also under a sanitizer, which would change the exit.
void die_of_a_fault() {
  std::signal(SIGSEGV, SIG_DFL);
  std::raise(SIGSEGV);
}

// The final output; hangs and deaths do not return.
std::string behave(const std::string& how, const std::string& test) {
  GpuFacts facts = healthy(test);
  const std::string result = robustrun::probe::write_result(test, facts);
  if (how == "hang") {
    for (;;) ::pause();
  }
  if (how == "crash") die_of_a_fault();
  if (how == "loader") {
    fmt::print(stderr, "error while loading shared libraries: libcublas.so.13: cannot open\n");
    std::exit(127);
  }
  if (how == "nothing") return "";
  if (how == "garbage") return "{\"probe\":1,\"test\":\n";
  if (how == "other") return robustrun::probe::write_result("x" + test, facts);
  if (how == "noisy") return "NCCL version 2.28\n" + result + "NCCL INFO goodbye\n";
  if (how == "flood") return std::string(std::size_t{1} << 20, 'x') + "\n" + result;
  if (how == "stays") {  // its result is there, its end is not
    fmt::print("{}", result);
    std::fflush(stdout);
    for (;;) ::pause();
  }
  if (how == "none") facts = {.error = "cannot count the GPUs: no device"};
  if (how == "fewer") facts.models.pop_back();
  if (how == "memory") {
    facts.figures.pop_back();
    facts.faults = {"GPU 1: cannot take memory: out of memory"};
  }
  if (how == "nccl") {
    facts.figures.clear();
    facts.error = "cannot join the GPUs: unhandled system error";
  }
  return robustrun::probe::write_result(test, facts);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string test = argc == 2 ? argv[1] : "";
  const char* const journal = std::getenv("FAKE_PROBE_CALLS");
  if (std::FILE* file = journal != nullptr ? std::fopen(journal, "a") : nullptr) {
    fmt::print(file, "{}\n", test);
    std::fclose(file);
  }
  if (std::getenv("NCCL_DEBUG") != nullptr) fmt::print("{}", std::string(1 << 20, 'n') + "\n");
  const std::string how = behaviour_of(test);
  if (how != "loader") fmt::print(stderr, "step: {} on 2 GPUs\n", test);
  fmt::print("{}", behave(how, test));
  return 0;
}
