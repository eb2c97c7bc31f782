#include "cli/tables/topology_file.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "base/core/text.h"
#include "cli/options/limits.h"
#include "cli/options/toml_reader.h"
#include "cli/options/toml_tree.h"
#include "cli/options/values.h"
#include "topo/limits.h"
#include "topo/network/complaint.h"
#include "topo/read/name_budget.h"

namespace robustrun::cli {
namespace {

using base::Result;
using base::Status;
using TomlType = TomlValue::Type;
using Names = std::vector<std::string>;

class Reader : TomlReader {
 public:
  explicit Reader(const std::string& path) : TomlReader(path, &at_line) { result_.source = path; }

  Result<topo::Description> read(const TomlValue& file) {
    for (const TomlEntry& entry : file.entries) {
      if (entry.key == "level") {
        RR_TRY(take_levels(entry));
      } else if (entry.key == "switch") {
        for (const TomlValue& table : RR_TRY(tables(entry))) RR_TRY(take_switch(table));
      } else if (entry.key == "node") {
        for (const TomlValue& table : RR_TRY(tables(entry))) RR_TRY(take_node(table));
      } else {
        return unknown(entry, {"level", "switch", "node"});
      }
    }
    return std::move(result_);
  }

 private:
  Status take_levels(const TomlEntry& entry) {
    if (entry.value.type != TomlType::kTable) return wrong_type(entry, "tables: [level.leaf]");
    for (const TomlEntry& level : entry.value.entries) {
      if (level.value.type != TomlType::kTable) return wrong_type(level, "a table: [level.leaf]");
      topo::LevelEntry& row = result_.levels.emplace_back();
      row.name = level.key;
      row.line = level.at.line;
      for (const TomlEntry& each : level.value.entries) {
        if (each.key != "gbps") return unknown(each, {"gbps"});
        row.gbps = RR_TRY(bandwidth(each));
      }
    }
    return {};
  }

  Status take_switch(const TomlValue& table) {
    topo::SwitchEntry row;
    row.line = table.at.line;
    for (const TomlEntry& entry : table.entries) {
      if (entry.key == "name") {
        row.name = RR_TRY(text(entry));
      } else if (entry.key == "level") {
        row.level = RR_TRY(text(entry));
      } else if (entry.key == "switches") {
        row.switches = RR_TRY(names(entry, mentioned_));
      } else if (entry.key == "nodes") {
        row.nodes = RR_TRY(names(entry, mentioned_));
      } else {
        return unknown(entry, {"name", "level", "switches", "nodes"});
      }
    }
    if (row.name.empty()) return error(table.at, "a switch needs a name: name = \"leaf1\"");
    result_.switches.push_back(std::move(row));
    return {};
  }

  Status take_node(const TomlValue& table) {
    topo::NodeEntry row;
    Names all;
    for (const TomlEntry& entry : table.entries) {
      if (entry.key == "name") {
        all = RR_TRY(names(entry, labelled_));
      } else if (entry.key == "slots") {
        row.slots = RR_TRY(slots(entry));
      } else if (entry.key == "nvl_domain") {
        row.nvl_domain = RR_TRY(text(entry));
      } else if (entry.key == "rack") {
        row.rack = RR_TRY(text(entry));
      } else if (entry.key == "power") {
        row.power = RR_TRY(text(entry));
      } else {
        return unknown(entry, {"name", "slots", "nvl_domain", "rack", "power"});
      }
    }
    if (all.empty()) return error(table.at, "a node needs a name: name = \"n1\"");
    row.line = table.at.line;
    for (std::string& name : all) {
      row.name = std::move(name);
      result_.nodes.push_back(row);
    }
    return {};
  }

  Result<std::vector<TomlValue>> tables(const TomlEntry& entry) const {
    const std::string wanted = fmt::format("tables of the form [[{}]]", entry.key);
    if (entry.value.type != TomlType::kArray) return wrong_type(entry, wanted);
    for (const TomlValue& item : entry.value.items) {
      if (item.type != TomlType::kTable) return wrong_type(entry, wanted);
    }
    return entry.value.items;
  }

  Result<std::string> text(const TomlEntry& entry) const {
    if (entry.value.type != TomlType::kString || entry.value.text.empty()) {
      return wrong_type(entry, "a string that is not empty");
    }
    return entry.value.text;
  }

  Result<double> bandwidth(const TomlEntry& entry) const {
    if (entry.value.type == TomlType::kInteger) return static_cast<double>(entry.value.integer);
    if (entry.value.type == TomlType::kNumber) return entry.value.number;
    return wrong_type(entry, "a number of Gbit/s");
  }

  Result<std::uint32_t> slots(const TomlEntry& entry) const {
    const std::int64_t number = entry.value.integer;
    if (entry.value.type != TomlType::kInteger || number < 1 || number > topo::kRanksMax) {
      return wrong_type(entry, "a number of ranks, at least 1");
    }
    return static_cast<std::uint32_t>(number);
  }

  Result<Names> names(const TomlEntry& entry, topo::NameBudget& budget) const {
    const auto expand = [&](const TomlValue& list) {
      return budget.expand(list.text, path(), list.at.line, entry.key);
    };
    if (entry.value.type == TomlType::kString) return expand(entry.value);
    constexpr const char* kWanted = "a list of names such as \"n[1-16]\", or an array of these";
    if (entry.value.type != TomlType::kArray) return wrong_type(entry, kWanted);
    Names all;
    for (const TomlValue& item : entry.value.items) {
      if (item.type != TomlType::kString) return wrong_type(entry, kWanted);
      for (std::string& name : RR_TRY(expand(item))) all.push_back(std::move(name));
    }
    return all;
  }

  static Error at_line(const std::string& path, TomlAt at, const std::string& what) {
    return topo::cannot_use(path, at.line, what);
  }

  topo::Description result_;
  topo::NameBudget mentioned_;
  topo::NameBudget labelled_;
};

}  // namespace

Result<topo::Description> parse_topology(std::string_view text, const std::string& path) {
  if (text.size() > kTopologyTomlBytesMax) {
    return topo::cannot_use(
        path, 0,
        fmt::format("longer than {} bytes; write lists with brackets", kTopologyTomlBytesMax),
        base::Errc::kLimit);
  }
  const TomlValue file = RR_TRY(parse_toml(text, path));
  return Reader(path).read(file);
}

}  // namespace robustrun::cli
