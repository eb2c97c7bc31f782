// Numbers of a training, healthy and not: what is alarming, and above all what is not.
#include "supervisor/core/status/metric_watch.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor::metric_watch_test {
namespace {

using namespace std::chrono_literals;
using Kind = MetricAlarm::Kind;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A job whose rank 0 reports every step.
struct Training {
  MetricWatch watch;
  MetricReading reading{base::Attempt{0}, 0, {}, 0, 1000s, {}};
  base::Nanos step_time = 100ms;
  std::vector<MetricAlarm> alarms;  // all so far

  void step(std::vector<std::pair<std::string, double>> metrics, base::Nanos pause = {}) {
    ++reading.steps;
    *reading.last_step_at += step_time + pause;
    reading.metrics = std::move(metrics);
    for (MetricAlarm& alarm : watch.take(reading, *reading.last_step_at)) {
      CHECK(alarm.attempt == reading.attempt);
      alarms.push_back(std::move(alarm));
    }
  }
  void loss(double value) { step({{"loss", value}}); }
  // Healthy: falls, with noise.
  void learn(int steps) {
    for (int i = 0; i < steps; ++i) loss(2 + 0.1 * std::sin(1.7 * i) + 0.01 * (i % 7));
  }
};

std::string kinds(const std::vector<MetricAlarm>& alarms) {
  std::string text;
  for (const MetricAlarm& alarm : alarms) {
    text += alarm.over ? '-' : '+';
    text += alarm.kind == Kind::kNotANumber ? 'n' : alarm.kind == Kind::kJump ? 'j' : 's';
  }
  return text;
}

TEST_CASE("the name says what a metric is") {
  CHECK(metric_role("loss") == MetricRole::kLoss);
  CHECK(metric_role("Train/Loss") == MetricRole::kLoss);
  CHECK(metric_role("grad_norm") == MetricRole::kGradientNorm);
  CHECK(metric_role("GradientNorm") == MetricRole::kGradientNorm);
  CHECK(metric_role("MFU") == MetricRole::kUtilization);
  for (const char* other : {"accuracy", "lr", "norm", "gradient", "tokens"}) {
    CHECK(metric_role(other) == MetricRole::kOther);
  }
}

TEST_CASE("a loss that is not a number for three readings is told once, and its end after five") {
  Training job;
  job.learn(50);
  job.loss(kNan);
  job.loss(kNan);
  CHECK(job.alarms.empty());
  job.loss(kInfinity);
  REQUIRE(kinds(job.alarms) == "+n");
  CHECK(job.alarms[0].name == "loss");
  CHECK(job.alarms[0].readings == kNotANumberReadings);
  CHECK(job.alarms[0].usual == doctest::Approx(2).epsilon(0.1));
  for (int i = 0; i < 100; ++i) job.loss(kNan);
  job.learn(4);
  CHECK(kinds(job.alarms) == "+n");
  job.learn(1);
  CHECK(kinds(job.alarms) == "+n-n");
}

TEST_CASE("NaN needs no history: a loss may be none from the first step on") {
  Training job;
  for (int i = 0; i < 3; ++i) job.loss(kNan);
  REQUIRE(kinds(job.alarms) == "+n");
  CHECK(job.alarms[0].usual == 0);
}

TEST_CASE("gradients that overflow while a loss scaler seeks its scale are no alarm") {
  Training job;
  for (int i = 0; i < 16; ++i) job.step({{"grad_norm", kInfinity}});
  for (int i = 0; i < 2000; ++i) {
    job.step({{"grad_norm", i % 400 == 0 ? kInfinity : 1 + 0.1 * std::sin(i)}});
  }
  CHECK(job.alarms.empty());
  for (int i = 0; i < 20; ++i) job.step({{"grad_norm", kNan}});
  CHECK(kinds(job.alarms) == "+n");
}

TEST_CASE("a five-fold jump that stays is told after five readings, and its end") {
  Training job;
  job.learn(100);
  for (int i = 0; i < 4; ++i) job.loss(11 + 0.1 * i);
  CHECK(job.alarms.empty());
  job.loss(12);
  REQUIRE(kinds(job.alarms) == "+j");
  CHECK(job.alarms[0].value == 12);
  CHECK(job.alarms[0].readings == kMetricJumpReadings);
  for (int i = 0; i < 500; ++i) job.loss(12 + std::sin(i));  // does not become usual
  CHECK(kinds(job.alarms) == "+j");
  job.learn(10);
  CHECK(kinds(job.alarms) == "+j-j");
}

TEST_CASE("between the two thresholds nothing begins and nothing ends") {
  Training job;
  job.learn(100);
  for (int i = 0; i < 20; ++i) job.loss(20 + 0.1 * i);
  for (int i = 0; i < 50; ++i) job.loss(7 + 0.1 * std::sin(i));
  CHECK(kinds(job.alarms) == "+j");
}

TEST_CASE("a jump less than five-fold, or before there is a history, is no alarm") {
  Training job;
  job.learn(10);
  for (int i = 0; i < 8; ++i) job.loss(100 + i);  // so it is at the beginning
  CHECK(job.alarms.empty());
  Training other;
  other.learn(100);
  for (int i = 0; i < 100; ++i) other.loss(9 + 0.1 * std::sin(i));
  CHECK(other.alarms.empty());
}

TEST_CASE("losses that are negative or zero are not compared") {
  Training job;
  for (int i = 0; i < 100; ++i) job.loss(-3 + 0.1 * std::sin(i));
  for (int i = 0; i < 100; ++i) job.loss(50 + i);
  CHECK(job.alarms.empty());
}

TEST_CASE("a reading that says nothing new counts once") {
  Training job;
  job.learn(100);
  job.reading.metrics = {{"loss", kNan}};
  for (int i = 0; i < 100; ++i) {
    CHECK(job.watch.take(job.reading, 2000s).empty());
  }
  // An evaluation's loss stands in the record until the next one.
  for (int i = 0; i < 100; ++i) job.step({{"loss", 1.5 + 0.01 * i}, {"eval_loss", 40}});
  CHECK(job.alarms.empty());
}

TEST_CASE("another attempt begins with no history") {
  Training job;
  job.learn(200);
  job.reading.attempt = base::Attempt{1};
  job.reading.steps = 0;
  for (int i = 0; i < 50; ++i) job.loss(11 - 0.1 * i);  // from scratch: as at the very first start
  CHECK(job.alarms.empty());
}

TEST_CASE("numbers of a script without steps are read by its lines") {
  Training job;
  job.reading.last_step_at.reset();
  for (int i = 0; i < 3; ++i) {
    ++job.reading.lines;
    job.reading.metrics = {{"loss", kNan}};
    for (auto& alarm : job.watch.take(job.reading, 1s)) job.alarms.push_back(alarm);
  }
  CHECK(kinds(job.alarms) == "+n");
}

// Published shapes ------------------------------------------------------------------------------

TEST_CASE("warm-up, decay, spikes that recover and a drop of the learning rate are healthy") {
  Training job;
  std::mt19937_64 dice(1);
  std::normal_distribution<double> noise(0, 0.03);
  for (int i = 0; i < 20000; ++i) {
    // A power law from ln(50,000), a drop at two thirds, and spikes of 2 to 4 steps (PaLM,
    // arXiv 2204.02311 section 5.1: they come at irregular times and go).
    double loss = 1.7 + 9.1 * std::pow(1 + i / 50.0, -0.5);
    if (i > 13000) loss *= 0.9;
    if (i % 1500 > 1496) loss *= 6;
    const double warm_up = i < 200 ? 30.0 * (1 - i / 200.0) : 0;
    const double norm = 0.4 + warm_up + std::abs(noise(dice)) + (i % 1500 > 1497 ? 8 : 0);
    job.step({{"loss", loss + noise(dice)}, {"grad_norm", norm}});
  }
  CHECK(job.alarms.empty());
}

TEST_CASE("healthy trainings of many kinds never alarm") {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 dice(seed);
    const auto draw = [&](double from, double to) {
      return std::uniform_real_distribution<double>(from, to)(dice);
    };
    const double spread = draw(0.01, 0.5), floor = draw(0.001, 3), decay = draw(0.1, 1);
    const double jitter = draw(0.01, 0.4);
    const int pause_every = static_cast<int>(draw(20, 500));
    const auto pause = std::chrono::milliseconds(static_cast<int>(draw(0, 60000)));
    const double base_ms = std::exp(draw(std::log(2), std::log(3000)));
    std::lognormal_distribution<double> noise(0, spread);
    std::lognormal_distribution<double> pace(0, jitter);
    Training job;
    for (int i = 0; i < 4000; ++i) {
      job.step_time = base::Nanos(static_cast<std::int64_t>(base_ms * 1e6 * pace(dice)));
      const double loss = (floor + 8 * std::pow(1 + i / 20.0, -decay)) * noise(dice);
      job.step({{"loss", loss}, {"grad_norm", noise(dice)}, {"mfu", 0.4 / pace(dice)}},
               i % pause_every == 0 ? base::Nanos(pause) : base::Nanos{});
    }
    CHECK(kinds(job.alarms) == "");
  }
}

