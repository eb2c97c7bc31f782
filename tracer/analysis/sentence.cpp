#include "tracer/analysis/sentence.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/result.h"
#include "base/core/text.h"
#include "base/core/words.h"
#include "tracer/analysis/limits.h"

namespace robustrun::tracer {
namespace {

std::string node_text(const FleetView& view, const std::vector<std::uint32_t>& ats) {
  std::vector<std::string> nodes;
  for (const std::uint32_t at : ats) {
    const std::string& node = view.rank(at).node;
    if (!node.empty()) nodes.push_back(node.substr(0, kNameBytes));
  }
  std::ranges::sort(nodes, base::natural_less);
  nodes.erase(std::ranges::unique(nodes).begin(), nodes.end());
  if (nodes.empty()) return "";
  if (nodes.size() > kNodesNamed) return fmt::format(" ({} nodes)", nodes.size());
  return " (" + base::join(nodes, ", ") + ")";
}

}  // namespace

std::string for_text(base::Nanos age) {
  return age > base::Nanos{} ? " for " + base::rough_duration_words(age) : "";
}

std::string amount_text(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  std::size_t unit = 0;
  auto amount = static_cast<double>(bytes);
  for (; amount >= 999.5 && unit + 1 < std::size(kUnits); ++unit) amount /= 1000;
  if (unit > 0 && amount < 9.95) return fmt::format("{:.1f} {}", amount, kUnits[unit]);
  return fmt::format("{:.0f} {}", amount, kUnits[unit]);
}

std::string list_text(const std::vector<std::uint32_t>& numbers) {
  const std::size_t named = std::min(numbers.size(), kRanksNamed);
  std::string text;
  for (std::size_t i = 0; i < named; ++i) {
    const bool is_last = i + 1 == numbers.size();
    if (i > 0) text += is_last ? " and " : ", ";
    text += std::to_string(numbers[i]);
  }
  if (named < numbers.size()) text += fmt::format(" and {} more", numbers.size() - named);
  return text;
}

std::string lines_text(const std::set<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    if (text.size() + line.size() + 2 > kSentenceBytes) break;
    if (!text.empty()) text += ", ";
    text += line;
  }
  return text;
}

std::string ranks_text(const FleetView& view, const std::vector<std::uint32_t>& ats) {
  RR_ASSERT(!ats.empty());
  if (ats.size() == 1) {
    const RankSnapshot& rank = view.rank(ats.front());
    if (rank.node.empty()) return fmt::format("rank {}", rank.rank.value);
    return fmt::format("rank {} ({}, local {})", rank.rank.value, rank.node.substr(0, kNameBytes),
                       rank.local_rank.value);
  }
  std::vector<std::uint32_t> numbers;
  for (const std::uint32_t at : ats) numbers.push_back(view.rank(at).rank.value);
  return "ranks " + list_text(numbers) + node_text(view, ats);
}

std::string group_text(const FleetView& view, const Communicator& comm) {
  const std::string name = view.group_name(comm);
  return name.empty() ? fmt::format("{} ranks", comm.size) : "group " + name;
}

std::string operation_text(const FleetView& view, const Communicator& comm, std::uint64_t ordinal,
                           const Signature& signature) {
  const bool is_named = signature.kind != OpKind::kUnknown && signature.kind != OpKind::kOther;
  std::string text = is_named ? std::string(to_string(signature.kind)) : "operation";
  if (ordinal != 0) text += fmt::format(" #{}", ordinal);
  if (is_point_to_point(signature.kind)) {
    const Member* const peer = comm.find(signature.root);
    const std::uint32_t number = peer == nullptr ? static_cast<std::uint32_t>(signature.root)
                                                 : view.rank(peer->at).rank.value;
    const char* const way = signature.kind == OpKind::kSend ? "to" : "from";
    const char* const what = peer == nullptr ? "member" : "rank";
    text += fmt::format(" {} {} {}", way, what, number);
  }
  const bool has_size = signature.bytes() > 0 && signature.kind != OpKind::kBarrier;
  text += " (";
  if (has_size) text += amount_text(signature.bytes()) + ", ";
  return text + group_text(view, comm) + ")";
}

std::string signature_text(const Signature& signature) {
  std::string text(to_string(signature.kind));
  if (signature.type == DataType::kUnknown) {
    if (signature.count > 0) text += fmt::format(" of {} elements", signature.count);
  } else {
    text += fmt::format(" of {} {}", signature.count, to_string(signature.type));
  }
  if (signature.root >= 0 && !is_point_to_point(signature.kind)) {
    text += fmt::format(" at member {}", signature.root);
  }
  return text;
}

std::string waiting_text(const FleetView& view, const std::vector<std::uint32_t>& victims,
                         bool for_several) {
  const char* const culprits = for_several ? "them" : "it";
  if (victims.empty()) return "";
  if (victims.size() > 1) return fmt::format("; {} ranks wait for {}", victims.size(), culprits);
  return fmt::format("; rank {} waits for {}", view.rank(victims.front()).rank.value, culprits);
}

}  // namespace robustrun::tracer
