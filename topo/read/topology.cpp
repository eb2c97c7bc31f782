#include "topo/read/topology.h"

#include <algorithm>

#include "base/core/text.h"
#include "topo/network/complaint.h"
#include "topo/read/scontrol.h"
#include "topo/read/slurm_addr.h"
#include "topo/read/slurm_conf.h"
#include "topo/read/topograph.h"

namespace robustrun::topo {
namespace {

bool has_key(std::string_view line, std::string_view key) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  const auto found = std::ranges::search(line, key, {}, lower, lower);
  const auto next =
      std::find_if_not(found.end(), line.end(), [](char c) { return c == ' ' || c == '\t'; });
  return !found.empty() && next != line.end() && *next == '=';
}

// The format, by the first line that is neither empty nor a comment.
base::Result<Description> read_as(std::string_view line, std::uint32_t number,
                                  std::string_view text, const std::string& source) {
  const bool is_slurm =
      has_key(line, "switchname") || has_key(line, "blockname") || has_key(line, "blocksizes");
  if (is_slurm && (has_key(line, "level") || has_key(line, "blockindex"))) {
    return read_scontrol(text, source);
  }
  if (is_slurm) return read_slurm_conf(text, source);
  if (is_label_table(line)) return read_topograph(text, source);
  if (is_slurm_addr(line)) return read_slurm_addr(text, source);
  if (line.starts_with("---") || line.starts_with("- ")) {
    return cannot_use(source, number,
                      "YAML is not supported; use the output of `scontrol show "
                      "topology`, or a topology.conf");
  }
  if (line.starts_with('{') || line.starts_with('[')) {
    return cannot_use(
        source, number,
        "this looks like JSON or TOML; JSON is not supported, a TOML file needs a name that ends "
        "in "
        ".toml, and labels are read from the output of `kubectl get nodes --show-labels`");
  }
  return cannot_use(source, number,
                    "unknown format; expected Slurm's topology.conf, the output of `scontrol show "
                    "topology` or of `kubectl get nodes --show-labels`, or our own TOML in a file "
                    "whose name ends in .toml");
}

}  // namespace

base::Result<Description> read_topology(std::string_view text, const std::string& source) {
  std::uint32_t number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const auto end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = base::trim(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++number;
    if (!line.empty() && !line.starts_with('#')) return read_as(line, number, text, source);
  }
  return cannot_use(source, 0, "it is empty");
}

}  // namespace robustrun::topo