// Pace ------------------------------------------------------------------------------------------

TEST_CASE("steps that take longer for half a minute are told, and when they are quick again") {
  Training job;
  job.learn(1000);
  job.step_time = 140ms;
  const auto slow_from = *job.reading.last_step_at;
  job.learn(400);
  REQUIRE(kinds(job.alarms) == "+s");
  CHECK(job.alarms[0].name == kStepsPerSecond);
  CHECK(job.alarms[0].value == doctest::Approx(1 / 0.14));
  CHECK(job.alarms[0].usual == doctest::Approx(10));
  CHECK(*job.reading.last_step_at - slow_from < 60s);
  job.learn(5000);
  CHECK(kinds(job.alarms) == "+s");
  job.step_time = 100ms;
  job.learn(400);
  CHECK(kinds(job.alarms) == "+s-s");
}

TEST_CASE("a little slower, or slow for a moment, is no alarm") {
  Training job;
  job.learn(1000);
  job.step_time = 120ms;
  job.learn(1000);
  job.step_time = 300ms;
  job.learn(60);
  job.step_time = 100ms;
  job.learn(1000);
  CHECK(job.alarms.empty());
}

TEST_CASE("checkpoints and evaluations are pauses, however long and however regular") {
  Training job;
  for (int i = 0; i < 3000; ++i) {
    job.step({{"loss", 2 + 0.001 * (i % 9)}}, i % 50 == 0 ? 20s : i % 7 == 0 ? 1s : 0s);
  }
  CHECK(job.alarms.empty());
}

