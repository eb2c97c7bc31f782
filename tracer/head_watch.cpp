#include "tracer/head_watch.h"

#include <algorithm>
#include <utility>

namespace robustrun::tracer {

using base::Nanos;

Nanos HeadWatch::allowed(bool has_stepped) const {
  const Nanos least = head_ <= kHeadsFirst || !has_stepped ? kHeadFirstMax : kHeadMax;
  return std::max(least, kHeadFactor * *std::ranges::max_element(ages_));
}

std::uint64_t HeadWatch::finish(const Look& look) {
  if (is_learned_ && age_ <= allowed(look.has_stepped)) {
    ages_[next_age_++ % ages_.size()] = age_;
  }
  const std::uint64_t finished = std::exchange(head_, 0);
  return std::exchange(is_overdue_, false) ? finished : 0;
}

HeadWatch::Head HeadWatch::look(const Look& look) {
  const std::uint64_t entered = std::max(look.entered, look.done);
  Head head;
  if (entered < entered_ || look.done < done_) {
    head.over = is_overdue_ ? head_ : 0;
    *this = HeadWatch();
  }
  if (head_ != 0 && look.done >= head_) head.over = finish(look);
  if (head_ == 0 && entered > look.done) {
    head_ = look.done + 1;
    // It was not the head at the last look, so it cannot be older, whatever its source reports.
    const Nanos age = std::clamp(look.head_age.value_or(Nanos::zero()), Nanos::zero(), kHeadAgeMax);
    since_ = std::max(look.now - age, last_look_.value_or(Nanos::min()));
    is_learned_ = head_ > kHeadsFirst && look.has_stepped;
  }
  last_look_ = look.now;
  entered_ = entered;
  done_ = look.done;
  if (head_ == 0) return head;
  age_ = look.now - since_;
  head.ordinal = head_;
  head.age = age_;
  head.expected = allowed(look.has_stepped);
  if (!is_overdue_ && age_ > head.expected) is_overdue_ = head.became_overdue = true;
  return head;
}

}  // namespace robustrun::tracer
