#pragma once
// Why a node has its place, or none, in a few lines for people. Pure.
//
// Its groups and where their others are; then what else could have been: it exchanged with a node
// of another switch, a spare instead of it, or it instead of a node that works. At most
// kTriesMax of each are scored, one for each switch, and the cheapest is told.

#include <cstddef>
#include <string>

#include "topo/place.h"

namespace robustrun::topo {

constexpr std::size_t kTriesMax = 64;

// `placement` solves `problem`; `node` is one of its candidates.
std::string explain(const Problem& problem, const Placement& placement, NodeIndex node);

}  // namespace robustrun::topo
