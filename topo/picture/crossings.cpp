#include "topo/picture/crossings.h"

#include <algorithm>

namespace robustrun::topo {

std::vector<std::vector<Crossing>> crossings(const Cluster& cluster, const Family& family,
                                             const std::vector<NodeIndex>& nodes) {
  const auto above = switches_by_level(cluster);
  std::vector<std::vector<Crossing>> all(cluster.levels.size());
  std::vector<std::uint32_t> touched;
  for (std::size_t level = 0; level < all.size(); ++level) {
    all[level].resize(cluster.levels[level].switches.size());
    for (std::uint32_t group = 0; group < family.groups(); ++group) {
      touched.clear();
      for (const PlaceIndex place : family.group(group)) {
        touched.push_back(above[level][nodes[place]]);
      }
      std::ranges::sort(touched);
      touched.erase(std::ranges::unique(touched).begin(), touched.end());
      for (const std::uint32_t at : touched) {
        all[level][at].groups += family.ranks[group];
        if (touched.size() > 1) all[level][at].beyond += family.ranks[group];
      }
    }
  }
  return all;
}

}  // namespace robustrun::topo
