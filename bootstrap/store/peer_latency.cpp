#include "bootstrap/store/peer_latency.h"

#include <algorithm>

#include "bootstrap/store/limits.h"

namespace robustrun::bootstrap {

using base::Nanos;

void PeerLatency::note_block(base::NodeId node, Nanos took) {
  usual_ = usual_ == Nanos{} ? took : usual_ + (took - usual_) / 8;
  failures_.erase(node);
}

void PeerLatency::note_late(base::NodeId node, Nanos now) {
  Failures& known = failures_[node];
  if (++known.late % kLatesAreFailure == 0) note_failure(node, now);
}

void PeerLatency::note_failure(base::NodeId node, Nanos now) {
  Failures& known = failures_[node];
  if (now < known.until) return;  // part of the same failure
  known.out_for = std::clamp<Nanos>(known.out_for * 2, kPeerOutFirst, kPeerOutMax);
  known.until = now + known.out_for;
}

bool PeerLatency::is_out(base::NodeId node, Nanos now) const {
  const auto found = failures_.find(node);
  return found != failures_.end() && now < found->second.until;
}

Nanos PeerLatency::patience() const {
  if (usual_ == Nanos{}) return kPatienceFirst;
  return std::clamp<Nanos>(usual_ * kPatienceTimes, kPatienceMin, kPatienceMax);
}

}  // namespace robustrun::bootstrap
