#pragma once
// Lists the broken links of this node in words: "eth1: no carrier", "mlx5_0/1: DOWN".
//
// A machine has many unused ports, so only some are looked at: interfaces that carry one of the
// worker's connections, physical interfaces that have an address, and InfiniBand ports that have
// lost a link since the driver was loaded. Addresses of connections that no interface has any more
// are listed, too. Blocks as long as an adapter does: for the blocking pool.

#include <span>
#include <string>
#include <vector>

#include "tracer/analysis/evidence.h"

namespace robustrun::agent {

struct InterfaceAddress {
  std::string interface;
  std::string address;  // numeric, without a scope
};

// Addresses of all interfaces, including those that are down.
[[nodiscard]] std::vector<InterfaceAddress> interface_addresses();

// At most kLinksMax lines. `root` is put before /sys, for tests.
[[nodiscard]] std::vector<std::string> broken_links(
    std::span<const tracer::SocketState> connections, std::span<const InterfaceAddress> addresses,
    const std::string& root = "");

}  // namespace robustrun::agent
