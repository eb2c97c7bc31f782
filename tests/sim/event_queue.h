#pragma once
// Virtual time: what is due next runs next; ties go to what was scheduled first.

#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "base/core/clock.h"

namespace robustrun::sim {

using base::Nanos;

class EventQueue {
 public:
  [[nodiscard]] Nanos now() const { return now_; }
  [[nodiscard]] bool empty() const { return queue_.empty(); }

  void after(Nanos delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }
  void at(Nanos when, std::function<void()> what) {
    queue_.push({when < now_ ? now_ : when, ++sequence_, std::move(what)});
  }
  void step() {
    Entry next = queue_.top();
    queue_.pop();
    now_ = next.when;
    next.what();
  }

 private:
  struct Entry {
    Nanos when;
    std::uint64_t sequence;
    std::function<void()> what;
    bool operator<(const Entry& other) const {
      return std::pair(when, sequence) > std::pair(other.when, other.sequence);
    }
  };
  Nanos now_{};
  std::uint64_t sequence_ = 0;
  std::priority_queue<Entry> queue_;
};

// Dice over base::Rng.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : rng_(seed) {}
  std::uint64_t below(std::uint64_t bound) { return rng_.below(bound); }
  bool chance(double probability) {
    constexpr std::uint64_t kOne = 1'000'000;
    return rng_.below(kOne) < static_cast<std::uint64_t>(probability * kOne);
  }
  Nanos between(Nanos low, Nanos high) {
    return low + Nanos(static_cast<Nanos::rep>(
                     rng_.below(static_cast<std::uint64_t>((high - low).count()) + 1)));
  }
  template <class T>
  T one_of(std::initializer_list<T> choices) {
    return *(choices.begin() + static_cast<std::ptrdiff_t>(rng_.below(choices.size())));
  }

 private:
  base::Rng rng_;
};

}  // namespace robustrun::sim
