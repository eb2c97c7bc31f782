#include "supervisor/core/status/metric_watch.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {
namespace {

double metric_median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

struct MetricHabit {
  double usual = 0;      // median
  double deviation = 0;  // median absolute deviation, scaled to a normal distribution's sigma
};

MetricHabit metric_habit(const std::deque<double>& values) {
  constexpr double kToSigma = 1.4826;
  const double usual = metric_median({values.begin(), values.end()});
  std::vector<double> away;
  for (const double value : values) away.push_back(std::abs(value - usual));
  return {usual, kToSigma * metric_median(std::move(away))};
}

template <class Value>
void keep_newest(std::deque<Value>& values, Value value, std::size_t most) {
  values.push_back(value);
  if (values.size() > most) values.pop_front();
}

char metric_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

MetricRole metric_role(std::string_view name) {
  std::string word(name);
  std::ranges::transform(word, word.begin(), metric_lower);
  const auto has = [&](std::string_view part) { return word.find(part) != std::string::npos; };
  if (has("mfu")) return MetricRole::kUtilization;
  if (has("grad") && has("norm")) return MetricRole::kGradientNorm;
  return has("loss") ? MetricRole::kLoss : MetricRole::kOther;
}

std::vector<MetricAlarm> ValueWatch::note(double value) {
  std::vector<MetricAlarm> alarms;
  const auto tell = [&](MetricAlarm::Kind kind, std::uint32_t readings, bool over) {
    const double usual = normal_.empty() ? 0 : metric_habit(normal_).usual;
    alarms.push_back({{}, {}, kind, value, usual, readings, over});
  };
  if (!std::isfinite(value)) {
    const std::uint32_t most =
        role_ == MetricRole::kGradientNorm ? kGradientOverflowsMax : kNotANumberReadings;
    right_ = high_ = low_ = 0;
    if (++wrong_ < most || is_wrong_) return alarms;
    is_wrong_ = true;
    tell(MetricAlarm::Kind::kNotANumber, wrong_, false);
    return alarms;
  }
  wrong_ = 0;
  if (last_ == value) return alarms;  // nothing new: two steps never have the very same loss
  last_ = value;
  if (is_wrong_ && ++right_ >= kMetricReadingsToClear) {
    is_wrong_ = false;
    tell(MetricAlarm::Kind::kNotANumber, right_, true);
  }
  const MetricHabit habit = normal_.empty() ? MetricHabit{} : metric_habit(normal_);
  const bool can_judge = normal_.size() >= kMetricHistoryMin && habit.usual > 0;
  if (can_judge && value > kMetricJump * habit.usual &&
      value > habit.usual + kMetricDeviations * habit.deviation) {
    low_ = 0;
    if (++high_ >= kMetricJumpReadings && !is_high_) {
      is_high_ = true;
      tell(MetricAlarm::Kind::kJump, high_, false);
    }
    return alarms;  // what is wrong must not become usual
  }
  high_ = 0;
  if (is_high_ && value > kMetricJumpOver * habit.usual) {
    low_ = 0;
    return alarms;
  }
  if (is_high_ && ++low_ >= kMetricReadingsToClear) {
    is_high_ = false;
    tell(MetricAlarm::Kind::kJump, low_, true);
  }
  keep_newest(normal_, value, kMetricHistoryMax);
  return alarms;
}

std::optional<MetricAlarm> CostWatch::note(double cost, base::Nanos at) {
  if (!std::isfinite(cost) || cost <= 0) return std::nullopt;
  if (window_.empty()) began_ = at;
  if (window_.size() < kCostReadingsMax) window_.push_back(cost);
  if (window_.size() < kCostReadingsMin || at - began_ < kCostWindowMin) return std::nullopt;
  auto alarm = close_window();
  window_.clear();
  return alarm;
}

std::optional<MetricAlarm> CostWatch::close_window() {
  const double cost = metric_median(window_);
  const auto readings = static_cast<std::uint32_t>(window_.size());
  const MetricHabit habit = medians_.empty() ? MetricHabit{} : metric_habit(medians_);
  const auto alarm = [&](std::uint32_t count, bool over) {
    return MetricAlarm{{}, {}, MetricAlarm::Kind::kSlower, cost, habit.usual, count, over};
  };
  if (medians_.size() >= kCostWindowsToLearn && cost > kCostRise * habit.usual &&
      cost > habit.usual + kMetricDeviations * habit.deviation) {
    usual_ = 0;
    slow_readings_ += readings;
    if (++slow_ < kCostWindowsToRaise || is_slow_) return std::nullopt;
    is_slow_ = true;
    return alarm(slow_readings_, false);
  }
  slow_ = slow_readings_ = 0;
  if (!is_slow_) {
    keep_newest(medians_, cost, kCostWindowsKept);
    return std::nullopt;
  }
  if (cost > kCostRiseOver * habit.usual) {
    usual_ = 0;
    return std::nullopt;
  }
  if (++usual_ < kCostWindowsToClear) return std::nullopt;
  is_slow_ = false;
  usual_ = 0;
  keep_newest(medians_, cost, kCostWindowsKept);
  return alarm(readings, true);
}

std::vector<MetricAlarm> MetricWatch::take(const MetricReading& reading, base::Nanos now) {
  if (before_ && before_->attempt != reading.attempt) *this = MetricWatch();
  const bool is_first = !before_;
  const bool is_news = is_first || before_->steps != reading.steps ||
                       before_->step != reading.step || before_->lines != reading.lines;
  std::vector<MetricAlarm> alarms;
  if (!is_news) return alarms;
  if (!is_first) watch_pace(reading, alarms);
  for (const auto& [name, value] : reading.metrics) {
    const MetricRole role = metric_role(name);
    if (role == MetricRole::kOther) continue;
    if (role == MetricRole::kUtilization) {
      if (!costs_.contains(name) && costs_.size() >= kWatchedMetricsMax) continue;
      auto alarm = costs_[name].note(1 / value, now);
      if (!alarm) continue;
      alarm->value = 1 / alarm->value;
      alarm->usual = 1 / alarm->usual;
      alarm->name = name;
      alarms.push_back(*std::move(alarm));
      continue;
    }
    if (!values_.contains(name) && values_.size() >= kWatchedMetricsMax) continue;
    for (MetricAlarm& alarm : values_.try_emplace(name, role).first->second.note(value)) {
      alarm.name = name;
      alarms.push_back(std::move(alarm));
    }
  }
  before_ = {reading.attempt, reading.steps, reading.step, reading.lines, reading.last_step_at, {}};
  for (MetricAlarm& alarm : alarms) alarm.attempt = reading.attempt;
  return alarms;
}

// By the clock of the rank's node: the delay of its reports must not count as time of its steps.
void MetricWatch::watch_pace(const MetricReading& reading, std::vector<MetricAlarm>& alarms) {
  if (!reading.last_step_at || !before_->last_step_at || reading.steps <= before_->steps ||
      *reading.last_step_at <= *before_->last_step_at) {
    return;
  }
  const auto seconds =
      std::chrono::duration<double>(*reading.last_step_at - *before_->last_step_at).count();
  const auto steps = static_cast<double>(reading.steps - before_->steps);
  auto alarm = pace_.note(seconds / steps, *reading.last_step_at);
  if (!alarm) return;
  alarm->name = kStepsPerSecond;
  alarm->value = 1 / alarm->value;
  alarm->usual = 1 / alarm->usual;
  alarms.push_back(*std::move(alarm));
}

}  // namespace robustrun::supervisor
