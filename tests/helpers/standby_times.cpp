// The pause of a simulated job when machines die together, from their eviction until all workers
// run again, with limited standbys and with one for each machine: ByteRobust's scheduling time.
// Prints one JSON object, with times in seconds.
//
//   standby_times NODES RESCHEDULE_S MOST DIE...
//
// NODES machines train. The number of standbys follows ByteRobust's rule for its 0.0012 failures
// per machine and day; in the second row it is MOST. A machine without a standby is replaced after
// RESCHEDULE_S.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "cli/tables/fault_file.h"
#include "cli/tables/policy_file.h"
#include "simulator/closed_form.h"
#include "simulator/own_run.h"

namespace robustrun::simulator {
namespace {

constexpr double kDailyFailures = 0.0012;

double stands_still(const OwnPolicy& own, std::uint32_t nodes, std::uint32_t standbys,
                    std::uint32_t die, Nanos reschedule) {
  JobTerms job;
  job.nodes = nodes;
  job.spares = standbys;
  job.duration = hours(6);
  job.step.value = seconds(6);
  job.checkpoint_every.value = job.step.value;
  std::vector<TracedFault> trace;
  for (std::uint32_t i = 0; i < die; ++i) {
    trace.push_back({hours(1), i, FaultKind::kMachine, true, reschedule});
  }
  const Timeline line = run_own(own, job, trace, 1);
  Nanos paused{};
  for (const Phase phase : {Phase::kCulprit, Phase::kReplace, Phase::kWaiting, Phase::kRestart}) {
    paused += line.pauses[static_cast<std::size_t>(phase)];
  }
  return in_seconds(paused);
}

int measure(int argc, char** argv) {
  OwnPolicy own;
  own.faults = cli::parse_faults(cli::built_in_faults(), "faults.toml").value();
  own.policy = cli::parse_policy(cli::built_in_policy(), "policy.toml").value();
  const auto nodes = static_cast<std::uint32_t>(std::atoi(argv[1]));
  const Nanos reschedule = from_seconds(std::atof(argv[2]));
  const std::uint32_t by_rule = standbys(nodes, kDailyFailures);
  std::printf("{\"standbys\": %u", by_rule);
  for (const bool is_oracle : {false, true}) {
    std::printf(", \"%s\": [", is_oracle ? "oracle" : "ours");
    for (int i = 4; i < argc; ++i) {
      const auto die = static_cast<std::uint32_t>(std::atoi(argv[i]));
      const auto spares = is_oracle ? static_cast<std::uint32_t>(std::atoi(argv[3])) : by_rule;
      std::printf("%s%.3f", i == 4 ? "" : ", ", stands_still(own, nodes, spares, die, reschedule));
    }
    std::printf("]");
  }
  std::printf("}\n");
  return 0;
}

}  // namespace
}  // namespace robustrun::simulator

int main(int argc, char** argv) { return argc < 5 ? 2 : robustrun::simulator::measure(argc, argv); }
