#pragma once
// Where the nodes of a run meet, whether this node leads, and MASTER_ADDR and MASTER_PORT
// (docs/compat.md), checked. Pure but for questions to Surroundings::network.
//
// If the same command is started on every node, one node leads: with static and --node-rank, node
// 0; with c10d and is_host in --rdzv-conf, the node where that is true; otherwise the node that has
// the endpoint's address. With c10d the leader's supervisor listens on the endpoint's port, where
// torchrun has its store. With static that port is MASTER_PORT and belongs to the workers; the
// supervisor listens on the next port (for 65535, the one before), which every node can compute.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/core/result.h"
#include "cli/options/settings.h"
#include "cli/options/surroundings.h"

namespace robustrun::cli {

struct Rendezvous {
  std::string id;  // --rdzv-id, if the user gave one
  bool standalone = false;  // given, or implied by one node without a port
  std::string master_addr;  // empty: the node's address
  std::uint16_t master_port = 0;  // 0: a free port for every attempt
  std::string node_address;  // for MASTER_ADDR; empty: that of its connection to the supervisor
  std::vector<std::string> warnings;
};

// kHere: the run's nodes are on this machine. kHosts: on hosts that are named or that Slurm gives.
// kMeeting: they are started by hand.
enum class Where : std::uint8_t { kHere, kHosts, kMeeting };

[[nodiscard]] base::Result<Rendezvous> plan_rendezvous(const Settings& settings,
                                                       const Surroundings& around,
                                                       Where where = Where::kHere);

struct Endpoint {
  std::string host;  // IPv6 without brackets
  std::uint16_t port = 0;  // 0: none given
};
// host, host:port, [v6], [v6]:port; the error is a cause without a subject.
[[nodiscard]] base::Result<Endpoint> parse_endpoint(std::string_view text);

inline constexpr const char* kNoRunId = "none";  // torchrun's default for --rdzv-id

// Several nodes that are started by hand and meet at an endpoint.
struct Meeting {
  enum class Part : std::uint8_t {
    kHost,  // the supervisor is here
    kGuest,  // the supervisor is elsewhere
    kEither,  // here, unless another process of this machine has the port
  };
  Part part = Part::kGuest;
  Endpoint control;  // where the supervisor listens
  std::vector<std::string> addresses;  // of control.host, numeric; empty: not known yet
  std::optional<std::uint32_t> node_rank;
  std::string id;  // --rdzv-id, else kNoRunId; must be the same on every node
  std::optional<base::Nanos> join_timeout;  // of --rdzv-conf; compat: or torchrun's
  std::optional<base::Nanos> last_call;
};
[[nodiscard]] base::Result<Meeting> plan_meeting(const Settings& settings,
                                                 const Surroundings& around);

// k=v,k=v: every key needs a value.
[[nodiscard]] base::Status check_rdzv_conf(std::string_view text);
// The value of `key` in a checked text; the last one if the key is repeated.
[[nodiscard]] std::optional<std::string> rdzv_conf_value(std::string_view text,
                                                         std::string_view key);

}  // namespace robustrun::cli
