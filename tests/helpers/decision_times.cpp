// The core's time per event of a simulated job of NODES machines, under the shipped policy and
// Llama 3's failures: the limit of one supervisor. Prints one JSON object, with times in
// milliseconds.
//
//   decision_times NODES DAYS SEED
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/core/clock.h"
#include "cli/tables/fault_file.h"
#include "cli/tables/policy_file.h"
#include "simulator/own_run.h"

namespace robustrun::simulator {
namespace {

constexpr std::uint32_t kSpares = 64;

JobTerms terms_of(std::uint32_t nodes, double days) {
  JobTerms job;
  job.nodes = nodes;
  job.spares = kSpares;
  job.duration = from_seconds(days * 24 * 3600);
  job.step.value = seconds(6);
  job.start.value = seconds(30);
  job.load.value = seconds(10);
  job.checkpoint_every.value = job.step.value;
  return job;
}

// Times of some events, ascending once sorted.
class Taken {
 public:
  void add(Nanos time) {
    times_.push_back(static_cast<float>(time.count()) / 1e6F);
    slow_ += time > std::chrono::milliseconds(1) ? 1 : 0;
  }
  void print(const char* name) {
    std::ranges::sort(times_);
    std::printf(
        "\"%s\": {\"events\": %zu, \"p50_ms\": %.6f, \"p99_ms\": %.6f, "
        "\"max_ms\": %.3f, \"over_1_ms\": %zu}, ",
        name, times_.size(), quantile(0.5), quantile(0.99), quantile(1), slow_);
  }

 private:
  [[nodiscard]] double quantile(double share) const {
    if (times_.empty()) return 0;
    return times_[static_cast<std::size_t>(share * static_cast<double>(times_.size() - 1))];
  }
  std::vector<float> times_;
  std::size_t slow_ = 0;
};

int measure(std::uint32_t nodes, double days, std::uint64_t seed) {
  OwnPolicy own;
  own.faults = cli::parse_faults(cli::built_in_faults(), "faults.toml").value();
  own.policy = cli::parse_policy(cli::built_in_policy(), "policy.toml").value();
  const JobTerms job = terms_of(nodes, days);
  const std::vector<TracedFault> trace =
      make_trace(*preset("llama3"), nodes + kSpares, job.duration, seed);
  const base::SystemClock clock;
  Taken all, answered;  // most events are one of many of their kind, and ask for nothing
  const Timeline line =
      run_own(own, job, trace, seed, [&](supervisor::Job& core, const supervisor::Event& event) {
        const Nanos before = clock.now();
        std::vector<supervisor::Action> actions = core.handle(event);
        const Nanos time = clock.now() - before;
        all.add(time);
        if (!actions.empty()) answered.add(time);
        return actions;
      });
  std::printf("{");
  all.print("all");
  answered.print("answered");
  std::printf("\"nodes\": %u, \"incidents\": %llu}\n", nodes,
              static_cast<unsigned long long>(line.incidents));
  return 0;
}

}  // namespace
}  // namespace robustrun::simulator

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  return robustrun::simulator::measure(static_cast<std::uint32_t>(std::atoi(argv[1])),
                                       std::atof(argv[2]),
                                       static_cast<std::uint64_t>(std::atoll(argv[3])));
}
