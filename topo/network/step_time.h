#pragma once
// Estimates the network time of a step. Pure.
//
// Every group is a ring in the order of its ranks (PP: a chain); each hop between two switches of a
// level loads both uplinks. The time of a kind is that of its most loaded link, all links working
// in parallel; kinds follow one another. Levels of unknown bandwidth and kinds of unknown traffic
// count as 0.

#include <span>

#include "topo/network/cluster.h"
#include "topo/network/shape.h"
#include "topo/network/traffic.h"

namespace robustrun::topo {

// Share of a step that production jobs spend on communication, used for gains in % if no step time
// is known: the middle of the 30 to 50 % of Arnold (arXiv 2509.15940, section 1).
constexpr double kCommunicationShare = 0.4;

// Seconds per step; 0: unknown.
double step_seconds(const Cluster& cluster, const Shape& shape, const Traffic& traffic,
                    std::span<const NodeIndex> nodes);

}  // namespace robustrun::topo
