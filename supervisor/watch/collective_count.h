#pragma once
// Counts the collectives of the furthest rank, over all its communicators. The count never falls,
// and rises with each collective, also after a communicator was destroyed. Pure; owned by the
// driver.

#include <cstdint>
#include <map>
#include <vector>

#include "base/core/ids.h"
#include "wire/messages/messages.h"

namespace robustrun::supervisor {

class CollectiveCount {
 public:
  void begin_attempt() { *this = {}; }
  // `communicators`: all of the rank's. At most kCountedCommunicatorsMax of them count.
  void take(base::Rank rank, const std::vector<wire::CommunicatorProgress>& communicators);
  // Of the furthest rank; 0: no rank of the attempt has done a collective.
  [[nodiscard]] std::uint64_t done() const { return most_; }

 private:
  struct Counted {
    std::map<std::uint64_t, std::uint64_t> done;  // by communicator, in the last report
    std::uint64_t total = 0;
  };
  std::map<base::Rank, Counted> ranks_;
  std::uint64_t most_ = 0;
};

}  // namespace robustrun::supervisor
