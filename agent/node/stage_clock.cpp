#include "agent/node/stage_clock.h"

#include <algorithm>
#include <utility>

namespace robustrun::agent {
namespace {

using wire::StageTime;

// Over all workers: begun by the first, ended by the last.
void add_worker(const StageTime& one, base::LocalRank worker,
                std::map<wire::StageName, StageTime>& all) {
  const auto [place, is_first] = all.try_emplace(one.stage, one);
  StageTime& sum = place->second;
  if (is_first) {
    sum.slowest = worker;
    return;
  }
  const bool goes_on = one.end == base::Nanos{}, sum_goes_on = sum.end == base::Nanos{};
  if (goes_on != sum_goes_on ? goes_on : one.took > sum.took) {
    sum.took = one.took;
    sum.slowest = worker;
  }
  sum.begin = std::min(sum.begin, one.begin);
  sum.end = goes_on || sum_goes_on ? base::Nanos{} : std::max(sum.end, one.end);
}

// `own` ended before the workers' part of the same stage: imports that they share.
void follow(StageTime& own, const StageTime& workers) {
  own.took += workers.took;
  own.end = workers.end;
  own.slowest = workers.slowest;
}

unsigned bit_of(StagePart part) { return 1U << static_cast<unsigned>(part); }

}  // namespace

void StageClock::begin(wire::StageName stage, StagePart part) {
  Own& own = own_.at(static_cast<std::size_t>(stage));
  if (own.going_on == 0) own.since = clock_.now();
  own.going_on |= bit_of(part);
  if (!own.begin) own.begin = own.since;
  own.end.reset();
}

void StageClock::end(wire::StageName stage, StagePart part) {
  Own& own = own_.at(static_cast<std::size_t>(stage));
  if ((own.going_on & bit_of(part)) == 0) return;
  own.going_on &= ~bit_of(part);
  if (own.going_on != 0) return;
  own.end = clock_.now();
  own.took += *own.end - own.since;
}

void StageClock::begin_attempt(base::Attempt attempt, std::size_t workers) {
  attempt_ = attempt;
  workers_expected_ = workers;
  workers_.clear();
  began_ = clock_.now();
  under_way_ = true;
  reported_late_ = false;
}

void StageClock::take(base::LocalRank worker, const WorkerMoments& moments) {
  if (under_way_) workers_.insert_or_assign(worker, moments);
}

bool StageClock::all_stepped() const {
  return workers_expected_ > 0 && workers_.size() == workers_expected_ &&
         std::ranges::all_of(
             workers_, [](const auto& each) { return each.second.first_step_at.has_value(); });
}

std::optional<wire::NodeStages> StageClock::due() {
  if (!under_way_) return std::nullopt;
  if (all_stepped()) {
    under_way_ = false;
    return all();
  }
  if (reported_late_ || clock_.now() - began_ < kStagesReportedAfter) return std::nullopt;
  reported_late_ = true;
  return all();
}

// The stages of all workers, and of the one that is furthest behind.
wire::StageNews StageClock::current() const {
  wire::StageNews news{attempt_};
  const base::Nanos now = clock_.now();
  for (const auto& [worker, moments] : workers_) {
    const wire::RankStage rank = rank_stage(worker_stages(moments, now));
    if (worker.value < workers_expected_) {
      news.ranks.resize(worker.value);  // those between have not begun
      news.ranks.push_back(rank);
    }
    const bool is_at_it = under_way_ && rank.stage && !rank.is_over;
    if (!is_at_it || (news.stage && *news.stage <= *rank.stage)) continue;
    news.stage = rank.stage;
    news.since = rank.since;
    news.rank = worker;
  }
  if (!workers_.empty() && !under_way_) return news;
  for (std::size_t i = 0; i < own_.size(); ++i) {
    if (!own_[i].begin || own_[i].end) continue;
    news.stage = static_cast<wire::StageName>(i);
    news.since = own_[i].since;
    news.rank.reset();
    return news;
  }
  return news;
}

std::optional<wire::StageNews> StageClock::news() {
  wire::StageNews now = current();
  const bool is_told = !now.stage && !last_news_.stage && now.ranks == last_news_.ranks;
  if (now == last_news_ || is_told) return std::nullopt;
  // Stages may have gaps between them: only the end of the start is reported at once.
  const bool is_over = !now.stage && !under_way_;
  const bool is_soon =
      clock_.now() - last_news_at_ < kStageNewsEvery && last_news_at_ != base::Nanos{};
  if (is_soon && !is_over) return std::nullopt;
  last_news_at_ = clock_.now();
  return last_news_ = now;
}

void StageClock::forget_news() {
  last_news_ = {};
  last_news_at_ = {};
}

std::optional<wire::NodeStages> StageClock::end_attempt() {
  const auto left = std::exchange(under_way_, false) ? all() : std::nullopt;
  own_ = {};
  return left;
}

std::optional<wire::NodeStages> StageClock::all() const {
  const base::Nanos now = clock_.now();
  wire::NodeStages report{attempt_, {}};
  for (std::size_t i = 0; i < own_.size(); ++i) {
    const Own& own = own_[i];
    if (!own.begin) continue;
    report.stages.push_back({static_cast<wire::StageName>(i),
                             *own.begin,
                             own.end.value_or(base::Nanos{}),
                             own.end ? own.took : own.took + (now - own.since),
                             {}});
  }
  std::map<wire::StageName, StageTime> of_workers;
  for (const auto& [worker, moments] : workers_) {
    for (const StageTime& one : worker_stages(moments, now)) add_worker(one, worker, of_workers);
  }
  for (const auto& [name, stage] : of_workers) {
    const auto own = std::ranges::find(report.stages, name, &StageTime::stage);
    own == report.stages.end() ? report.stages.push_back(stage) : follow(*own, stage);
  }
  if (report.stages.empty()) return std::nullopt;
  return report;
}

}  // namespace robustrun::agent
