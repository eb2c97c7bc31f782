// show_topology FILE: prints the cluster that topo/ reads from it, one line per node in the file's
// order: "node: switch switch ...", from the bottom up; and "LEVEL switches" for each level. Errors
// go to stderr, with exit code 2.

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "topo/network/description.h"
#include "topo/read/topology.h"

int main(int argc, char** argv) {
  using namespace robustrun::topo;
  if (argc != 2) return 2;
  std::ifstream file(argv[1]);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto said = read_topology(text, argv[1]);
  const auto cluster = said ? build_cluster(*said) : std::unexpected(said.error());
  if (!cluster) {
    std::fprintf(stderr, "%s\n", cluster.error().what.c_str());
    return 2;
  }
  for (NodeIndex node = 0; node < cluster->nodes.size(); ++node) {
    std::string line = cluster->nodes[node].name + ":";
    for (std::size_t level = 0; level < cluster->levels.size(); ++level) {
      line += " " + cluster->levels[level].switches[switch_of(*cluster, node, level)].name;
    }
    std::puts(line.c_str());
  }
  for (const Level& level : cluster->levels) {
    std::printf("%s %zu\n", level.name.c_str(), level.switches.size());
  }
  return 0;
}
