#include "agent/node/worker_stages.h"

#include <algorithm>
#include <utility>

namespace robustrun::agent {
namespace {

using base::Nanos;
using Moment = std::optional<Nanos>;
using wire::StageName;
using wire::StageTime;

// The record's moments, without impossible ones.
struct Plausible {
  Moment user_code, imports_done, group_begin, group_done, load_begin, load_done, optimizer, step;
};

Plausible plausible(const WorkerMoments& worker, Nanos now) {
  const auto within = [&](const Moment& at, Moment from = {}) -> Moment {
    if (!at || *at < from.value_or(worker.launched) || *at > now) return std::nullopt;
    return at;
  };
  const tracer::StartMarks& marks = worker.marks;
  Plausible seen;
  seen.user_code = within(worker.user_code_at);
  seen.imports_done = within(marks.imports_done_at, seen.user_code);
  seen.group_begin = within(marks.group_begin_at);
  if (seen.group_begin) seen.group_done = within(marks.group_done_at, seen.group_begin);
  seen.load_begin = within(marks.load_begin_at);
  if (seen.load_begin) seen.load_done = within(marks.load_done_at, seen.load_begin);
  seen.optimizer = within(marks.optimizer_at);
  seen.step = within(worker.first_step_at);
  return seen;
}

// The earliest moment at which the script was past its imports.
Moment first_later_mark(const Plausible& seen) {
  Moment first;
  for (const Moment& at : {seen.group_begin, seen.load_begin, seen.optimizer, seen.step}) {
    if (at) first = std::min(first.value_or(*at), *at);
  }
  return first;
}

// While an import is under way, the record has an impossible moment for its end.
Moment end_of_imports(const WorkerMoments& worker, const Plausible& seen) {
  if (!seen.user_code) return std::nullopt;
  const Moment later = first_later_mark(seen);
  if (seen.imports_done) return later ? std::min(*seen.imports_done, *later) : seen.imports_done;
  const bool goes_on = worker.marks.imports_done_at.has_value();
  return goes_on ? later : seen.user_code;
}

StageTime stage_of(StageName name, Nanos begin, const Moment& end, Nanos now) {
  return {name, begin, end.value_or(Nanos{}), end.value_or(now) - begin, {}};
}

// The part of the load between `begin` and `end`.
Nanos load_within(const Plausible& seen, Nanos begin, Nanos end, Nanos now) {
  if (!seen.load_begin) return {};
  const Nanos from = std::max(begin, *seen.load_begin);
  const Nanos to = std::min(end, seen.load_done.value_or(now));
  return std::max(Nanos{}, to - from);
}

}  // namespace

WorkerMoments moments_of(Nanos launched, tracer::Reading& reading) {
  return {launched, reading.user_code_at, reading.first_step_at, std::exchange(reading.start, {})};
}

std::vector<StageTime> worker_stages(const WorkerMoments& worker, Nanos now) {
  std::vector<StageTime> stages;
  if (worker.launched > now) return stages;
  const Plausible seen = plausible(worker, now);
  const Moment imported = end_of_imports(worker, seen);
  stages.push_back(stage_of(StageName::kImports, worker.launched, imported, now));
  if (!imported) return stages;
  Nanos ready = *imported;
  const auto grow = [&](const Moment& at) { ready = std::max(ready, at.value_or(ready)); };
  if (seen.group_begin) {
    stages.push_back(stage_of(StageName::kProcessGroup, *seen.group_begin, seen.group_done, now));
    if (!seen.group_done && !seen.step) return stages;
  }
  const bool is_group_first = !seen.optimizer || seen.group_done <= seen.optimizer;
  if (is_group_first) grow(seen.group_done);
  const bool builds = !seen.optimizer && !seen.step && seen.group_done;
  if (builds || (seen.optimizer && *seen.optimizer >= ready)) {
    StageTime model = stage_of(StageName::kModel, ready, seen.optimizer, now);
    model.took -= load_within(seen, ready, seen.optimizer.value_or(now), now);
    stages.push_back(model);
  }
  if (seen.load_begin) {
    stages.push_back(stage_of(StageName::kLoad, *seen.load_begin, seen.load_done, now));
    if (!seen.load_done && !seen.step) return stages;
  }
  for (const Moment& at : {seen.group_done, seen.optimizer, seen.load_done}) grow(at);
  const bool will_step = seen.step ? *seen.step >= ready : seen.optimizer.has_value();
  if (will_step) stages.push_back(stage_of(StageName::kFirstStep, ready, seen.step, now));
  return stages;
}

wire::RankStage rank_stage(const std::vector<StageTime>& stages) {
  wire::RankStage rank;
  if (stages.empty()) return rank;
  const auto goes_on = [](const StageTime& one) { return one.end == Nanos{}; };
  rank.called_group =
      std::ranges::find(stages, StageName::kProcessGroup, &StageTime::stage) != stages.end();
  const bool has_stepped = stages.back().stage == StageName::kFirstStep && !goes_on(stages.back());
  const auto first = has_stepped ? stages.end() : std::ranges::find_if(stages, goes_on);
  if (first != stages.end()) {
    rank.stage = first->stage;
    rank.since = first->begin;
    return rank;
  }
  const auto last = std::ranges::max_element(stages, {}, &StageTime::end);
  rank.stage = last->stage;
  rank.since = last->end;
  rank.is_over = true;
  return rank;
}

}  // namespace robustrun::agent
