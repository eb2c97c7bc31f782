#include "tracer/analysis/verdict.h"

#include <array>

namespace robustrun::tracer {
namespace {

struct FindingRow {
  std::string_view rule;
  std::string_view name;
};
constexpr std::array<FindingRow, kFindings> kRows = {{
    {"", "nothing"},
    {"R1", "died"},
    {"R1b", "stopped"},
    {"R2", "never entered"},
    {"R3", "GPU before the operation"},
    {"R4a", "GPU inside the operation"},
    {"R4b", "link stuck"},
    {"R4c", "proxy stuck"},
    {"R5", "left behind"},
    {"R6", "mismatch"},
    {"R6b", "order inversion"},
    {"R7", "slow rank"},
    {"R8", "slow link"},
    {"R8b", "link down"},
    {"R9", "input stall"},
    {"R10", "long phase"},
    {"R11", "group failure"},
    {"", "undecided"},
    {"R12", "not ended"},
}};

const FindingRow& row_of(Finding finding) {
  const auto at = static_cast<std::size_t>(finding);
  return at < kRows.size() ? kRows[at] : kRows[static_cast<std::size_t>(Finding::kUndecided)];
}

}  // namespace

std::string_view rule_of(Finding finding) { return row_of(finding).rule; }

std::string_view to_string(Finding finding) { return row_of(finding).name; }

bool is_slowness(Finding finding) {
  return finding == Finding::kSlowRank || finding == Finding::kSlowLink;
}

std::string_view to_string(Confidence confidence) {
  switch (confidence) {
    case Confidence::kNone: return "none";
    case Confidence::kInferred: return "inferred";
    case Confidence::kMajority: return "majority";
    case Confidence::kExact: return "exact";
  }
  return "none";
}

}  // namespace robustrun::tracer
