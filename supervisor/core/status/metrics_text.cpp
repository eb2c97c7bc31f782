#include "supervisor/core/status/metrics_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <initializer_list>
#include <set>
#include <utility>

#include "base/core/text.h"
#include "supervisor/core/types/rule.h"

namespace robustrun::supervisor {
namespace {

using Label = std::pair<std::string_view, std::string_view>;
using Labels = std::initializer_list<Label>;

double metric_seconds(base::Nanos time) { return std::chrono::duration<double>(time).count(); }

// Every sample has the run's id, so that the files of several runs on one machine do not collide.
class Exposition {
 public:
  explicit Exposition(std::string_view run_id) : run_label_("run_id=\"" + label_text(run_id)) {}

  Exposition& family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    text_ += fmt::format("# HELP robustrun_{0} {1}\n# TYPE robustrun_{0} {2}\n", name, help, type);
    return *this;
  }
  template <std::integral T>
  Exposition& sample(T value, Labels labels = {}) {
    return add(fmt::format("{}", value), labels);
  }
  Exposition& sample(double value, Labels labels = {}) { return add(number_text(value), labels); }
  // A family of one sample.
  void gauge(std::string_view name, std::string_view help, auto value) {
    family(name, "gauge", help).sample(value);
  }
  void counter(std::string_view name, std::string_view help, std::uint64_t value) {
    family(name, "counter", help).sample(value);
  }
  std::string take() { return std::move(text_); }

 private:
  Exposition& add(const std::string& value, Labels labels) {
    text_ += fmt::format("robustrun_{}{{{}\"", name_, run_label_);
    for (const auto& [name, content] : labels) {
      text_ += fmt::format(",{}=\"{}\"", name, label_text(content));
    }
    text_ += "} " + value + "\n";
    return *this;
  }

