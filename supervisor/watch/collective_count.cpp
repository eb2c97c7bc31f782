#include "supervisor/watch/collective_count.h"

#include <algorithm>
#include <utility>

#include "supervisor/limits.h"

namespace robustrun::supervisor {

void CollectiveCount::take(base::Rank rank,
                           const std::vector<wire::CommunicatorProgress>& communicators) {
  std::map<std::uint64_t, std::uint64_t> now;
  for (const wire::CommunicatorProgress& one : communicators) {
    const bool counts = now.size() < kCountedCommunicatorsMax || now.contains(one.comm);
    if (counts) now[one.comm] += one.done;
  }
  Counted& counted = ranks_[rank];
  for (const auto& [comm, done] : now) {
    const auto before = counted.done.find(comm);
    // A smaller count is that of a new communicator with the same key.
    const bool goes_on = before != counted.done.end() && before->second <= done;
    counted.total += goes_on ? done - before->second : done;
  }
  counted.done = std::move(now);
  most_ = std::max(most_, counted.total);
}

}  // namespace robustrun::supervisor
