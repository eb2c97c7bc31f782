#include "simulator/study_figures.h"

#include <fmt/core.h>

#include <string>
#include <vector>

namespace robustrun::simulator {
namespace {

std::string shown(Nanos time) {
  const double value = in_seconds(time);
  if (value >= 3600) return fmt::format("{:.4g} h", value / 3600);
  if (value >= 60) return fmt::format("{:.4g} min", value / 60);
  return fmt::format("{:.4g} s", value);
}
std::string shown(double value) { return fmt::format("{:.4g}", value); }
std::string shown(std::uint32_t value) { return std::to_string(value); }

class FigureList {
 public:
  template <class T>
  void add(std::string name, const Figure<T>& figure) {
    list_.push_back({std::move(name), shown(figure.value), figure.origin, figure.source});
  }
  void add(std::string name, std::string value, Origin origin, std::string source) {
    list_.push_back({std::move(name), std::move(value), origin, std::move(source)});
  }
  [[nodiscard]] std::vector<KnownFigure> take() { return std::move(list_); }

 private:
  std::vector<KnownFigure> list_;
};

void add_failures(const FailureModel& model, FigureList& list) {
  list.add("failures per node-day", model.per_node_day);
  std::string mix;
  for (std::size_t i = 0; i < kKinds; ++i) {
    const auto kind = static_cast<FaultKind>(i);
    mix += fmt::format("{}{} {:.1f}%", mix.empty() ? "" : ", ", kind_name(kind),
                       100 * model.share(kind));
  }
  list.add("mix of failures", mix, model.mix.origin, model.mix.source);
  list.add("share that takes others with it", model.shared);
  list.add("how many others", model.neighbours);
  list.add("share of hangs that come again", model.hang_stays);
  list.add("repair of a machine, mean", model.repair);
  list.add("maintenance of a machine, mean", model.maintained);
  list.add("a machine stays slow for, mean", model.slow_for);
  list.add("steps with a slow machine, times", model.slow_factor);
}

void add_job(const JobTerms& job, FigureList& list) {
  list.add("step", job.step);
  list.add("start of the script", job.start);
  if (job.start_cold) list.add("start of the script after a machine was lost", *job.start_cold);
  list.add("load of a checkpoint", job.load);
  list.add("checkpoint every", job.checkpoint_every);
  list.add("stall of a checkpoint", job.checkpoint_stall);
  list.add("unexplained, per incident", job.residual);
}

void add_own(const OwnTimes& times, FigureList& list) {
  list.add("robustrun: device fault noticed", times.device_fault);
  list.add("robustrun: worker's death noticed", times.worker_death);
  list.add("robustrun: machine's death noticed", times.machine_death);
  list.add("robustrun: hang suspected", times.hang_suspected);
  list.add("robustrun: hang convicted", times.hang_convicted);
  list.add("robustrun: steps added to a hang", times.hang_steps);
  list.add("robustrun: slowness suspected", times.slow_suspected);
  list.add("robustrun: steps added to slowness", times.slow_steps);
  list.add("robustrun: one look at the pace", times.look);
  list.add("robustrun: workers stop", times.stop);
  list.add("robustrun: workers stop after a hang", times.stop_hung);
  list.add("robustrun: workers start", times.start);
  list.add("robustrun: an agent starts", times.agent);
  list.add("robustrun: check of nodes", times.check);
  list.add("robustrun: dual-phase replay", times.replay);
  list.add("robustrun: a sound machine is tested", times.tested);
  list.add("robustrun: a broken device strikes again", times.device_again);
  list.add("robustrun: a machine hangs again", times.hang_again);
  list.add("robustrun: a run that ended starts anew", times.requeue);
}

void add_published(const PublishedPolicy& policy, const FailureModel& model, FigureList& list) {
  const std::pair<const char*, const TimesByKind*> stages[] = {
      {"detect", &policy.detect}, {"find culprit", &policy.culprit}, {"recover", &policy.replace}};
  for (const auto& [word, times] : stages) {
    for (std::size_t i = 0; i < kKinds; ++i) {
      const auto kind = static_cast<FaultKind>(i);
      if (model.share(kind) <= 0) continue;
      list.add(fmt::format("{}: {}, {}", policy.name, word, kind_name(kind)), (*times)[i]);
    }
  }
  list.add(policy.name + ": a hang that comes again", policy.hang_again);
  list.add(policy.name + ": machines evicted for a hang", policy.evicted_for_hang);
  list.add(policy.name + ": a sound machine is tested", policy.tested);
  list.add(policy.name + ": checkpoint every (0: step)", policy.checkpoint_every);
  if (policy.checkpoint_stall) {
    list.add(policy.name + ": stall of a checkpoint", *policy.checkpoint_stall);
  }
}

}  // namespace

std::vector<KnownFigure> figures_of(const StudyRequest& request) {
  FigureList list;
  add_failures(request.failures, list);
  add_job(request.job, list);
  add_own(request.own.times, list);
  for (const PublishedPolicy* policy : request.compared) {
    add_published(*policy, request.failures, list);
  }
  return list.take();
}

std::vector<KnownFigure> figures_of(const JobTerms& job, const OwnTimes& times) {
  FigureList list;
  add_job(job, list);
  add_own(times, list);
  return list.take();
}

}  // namespace robustrun::simulator
