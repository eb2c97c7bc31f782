#include "topo/read/scontrol.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "topo/network/complaint.h"
#include "topo/read/slurm_blocks.h"
#include "topo/read/slurm_lines.h"

namespace robustrun::topo {
namespace {

class ScontrolReader {
 public:
  explicit ScontrolReader(const std::string& source) { result_.source = source; }

  base::Result<Description> read(std::string_view text) {
    for (const SlurmLine& line : RR_TRY(read_slurm_lines(text, result_.source))) {
      if (line.is_about("SwitchName")) {
        RR_TRY(take_switch(line));
      } else if (line.is_about("BlockName")) {
        RR_TRY(take_block(line));
      } else if (line.is_about("AggregatedBlock")) {
        sizes_.insert(RR_TRY(number_in(line, "BlockSize", result_.source)));
      } else {
        return cannot_use(result_.source, line.line,
                          fmt::format("unknown key {}; expected SwitchName, BlockName or "
                                      "AggregatedBlock (topology/tree and topology/block)",
                                      line.pairs.front().key.substr(0, kNameBytesMax)));
      }
    }
    drop_empty();
    RR_TRY(add_all_blocks());
    return std::move(result_);
  }

 private:
  base::Status take_switch(const SlurmLine& line) {
    SwitchEntry entry;
    entry.name = *line.value("SwitchName");
    entry.switches = RR_TRY(names_in(line, "Switches", result_.source, names_));
    if (entry.switches.empty())
      entry.nodes = RR_TRY(names_in(line, "Nodes", result_.source, names_));
    entry.line = line.line;
    result_.switches.push_back(std::move(entry));
    return {};
  }

  base::Status take_block(const SlurmLine& line) {
    SlurmBlock block;
    block.name = *line.value("BlockName");
    block.nodes = RR_TRY(names_in(line, "Nodes", result_.source, names_));
    block.line = line.line;
    sizes_.insert(RR_TRY(number_in(line, "BlockSize", result_.source)));
    const std::uint32_t index = RR_TRY(number_in(line, "BlockIndex", result_.source));
    blocks_.emplace_back(index, std::move(block));
    return {};
  }

  // Removes switches below which no node is left.
  void drop_empty() {
    std::map<std::string_view, std::size_t> left;     // by switch: number of its children
    std::map<std::string_view, const SwitchEntry*> above;
    std::vector<std::string> gone;
    for (const SwitchEntry& entry : result_.switches) {
      left[entry.name] += entry.switches.size() + entry.nodes.size();
      for (const std::string& below : entry.switches) above[below] = &entry;
    }
    for (const auto& [name, count] : left) {
      if (count == 0) gone.emplace_back(name);
    }
    for (std::size_t at = 0; at < gone.size(); ++at) {
      const auto parent = above.find(gone[at]);
      if (parent != above.end() && --left[parent->second->name] == 0) {
        gone.push_back(parent->second->name);
      }
    }
    std::ranges::sort(gone);
    const auto is_gone = [&](const std::string& name) {
      return std::ranges::binary_search(gone, name);
    };
    std::erase_if(result_.switches, [&](const SwitchEntry& entry) { return is_gone(entry.name); });
    for (SwitchEntry& entry : result_.switches) std::erase_if(entry.switches, is_gone);
  }

  // Joined blocks are derived from the sizes, so that they have the same names as from a
  // topology.conf.
  base::Status add_all_blocks() {
    std::ranges::stable_sort(blocks_, {}, &std::pair<std::uint32_t, SlurmBlock>::first);
    std::vector<SlurmBlock> blocks;
    for (auto& [index, block] : blocks_) blocks.push_back(std::move(block));
    if (blocks.empty()) return {};
    if (!result_.switches.empty()) {
      return cannot_use(result_.source, blocks.front().line,
                        "it has both switches and blocks; keep one of the two");
    }
    sizes_.erase(0);
    return add_blocks(blocks, {{sizes_.begin(), sizes_.end()}, blocks.front().line}, result_);
  }

  Description result_;
  NameBudget names_;
  std::vector<std::pair<std::uint32_t, SlurmBlock>> blocks_;  // with BlockIndex
  std::set<std::uint32_t> sizes_;
};

}  // namespace

base::Result<Description> read_scontrol(std::string_view text, const std::string& source) {
  return ScontrolReader(source).read(text);
}

}  // namespace robustrun::topo
