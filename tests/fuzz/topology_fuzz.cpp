// Descriptions of clusters: any bytes become a tree that holds together, or one line that says what
// is wrong.
// Seeds: tests/fixtures/topology

#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/core/text.h"
#include "topo/limits.h"
#include "topo/network/description.h"
#include "topo/read/names.h"
#include "topo/read/scontrol.h"
#include "topo/read/slurm_addr.h"
#include "topo/read/slurm_conf.h"
#include "topo/read/topograph.h"
#include "topo/read/topology.h"

namespace {

using namespace robustrun;
using topo::Cluster;

void must(bool claim) {
  if (!claim) std::abort();
}

void check_error(const base::Error& error) {
  must(error.what.starts_with("cannot use fuzz"));
  must(base::printable(error.what) == error.what);
}

void check_cluster(const Cluster& cluster) {
  must(topo::is_consistent(cluster) && !cluster.nodes.empty());
  std::vector<std::string> names;
  for (const topo::Node& node : cluster.nodes) names.push_back(node.name);
  // Every node is there once, so that all of them are a part of the whole.
  const auto part = topo::restrict_to(cluster, names);
  must(part.has_value() && part->nodes.size() == names.size());
  for (const topo::Level& level : cluster.levels) must(!level.name.empty());
}

void check(const base::Result<topo::Description>& said) {
  if (!said) return check_error(said.error());
  const auto cluster = topo::build_cluster(*said);
  if (cluster) return check_cluster(*cluster);
  check_error(cluster.error());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(topo::read_topology(text, "fuzz"));
  check(topo::read_slurm_conf(text, "fuzz"));
  check(topo::read_scontrol(text, "fuzz"));
  check(topo::read_slurm_addr(text, "fuzz"));
  check(topo::read_topograph(text, "fuzz"));
  std::vector<std::string> hosts;
  for (const std::string_view host : base::split(text, '\n')) hosts.emplace_back(host);
  if (auto racks = topo::read_names(hosts)) {
    must(racks->switches.size() > 1 && racks->source.starts_with("host names ("));
    must(base::printable(racks->source) == racks->source);
    racks->source = "fuzz";
    check(*racks);
  }
  return 0;
}
