#pragma once
// Links of this node that are broken, in words: "eth1: no carrier", "mlx5_0/1: DOWN".
//
// A machine has many unused ports. Reported are interfaces that carry one of the worker's
// connections, physical ones that have an address, and InfiniBand ports that lost a link since
// their driver began. Blocks as long as an adapter does: for the blocking pool.

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

// At most kLinksMax lines. `root` is put before /sys.
[[nodiscard]] std::vector<std::string> broken_links(
    std::span<const tracer::SocketState> connections, std::span<const InterfaceAddress> addresses,
    const std::string& root = "");

}  // namespace robustrun::agent