  std::string run_label_;
  std::string name_;
  std::string text_;
};

void put_run(Exposition& out, const MetricsFacts& facts) {
  const RunStatus& run = facts.status;
  out.family("build_info", "gauge", "The robustrun that supervises the run; always 1.")
      .sample(1, {{"version", run.version}, {"build", facts.build}});
  out.family("run_info", "gauge", "What is run, and where its supervisor is; always 1.")
      .sample(1, {{"program", run.program}, {"host", run.host}});
  out.family("run_state", "gauge", "1 for the state that the run is in, 0 for the others.");
  for (std::size_t i = 0; i < kJobStates; ++i) {
    const auto state = static_cast<JobState>(i);
    if (state == JobState::kIdle) continue;
    out.sample(state == run.state ? 1 : 0, {{"state", to_string(state)}});
  }
  out.gauge("run_start_time_seconds", "When the run began, as Unix time.",
            metric_seconds(run.started));
  out.gauge("run_duration_seconds", "Time since the run began.", metric_seconds(run.uptime));
  if (run.exit_code) {
    out.gauge("run_exit_code", "Exit code of the run; only of one that has ended.", *run.exit_code);
  }
  out.gauge("attempt", "Number of the attempt that goes on, from 0.", run.attempt);
  out.counter("supervisors_total", "Supervisors that the run has had.", facts.totals.supervisors);
}

void put_rules(Exposition& out, std::string_view label,
               const std::map<Rule, std::uint64_t>& counts) {
  for (const auto& [rule, count] : counts) out.sample(count, {{label, rule_word(rule)}});
}

// Rules without a count are exported as 0, so that a rate sees their first one.
std::map<Rule, std::uint64_t> with_zeros(std::map<Rule, std::uint64_t> counts, bool with_growth) {
  for (const Rule rule : {Rule::kWorkerFailed, Rule::kStartFailed, Rule::kAgentLost,
                          Rule::kPortConflict, Rule::kHangConvicted, Rule::kMismatch}) {
    counts.try_emplace(rule, 0);
  }
  if (with_growth) counts.try_emplace(Rule::kGroupGrew, 0);
  return counts;
}

void put_failures(Exposition& out, const RunTotals& totals) {
  out.family("incidents_total", "counter", "What went wrong, by the rule that decided so.");
  put_rules(out, "rule", with_zeros(totals.incidents, false));
  out.family("restarts_total", "counter", "Restarts of the workers, by what caused them.");
  put_rules(out, "cause", with_zeros(totals.restarts, true));
  out.counter("hangs_suspected_total", "Times that workers seemed to wait for one of them.",
              totals.hangs_suspected);
  out.counter("hangs_convicted_total", "Hangs that were acted upon.", totals.hangs_convicted);
  out.counter("hangs_passed_total", "Suspected hangs that came right by themselves.",
              totals.hangs_passed);
  out.counter("agents_lost_total", "Times that a node's agent was lost.", totals.agents_lost);
  out.counter("faults_injected_total", "Injected faults (robustrun inject).",
              totals.faults_injected);
}

void put_group(Exposition& out, const MetricsFacts& facts) {
  out.family("nodes", "gauge", "Nodes by the state of their agents, spares included.");
  for (std::uint8_t i = 0; i < kAgentStatuses; ++i) {
    const auto state = static_cast<AgentStatus>(i);
    out.sample(std::ranges::count(facts.status.nodes, state, &NodeStatus::agent),
               {{"state", to_string(state)}});
  }
  out.gauge("spare_nodes", "Nodes that are ready and hold no rank.",
            std::ranges::count_if(facts.status.nodes, &NodeStatus::is_spare));
  out.family("workers", "gauge", "Workers of the attempt that goes on, by their state.");
  for (std::size_t i = 0; i < kWorkerStages; ++i) {
    out.sample(facts.totals.workers[i], {{"state", to_string(static_cast<WorkerStage>(i))}});
  }
}

void put_progress(Exposition& out, const MetricsFacts& facts) {
  const RunStatus& run = facts.status;
  out.counter("steps_total",
              "Training steps that every rank has done, those done again after a failure included.",
              facts.steps_total);
  out.gauge("attempt_steps", "Training steps that every rank has done in this attempt.", run.steps);
  if (run.step) out.gauge("step", "The script's own number of its newest step.", *run.step);
  if (run.steps_per_second) {
    out.gauge("steps_per_second", "Speed of the last 30 s.", *run.steps_per_second);
  }
  if (run.stepped) {
    out.gauge("last_step_age_seconds", "Time since the last step.", metric_seconds(*run.stepped));
  }
  const DataWaits data = data_waits_of(run);
  if (data.waited > base::Nanos{}) {
    out.gauge("data_wait_seconds",
              "How long the rank that waited longest for training data has waited in this attempt.",
              metric_seconds(data.waited));
    out.gauge("data_waiting_ranks", "Ranks that have waited for their next batch for 2 s or more.",
              data.waiting_ranks);
  }
  if (data.skipped > 0) {
    out.gauge("data_skipped_records", "Records of text that the training skips (max_skips).",
              data.skipped);
  }
  if (run.metrics.empty()) return;
  out.family("job_metric", "gauge", "Metrics that rank 0 passes to robustrun.step, newest value.");
  std::set<std::string> names;  // two samples of one name would spoil the whole page
  for (const wire::Metric& metric : run.metrics) {
    if (!names.insert(label_text(metric.name)).second) continue;
    out.sample(metric.value, {{"name", metric.name}});
  }
}

// So that no size is too large to be rounded up.
constexpr std::uint64_t kSizeMax = std::uint64_t{1} << 62U;

// By size class, so that sizes that vary a little are one series.
void put_bandwidth(Exposition& out, const RunStatus& run) {
  if (run.bandwidth.empty()) return;
  const auto put = [&](double BandwidthRow::* value) {
    std::set<std::string> seen;  // two samples with the same labels would spoil the whole page
    for (const BandwidthRow& row : run.bandwidth) {
      const std::string members = fmt::format("{}", row.members);
      const std::string first = fmt::format("{}", row.first_rank);
      const std::string size = fmt::format("{}", std::bit_ceil(std::min(row.size_bytes, kSizeMax)));
      const std::string group = label_text(row.group);
      if (row.*value <= 0) continue;
      const auto labels = fmt::format("{}\"{} {}{}{}", group, first, members, row.operation, size);
      if (!seen.insert(labels).second) continue;
      out.sample(row.*value, {{"group", row.group},
                              {"first_rank", first},
                              {"members", members},
                              {"operation", row.operation},
                              {"size", size}});
    }
  };
  out.family("collective_algorithm_bytes_per_second", "gauge",
             "Size of the collectives of a group over their time, as in nccl-tests.");
  put(&BandwidthRow::algorithm_bytes_per_s);
  out.family("collective_bus_bytes_per_second", "gauge",
             "The same, times the factor of the operation and the group's size.");
  put(&BandwidthRow::bus_bytes_per_s);
}

void put_time(Exposition& out, const TimeReport& time) {
  out.family("time_seconds", "gauge",
             "What the run's time was spent with; together its duration. What turns out to have "
             "been lost later moves from productive to another one.");
  for (std::uint8_t i = 0; i < kSpentKinds; ++i) {
    const auto spent = static_cast<Spent>(i);
    const auto share = std::ranges::find(time.shares, spent, &TimeShare::spent);
    out.sample(share == time.shares.end() ? 0.0 : metric_seconds(share->duration),
               {{"spent", to_string(spent)}});
  }
  if (time.ettr) {
    out.gauge("effective_training_time_ratio", "Productive time over all time (ETTR), 0 to 1.",
              *time.ettr);
  }
  if (time.ettr_last_hour) {
    out.gauge("effective_training_time_hour_ratio", "The same of the last hour.",
              *time.ettr_last_hour);
  }
}

}  // namespace

std::string label_text(std::string_view value) {
  std::string text;
  for (const std::string_view line : base::split(value, '\n')) {
    if (line.data() != value.data()) text += "\\n";
    for (const char c : base::printable(line)) {
      if (c == '"' || c == '\\') text += '\\';
      text += c;
    }
  }
  return text;
}

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

std::string metrics_text(const MetricsFacts& facts) {
  Exposition out(facts.status.run_id);
  put_run(out, facts);
  put_failures(out, facts.totals);
  put_group(out, facts);
  put_progress(out, facts);
  put_bandwidth(out, facts.status);
  if (facts.time) put_time(out, *facts.time);
  return out.take();
}

}  // namespace robustrun::supervisor
