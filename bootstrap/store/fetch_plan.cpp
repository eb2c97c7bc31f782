#include "bootstrap/store/fetch_plan.h"

#include <algorithm>

#include "base/core/result.h"
#include "bootstrap/store/limits.h"

namespace robustrun::bootstrap {

using base::Nanos;
using base::NodeId;

FetchPlan::Step FetchPlan::next(Nanos now) {
  Step step;
  std::erase_if(asked_, [&](const Asked& asked) {
    const bool is_dropped =
        now - asked.heard_at >= Nanos(kSilentPeerMax) || now - asked.since >= Nanos(kSlowPeerMax);
    if (is_dropped) step.dropped.push_back(asked.node);
    return is_dropped;
  });
  Nanos heard_at = Nanos::min();
  for (Asked& asked : asked_) {
    heard_at = std::max(heard_at, asked.heard_at);
    if (now - asked.heard_at < patience_ || asked.was_late) continue;
    asked.was_late = true;
    step.late.push_back(asked.node);
  }
  const bool has_next = next_ < sources_.size();
  const bool is_hopeful = !asked_.empty() && now - heard_at < patience_;
  if (!is_hopeful && has_next && asked_.size() < kAskedAtOnceMax) {
    step.ask = sources_[next_++];
    asked_.push_back({*step.ask, now, now, false});
  } else if (asked_.empty() && !has_next) {
    step.is_over = true;
  }
  step.look_at = now + patience_;
  for (const Asked& asked : asked_) {
    for (const Nanos wait : {patience_, Nanos(kSilentPeerMax)}) {
      const Nanos at = asked.heard_at + wait;
      if (at > now) step.look_at = std::min(step.look_at, at);
    }
  }
  return step;
}

void FetchPlan::on_life(NodeId node, Nanos now) {
  for (Asked& asked : asked_) {
    if (asked.node == node) asked.heard_at = now;
  }
}

void FetchPlan::on_sign(NodeId node, Nanos now) {
  on_life(node, now);
  // Signs come every kSignEvery; tolerate a late one.
  patience_ = std::max(patience_, Nanos(kSignPatience));
}

void FetchPlan::on_end(NodeId node) {
  std::erase_if(asked_, [&](const Asked& asked) { return asked.node == node; });
}

}  // namespace robustrun::bootstrap
