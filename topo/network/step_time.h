#pragma once
// An estimate of the time a step spends on the network. Pure.
//
// Every group is a ring in the order of its ranks (PP: a chain); each hop between two switches of a
// level loads the uplink of both. A kind's time is that of its most loaded link, all links working
// at once; kinds follow one another. Levels without a known bandwidth, and kinds without known
// traffic, count nothing.

#include <span>

#include "topo/network/cluster.h"
#include "topo/network/shape.h"
#include "topo/network/traffic.h"

namespace robustrun::topo {

// Share of a step that production jobs spend on communication, for gains in % where no step time
// is known: the middle of Arnold's 30 to 50 % (section 1).
constexpr double kCommunicationShare = 0.4;

// Seconds per step; 0: nothing known.
double step_seconds(const Cluster& cluster, const Shape& shape, const Traffic& traffic,
                    std::span<const NodeIndex> nodes);

}  // namespace robustrun::topo
