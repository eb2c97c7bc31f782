#pragma once
// The supervisor's end of one node: its agent's generation, channel and lease.
//
// Plain data; the driver owns one per node of the job, on its loop.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "launcher/agent_launcher.h"
#include "wire/link/channel.h"

namespace robustrun::supervisor {

struct NodeLink {
  base::Generation generation;               // of the agent launched last
  std::shared_ptr<wire::Channel> channel;    // null until connected and after it closed
  std::string address;                       // numeric, from its Hello or its NodeSpec
  std::string host;                          // its machine's own name, from its Hello
  std::vector<std::string> addresses;        // from which its workers connect; empty: unknown
  // Endpoint of an agent that we took over from another supervisor, until it is connected.
  std::string listens;
  bool joined = false;                       // its Hello was accepted
  bool lost = false;                         // given up: refused if it comes back
  bool suspect = false;
  bool answers = true;  // its machine answers on the second channel (leases.h)
  bool paused = false;  // we stopped reading, as the console is congested
  base::Nanos asked_at{};  // when its agent was launched; 0: it came by itself
  base::Nanos heard_at{};  // last message, by our clock
  std::optional<base::Nanos> broken_at;  // since when it has no connection
  base::Nanos returns_within{};  // how long it may be without; set with broken_at
  std::string broken_why;
  std::optional<launcher::AgentEnd> launcher_lost;  // the launcher lost it while it was connected
  base::Nanos clock_offset{};  // upper bound of our clock minus the node's
  std::vector<base::Rank> ranks;  // by local rank, of the current attempt
  // Orders of the current attempt, repeated on a new connection.
  std::vector<wire::Message> orders;
  base::Nanos kill_at{};  // end of a stop's grace period
  std::optional<wire::PlaceCopies> copies;  // repeated before the orders
  std::string bulk{};  // numeric endpoint for its peers (Hello::bulk); empty: none
  wire::StageNews stage{};  // the current stage of its start, with times of our clock
};

}  // namespace robustrun::supervisor
