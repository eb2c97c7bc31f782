// A cluster in TOML: any bytes become a tree or an error that names the file.
// Seeds: configs

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cli/tables/topology_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto said = robustrun::cli::parse_topology(text, "fuzz.toml");
  if (!said) {
    const std::string& what = said.error().what;
    if (!what.starts_with("fuzz.toml:") && !what.starts_with("cannot use fuzz.toml")) std::abort();
    return 0;
  }
  const auto cluster = robustrun::topo::build_cluster(*said);
  if (!cluster && !cluster.error().what.starts_with("cannot use fuzz.toml")) std::abort();
  if (cluster && !robustrun::topo::is_consistent(*cluster)) std::abort();
  return 0;
}
