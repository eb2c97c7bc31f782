#include "topo/read/slurm_conf.h"

#include <fmt/format.h>

#include <array>

#include "base/core/text.h"
#include "topo/network/complaint.h"
#include "topo/read/slurm_blocks.h"
#include "topo/read/slurm_lines.h"

namespace robustrun::topo {
namespace {

class ConfReader {
 public:
  explicit ConfReader(const std::string& source) { result_.source = source; }

  base::Result<Description> read(std::string_view text) {
    for (const SlurmLine& line : RR_TRY(read_slurm_lines(text, result_.source))) {
      if (line.is_about("SwitchName")) {
        RR_TRY(take_switch(line));
      } else if (line.is_about("BlockName")) {
        RR_TRY(take_block(line));
      } else if (line.is_about("BlockSizes")) {
        RR_TRY(take_sizes(line));
      } else {
        RR_TRY(check_keys(line, kFirstKeys, result_.source));
      }
    }
    const bool is_tree = !result_.switches.empty();
    if (!is_tree) RR_TRY(add_blocks(blocks_, sizes_, result_));
    add_domains(is_tree);
    return std::move(result_);
  }

 private:
  static inline const std::array<std::string, 3> kFirstKeys = {"SwitchName", "BlockName",
                                                               "BlockSizes"};
  static inline const std::array<std::string, 4> kSwitchKeys = {"SwitchName", "Switches", "Nodes",
                                                                "LinkSpeed"};
  static inline const std::array<std::string, 2> kBlockKeys = {"BlockName", "Nodes"};
  static inline const std::array<std::string, 1> kSizesKeys = {"BlockSizes"};

  base::Status take_switch(const SlurmLine& line) {
    RR_TRY(check_keys(line, kSwitchKeys, result_.source));
    RR_TRY(number_in(line, "LinkSpeed", result_.source));
    SwitchEntry entry;
    entry.name = *line.value("SwitchName");
    entry.switches = RR_TRY(names_in(line, "Switches", result_.source, names_));
    entry.nodes = RR_TRY(names_in(line, "Nodes", result_.source, names_));
    entry.line = line.line;
    result_.switches.push_back(std::move(entry));
    return {};
  }

  base::Status take_block(const SlurmLine& line) {
    RR_TRY(check_keys(line, kBlockKeys, result_.source));
    SlurmBlock block;
    block.name = *line.value("BlockName");
    block.nodes = RR_TRY(names_in(line, "Nodes", result_.source, names_));
    block.line = line.line;
    blocks_.push_back(std::move(block));
    domains_.push_back(line.comment.starts_with(blocks_.back().name + "=")
                           ? line.comment.substr(blocks_.back().name.size() + 1)
                           : "");
    return {};
  }

  base::Status take_sizes(const SlurmLine& line) {
    RR_TRY(check_keys(line, kSizesKeys, result_.source));
    if (sizes_.line != 0) {
      return cannot_use(
          result_.source, line.line,
          fmt::format("BlockSizes is given twice (line {}); give it once", sizes_.line));
    }
    sizes_.nodes = RR_TRY(parse_block_sizes(*line.value("BlockSizes"), result_.source, line.line));
    sizes_.line = line.line;
    return {};
  }

  void add_domains(bool is_tree) {
    for (std::size_t at = 0; at < blocks_.size(); ++at) {
      const std::string& domain = domains_[at].empty() && is_tree ? blocks_[at].name : domains_[at];
      if (domain.empty()) continue;
      for (const std::string& node : blocks_[at].nodes) {
        result_.nodes.push_back({node, 0, domain, {}, {}, blocks_[at].line});
      }
    }
  }

  Description result_;
  NameBudget names_;
  std::vector<SlurmBlock> blocks_;
  std::vector<std::string> domains_;  // by block
  SlurmBlockSizes sizes_;
};

}  // namespace

base::Result<Description> read_slurm_conf(std::string_view text, const std::string& source) {
  return ConfReader(source).read(text);
}

}  // namespace robustrun::topo
