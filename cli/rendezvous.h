#pragma once
// How many nodes, which of them is this, and MASTER_ADDR and MASTER_PORT (torchrun.md a.1.3,
// a.3.1, a.3.4), checked. Pure but for the question whether a port is free.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/core/result.h"
#include "cli/settings.h"
#include "cli/surroundings.h"

namespace robustrun::cli {

struct Rendezvous {
  std::string id;            // --rdzv-id, if the user gave one
  bool standalone = false;   // asked for, or implied: one node and no port named
  std::string master_addr;   // empty: the node's address
  std::uint16_t master_port = 0;  // 0: a free one for every attempt
  std::string node_address;
  std::vector<std::string> warnings;
};

[[nodiscard]] base::Result<Rendezvous> plan_rendezvous(const Settings& settings,
                                                       const Surroundings& around);

// "2" or "1:4" to (2, 2) or (1, 4).
[[nodiscard]] base::Result<std::pair<std::uint32_t, std::uint32_t>> parse_nnodes(
    std::string_view text);

struct Endpoint {
  std::string host;
  std::uint16_t port = 0;  // 0: none given
};
// host, host:port, [v6], [v6]:port; the error is a cause without a subject.
[[nodiscard]] base::Result<Endpoint> parse_endpoint(std::string_view text);

// k=v,k=v: every key needs a value.
[[nodiscard]] base::Status check_rdzv_conf(std::string_view text);

}  // namespace robustrun::cli
