#pragma once
// Virtual time: runs the earliest scheduled event next; of simultaneous ones, the first scheduled.

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "simulator/figure.h"

namespace robustrun::simulator {

class VirtualTime {
 public:
  [[nodiscard]] Nanos now() const { return now_; }
  [[nodiscard]] bool empty() const { return queue_.empty(); }
  [[nodiscard]] Nanos next() const { return queue_.top().when; }
  void after(Nanos delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }
  // A time in the past means now.
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

}  // namespace robustrun::simulator
