#pragma once
// The supervisor's end of one node: its agent's generation, channel and lease.
//
// Plain bookkeeping for the driver, which owns one per node of the job. Not thread-safe; on the
// driver's loop.

#include <memory>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "wire/channel.h"

namespace robustrun::supervisor {

struct NodeLink {
  base::Generation generation;               // of the agent launched last
  std::shared_ptr<wire::Channel> channel;    // null until connected and after it closed
  bool joined = false;                       // its Hello was accepted
  bool paused = false;                       // we stopped reading: the console is congested
  base::Nanos heard_at{};                    // last message, by our clock
  std::vector<base::Rank> ranks;             // by local rank, of the current attempt
};

}  // namespace robustrun::supervisor