TEST_CASE("a step that is slow as usual is judged by fewer readings") {
  Training job;
  job.step_time = 30s;
  job.learn(60);
  CHECK(job.alarms.empty());
  job.step_time = 60s;
  job.learn(20);
  CHECK(kinds(job.alarms) == "+s");
}

TEST_CASE("utilization that falls is told as such") {
  Training job;
  const auto train = [&](int steps, double mfu) {
    for (int i = 0; i < steps; ++i) job.step({{"mfu", mfu + 0.002 * (i % 5)}});
  };
  train(1000, 0.41);
  train(600, 0.22);
  REQUIRE(kinds(job.alarms) == "+s");
  CHECK(job.alarms[0].name == "mfu");
  CHECK(job.alarms[0].value == doctest::Approx(0.224));
  CHECK(job.alarms[0].usual == doctest::Approx(0.414));
  train(600, 0.41);
  CHECK(kinds(job.alarms) == "+s-s");
}

TEST_CASE("names beyond the limit are not watched") {
  Training job;
  std::vector<std::pair<std::string, double>> many;
  for (std::size_t i = 0; i <= kWatchedMetricsMax; ++i) {
    many.emplace_back("loss" + std::to_string(i), kNan);
  }
  for (int i = 0; i < 10; ++i) job.step(many);
  CHECK(job.alarms.size() == kWatchedMetricsMax);
}

}  // namespace
}  // namespace robustrun::supervisor::metric_watch_test
