#include "cli/placement/cluster_source.h"

#include <fmt/format.h>

#include "base/core/text.h"
#include "cli/tables/topology_file.h"
#include "topo/network/description.h"
#include "topo/network/nvl_domains.h"
#include "topo/read/names.h"
#include "topo/read/scontrol.h"
#include "topo/read/topology.h"

namespace robustrun::cli {
namespace {

using base::Result;
using topo::Cluster;
using Hosts = std::vector<std::string>;

Result<topo::Description> read_file(const std::string& path, const Surroundings& around) {
  const std::string text = RR_TRY(around.fabric->read_file(path));
  return path.ends_with(".toml") ? parse_topology(text, path) : topo::read_topology(text, path);
}

Result<Cluster> cluster_of(const Result<topo::Description>& read, const Hosts& hosts) {
  if (!read) return std::unexpected(read.error());
  const Cluster whole = RR_TRY(topo::build_cluster(*read));
  return topo::with_nvl_domains(RR_TRY(topo::restrict_to(whole, hosts)));
}

Result<Cluster> from_file(const std::string& path, const Hosts& hosts, const Surroundings& around) {
  return cluster_of(read_file(path, around), hosts);
}

Result<Cluster> from_slurm(const Hosts& hosts, const Surroundings& around) {
  const auto scontrol =
      around.machine->find_executable("scontrol", around.variable("PATH").value_or(""));
  if (!scontrol) return base::fail(base::Errc::kNotFound, "scontrol is not on PATH");
  const std::string text = RR_TRY(around.fabric->ask_slurm(*scontrol));
  if (base::trim(text).empty()) {
    return base::fail(base::Errc::kNotFound, "Slurm has no topology");
  }
  return cluster_of(topo::read_scontrol(text, "scontrol show topology"), hosts);
}

Result<Cluster> from_names(const Hosts& hosts) {
  const auto racks = topo::read_names(hosts);
  if (!racks) return base::fail(base::Errc::kNotFound, "host names show no racks");
  return cluster_of(*racks, hosts);
}

Cluster guess(const Hosts& hosts, const Surroundings& around) {
  std::string why;
  if (hosts.size() > 1 && around.variable("SLURM_JOB_ID")) {
    auto cluster = from_slurm(hosts, around);
    if (cluster) return *std::move(cluster);
    why = fmt::format("; {}", cluster.error().what);
  }
  Cluster cluster = from_names(hosts).value_or(topo::flat_cluster(hosts));
  cluster.source += why;
  return cluster;
}

}  // namespace

Result<Cluster> find_cluster(const std::string& topology, const Hosts& hosts,
                             const Surroundings& around) {
  if (topology == "auto") return guess(hosts, around);
  if (topology == "off") return topo::flat_cluster(hosts);
  return from_file(topology, hosts, around);
}

Result<Cluster> whole_cluster(const std::string& path, const Surroundings& around) {
  const topo::Description description = RR_TRY(read_file(path, around));
  return topo::with_nvl_domains(RR_TRY(topo::build_cluster(description)));
}

}  // namespace robustrun::cli
