#include "simulator/stopwatch.h"

#include "base/core/result.h"

namespace robustrun::simulator {

void Stopwatch::begin(Nanos now) {
  RR_ASSERT(!runs_);
  runs_ = true;
  began_ = last_ = now;
  trains_ = false;
  train(now);
}

void Stopwatch::settle(Nanos now) {
  RR_ASSERT(now >= last_);
  const Nanos passed = now - last_;
  last_ = now;
  if (!runs_) return;
  if (!trains_) {
    line_.pauses[static_cast<std::size_t>(phase_)] += passed;
    return;
  }
  episode_.length += passed;
  episode_.slowed += from_seconds(in_seconds(passed) * (1 - 1 / factor_));
}

void Stopwatch::pause(Nanos now, Phase phase, bool is_safe) {
  settle(now);
  if (trains_ && runs_) {
    episode_.is_lost = !is_safe;
    line_.episodes.push_back(episode_);
  }
  trains_ = false;
  phase_ = phase;
}

void Stopwatch::train(Nanos now) {
  settle(now);
  if (trains_) return;
  trains_ = true;
  episode_ = {};
}

void Stopwatch::slow(Nanos now, double factor) {
  settle(now);
  factor_ = factor;
}

Timeline Stopwatch::end(Nanos now) {
  pause(now, Phase::kRestart, true);
  line_.total = now - began_;
  return line_;
}

}  // namespace robustrun::simulator
