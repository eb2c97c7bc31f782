#pragma once
// The TCP connections between ranks, as the kernels at both ends see them. The rules use them as
// links if no flows are known (gloo). Borrows the view.

#include <vector>

#include "tracer/analysis/fleet_view.h"
#include "tracer/analysis/verdict.h"

namespace robustrun::tracer {

struct Connection {
  Edge edge;  // the direction from the end that owns `socket`
  const SocketState* socket = nullptr;  // never null
  const SocketState* far = nullptr;  // the other end; never null
};

// The connections between the ranks `ats` (indices for FleetView::rank()), once per direction. Only
// connections of which both ends were seen; none of a rank with itself.
[[nodiscard]] std::vector<Connection> connections_of(const FleetView& view,
                                                     const std::vector<std::uint32_t>& ats);

// Whether data waits to be sent or acknowledged for another reason than that the peer does not
// read.
[[nodiscard]] bool is_stuck(const Connection& connection);

}  // namespace robustrun::tracer
