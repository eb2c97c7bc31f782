#include "cli/options/options_table.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/core/result.h"
#include "cli/options/options_rows.h"

namespace robustrun::cli {
namespace {

using enum Group;

const std::array<Option, kOptionCount>& table() {
  static const std::array<Option, kOptionCount> kTable = [] {
    std::array<Option, kOptionCount> rows{};
    std::size_t count = 0;
    for (const auto& part : {torchrun_rows(), own_rows(), commands_rows()}) {
      for (const Option& row : part) {
        RR_ASSERT(count < kOptionCount && static_cast<std::size_t>(row.id) == count);
        rows[count++] = row;
      }
    }
    RR_ASSERT(count == kOptionCount);
    return rows;
  }();
  return kTable;
}

}  // namespace

std::span<const Option> options() { return table(); }

const Option& option(OptionId id) {
  RR_ASSERT(id < OptionId::kCount);
  return table()[static_cast<std::size_t>(id)];
}

const char* title(Group group) {
  switch (group) {
    case kWhat: return "What to run";
    case kRendezvous: return "Nodes and addresses";
    case kPlacement: return "Which rank runs where";
    case kFailures: return "Failures, restarts and the end";
    case kOutput: return "Output of workers";
    case kSelf: return "robustrun itself";
    case kCheck: return "For robustrun check alone";
    case kSubmit: return "For robustrun submit alone";
    case kPlan: return "For robustrun plan alone";
    case kReplay: return "For robustrun replay alone";
  }
  return "";
}

std::string underscored(std::string_view name) {
  std::string text(name);
  std::ranges::replace(text, '-', '_');
  return text;
}

std::string variable_name(const Option& row) {
  if (!row.variable) return "";
  std::string text = row.torchrun ? "PET_" : "ROBUSTRUN_";
  for (const char c : underscored(row.name)) {
    text += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return text;
}

std::string display_name(const Option& row) {
  std::string text;
  if (row.short_name != '\0') text = std::string("-") + row.short_name + "/";
  text += std::string("--") + row.name;
  const std::string second = underscored(row.name);
  if (row.torchrun && second != row.name) text += "/--" + second;
  return text;
}

const Option* find_by_key(std::string_view key) {
  const std::string wanted = underscored(key);
  for (const Option& row : table()) {
    if (row.file && (underscored(row.name) == wanted || (row.alias && row.alias == wanted))) {
      return &row;
    }
  }
  return nullptr;
}

}  // namespace robustrun::cli
