#include "topo/network/step_time.h"

#include <algorithm>
#include <vector>

namespace robustrun::topo {
namespace {

// Load on the uplinks of one level's switches, in bytes per step.
class Uplinks {
 public:
  explicit Uplinks(std::size_t switches) : up_(switches, 0), down_(switches, 0) {}
  void hop(std::uint32_t from, std::uint32_t to, double bytes) {
    if (from == to) return;
    up_[from] += bytes;
    down_[to] += bytes;
  }
  // Both directions transfer at the same time.
  [[nodiscard]] double busiest() const {
    return std::max(std::ranges::max(up_), std::ranges::max(down_));
  }

 private:
  std::vector<double> up_, down_;
};

double busiest_uplink(const Family& family, double bytes,
                      const std::vector<std::uint32_t>& switch_at, std::size_t switches) {
  Uplinks links(switches);
  for (std::uint32_t g = 0; g < family.groups(); ++g) {
    const auto group = family.group(g);
    const double all = bytes * family.ranks[g];
    for (std::size_t i = 1; i < group.size(); ++i) {
      const std::uint32_t from = switch_at[group[i - 1]];
      const std::uint32_t to = switch_at[group[i]];
      if (family.kind == GroupKind::kPp) {
        links.hop(from, to, all / 2);  // activations
        links.hop(to, from, all / 2);  // and their gradients
      } else {
        links.hop(from, to, all);
      }
    }
    if (family.kind != GroupKind::kPp) {
      links.hop(switch_at[group.back()], switch_at[group.front()], all);
    }
  }
  return links.busiest();
}

}  // namespace

double step_seconds(const Cluster& cluster, const Shape& shape, const Traffic& traffic,
                    std::span<const NodeIndex> nodes) {
  constexpr double kBitsPerByte = 8;
  constexpr double kBitsPerGigabit = 1e9;
  RR_ASSERT(nodes.size() == shape.places());
  std::vector<double> of_family(shape.families.size(), 0);
  std::vector<std::uint32_t> switch_at;  // by place
  for (const NodeIndex node : nodes) switch_at.push_back(cluster.leaf_of[node]);
  for (const Level& level : cluster.levels) {
    for (std::size_t f = 0; f < of_family.size() && level.gbps > 0; ++f) {
      const Family& family = shape.families[f];
      const double bytes = traffic.of(family.kind);
      if (bytes <= 0) continue;
      const double busiest = busiest_uplink(family, bytes, switch_at, level.switches.size());
      of_family[f] =
          std::max(of_family[f], busiest * kBitsPerByte / (level.gbps * kBitsPerGigabit));
    }
    if (&level == &cluster.levels.back()) break;
    for (std::uint32_t& at : switch_at) at = level.switches[at].parent;
  }
  double seconds = 0;
  for (const double one : of_family) seconds += one;
  return seconds;
}

}  // namespace robustrun::topo
