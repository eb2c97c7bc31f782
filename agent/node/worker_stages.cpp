#include "agent/node/worker_stages.h"

#include <algorithm>
#include <utility>

namespace robustrun::agent {
namespace {

using base::Nanos;
using Moment = std::optional<Nanos>;
using wire::StageName;
using wire::StageTime;

// What the record says, without what cannot be.
struct Believed {
  Moment user_code, imports_done, group_begin, group_done, load_begin, load_done, optimizer, step;
};

Believed believe(const WorkerMoments& worker, Nanos now) {
  const auto within = [&](const Moment& at, Moment from = {}) -> Moment {
    if (!at || *at < from.value_or(worker.launched) || *at > now) return std::nullopt;
    return at;
  };
  const tracer::StartMarks& marks = worker.marks;
  Believed said;
  said.user_code = within(worker.user_code_at);
  said.imports_done = within(marks.imports_done_at, said.user_code);
  said.group_begin = within(marks.group_begin_at);
  if (said.group_begin) said.group_done = within(marks.group_done_at, said.group_begin);
  said.load_begin = within(marks.load_begin_at);
  if (said.load_begin) said.load_done = within(marks.load_done_at, said.load_begin);
  said.optimizer = within(marks.optimizer_at);
  said.step = within(worker.first_step_at);
  return said;
}

// Of what is no import any more.
Moment first_later_mark(const Believed& said) {
  Moment first;
  for (const Moment& at : {said.group_begin, said.load_begin, said.optimizer, said.step}) {
    if (at) first = std::min(first.value_or(*at), *at);
  }
  return first;
}

// While an import goes on the record says so by a moment that cannot be.
Moment end_of_imports(const WorkerMoments& worker, const Believed& said) {
  if (!said.user_code) return std::nullopt;
  const Moment later = first_later_mark(said);
  if (said.imports_done) return later ? std::min(*said.imports_done, *later) : said.imports_done;
  const bool goes_on = worker.marks.imports_done_at.has_value();
  return goes_on ? later : said.user_code;
}

StageTime stage_of(StageName name, Nanos begin, const Moment& end, Nanos now) {
  return {name, begin, end.value_or(Nanos{}), end.value_or(now) - begin, {}};
}

// What of the load lies between the two.
Nanos load_within(const Believed& said, Nanos begin, Nanos end, Nanos now) {
  if (!said.load_begin) return {};
  const Nanos from = std::max(begin, *said.load_begin);
  const Nanos to = std::min(end, said.load_done.value_or(now));
  return std::max(Nanos{}, to - from);
}

}  // namespace

WorkerMoments moments_of(Nanos launched, tracer::Reading& reading) {
  return {launched, reading.user_code_at, reading.first_step_at, std::exchange(reading.start, {})};
}

std::vector<StageTime> worker_stages(const WorkerMoments& worker, Nanos now) {
  std::vector<StageTime> stages;
  if (worker.launched > now) return stages;
  const Believed said = believe(worker, now);
  const Moment imported = end_of_imports(worker, said);
  stages.push_back(stage_of(StageName::kImports, worker.launched, imported, now));
  if (!imported) return stages;
  Nanos ready = *imported;
  const auto grow = [&](const Moment& at) { ready = std::max(ready, at.value_or(ready)); };
  if (said.group_begin) {
    stages.push_back(stage_of(StageName::kProcessGroup, *said.group_begin, said.group_done, now));
    if (!said.group_done && !said.step) return stages;
  }
  const bool is_group_first = !said.optimizer || said.group_done <= said.optimizer;
  if (is_group_first) grow(said.group_done);
  const bool builds = !said.optimizer && !said.step && said.group_done;
  if (builds || (said.optimizer && *said.optimizer >= ready)) {
    StageTime model = stage_of(StageName::kModel, ready, said.optimizer, now);
    model.took -= load_within(said, ready, said.optimizer.value_or(now), now);
    stages.push_back(model);
  }
  if (said.load_begin) {
    stages.push_back(stage_of(StageName::kLoad, *said.load_begin, said.load_done, now));
    if (!said.load_done && !said.step) return stages;
  }
  for (const Moment& at : {said.group_done, said.optimizer, said.load_done}) grow(at);
  const bool will_step = said.step ? *said.step >= ready : said.optimizer.has_value();
  if (will_step) stages.push_back(stage_of(StageName::kFirstStep, ready, said.step, now));
  return stages;
}

}  // namespace robustrun::agent
