#pragma once
// The TCP connections between ranks, as the kernels at both ends see them. They stand in for links
// where no flows are known (gloo). Borrows the view.

#include <vector>

#include "tracer/analysis/fleet_view.h"
#include "tracer/analysis/verdict.h"

namespace robustrun::tracer {

struct Connection {
  Edge edge;  // the direction from the end that owns `socket`
  const SocketState* socket = nullptr;  // never null
  const SocketState* far = nullptr;  // the other end; never null
};

// The connections between the ranks `ats` (indices for FleetView::rank()), once per direction; only
// connections whose two ends were both seen. Connections of a rank with itself are left out.
[[nodiscard]] std::vector<Connection> connections_of(const FleetView& view,
                                                     const std::vector<std::uint32_t>& ats);

// Whether data waits to be sent or acknowledged, and not because the peer does not read.
[[nodiscard]] bool is_stuck(const Connection& connection);

}  // namespace robustrun::tracer
