#pragma once
// TCP connections of ranks with each other, as the kernels at both ends tell of them: what there is
// of links where no flows are known (gloo). Borrows the view.

#include <vector>

#include "tracer/analysis/fleet_view.h"
#include "tracer/analysis/verdict.h"

namespace robustrun::tracer {

struct Connection {
  Edge edge;  // from whose end it is seen: what it sends
  const SocketState* socket = nullptr;  // never null
  const SocketState* far = nullptr;  // the other end's, never null
};

// Of the ranks `ats`, and both ends are seen; one that a rank has with itself is left out.
[[nodiscard]] std::vector<Connection> connections_of(const FleetView& view,
                                                     const std::vector<std::uint32_t>& ats);

// Data waits to get there and nobody acknowledges it, though the peer has read all that came.
[[nodiscard]] bool is_stuck(const Connection& connection);

}  // namespace robustrun::tracer
