#pragma once
// Explains in a few lines why a node has its place, or none. Pure.
//
// Lists its groups and the switches that they touch; then the alternatives: an exchange with a node
// of another switch, a spare instead of this node, or this node instead of a working one. At most
// about kTriesMax of each are scored, of working nodes one per switch, and the cheapest is shown.

#include <cstddef>
#include <string>

#include "topo/place.h"

namespace robustrun::topo {

constexpr std::size_t kTriesMax = 64;

// `placement` solves `problem`; `node` is one of its candidates.
std::string explain(const Problem& problem, const Placement& placement, NodeIndex node);

}  // namespace robustrun::topo
