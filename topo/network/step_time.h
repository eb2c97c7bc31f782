#pragma once
// Estimates the network time of a step. Pure.
//
// Every group is a ring in the order of its ranks (PP: a chain). Each hop between two switches of a
// level loads the uplinks of both. All links work in parallel, so a kind of group takes the time of
// its most loaded link. The kinds' times are added. Levels of unknown bandwidth and kinds of
// unknown traffic count as 0.

#include <span>

#include "topo/network/cluster.h"
#include "topo/network/shape.h"
#include "topo/network/traffic.h"

namespace robustrun::topo {

// Share of a step that production jobs spend on communication, to express gains in % if no step
// time is known. Arnold (arXiv 2509.15940, section 1) has 30 to 50 %; this is the middle.
constexpr double kCommunicationShare = 0.4;

// Seconds per step; 0: unknown, or no group crosses switches. `nodes`: by place.
double step_seconds(const Cluster& cluster, const Shape& shape, const Traffic& traffic,
                    std::span<const NodeIndex> nodes);

}  // namespace robustrun::topo
