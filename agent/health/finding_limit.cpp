#include "agent/health/finding_limit.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "agent/health/limits.h"
#include "wire/messages/limits.h"

namespace robustrun::agent {

using base::Nanos;

std::optional<wire::NodeHealth> FindingLimit::admit(wire::NodeHealth finding, Nanos now) {
  const auto source =
      std::min<std::size_t>(static_cast<std::size_t>(finding.source), wire::kHealthSources - 1);
  Quota& quota = quotas_[source + (finding.over ? wire::kHealthSources : 0)];
  while (!quota.told.empty() && now - quota.told.front() >= std::chrono::minutes(1)) {
    quota.told.pop_front();
  }
  if (quota.told.size() >= kFindingsPerMinute) {
    ++quota.left_out;
    return std::nullopt;
  }
  quota.told.push_back(now);
  if (const std::uint32_t left_out = std::exchange(quota.left_out, 0); left_out > 0) {
    const std::string words = fmt::format(" (after {} that were left out)", left_out);
    finding.line = wire::short_text(finding.line, wire::kHealthLineBytesMax - words.size());
    finding.line += words;
  }
  return finding;
}

bool Repeats::is_repeated(const std::string& topic, Nanos now) {
  const auto [entry, is_new] = told_.try_emplace(topic, now);
  if (!is_new && now - entry->second < apart_) return true;
  entry->second = now;
  if (told_.size() > kKernelTopicsMax) {
    const auto oldest =
        std::ranges::min_element(told_, {}, [](const auto& each) { return each.second; });
    told_.erase(oldest);
  }
  return false;
}

bool XidEchoes::is_echo(Teller teller, const std::string& pci, std::uint32_t xid, Nanos now) {
  while (!told_.empty() && now - told_.front().at >= kXidEcho) told_.pop_front();
  const auto original = std::ranges::find_if(told_, [&](const Told& each) {
    return each.teller != teller && each.xid == xid && each.pci == pci;
  });
  if (original != told_.end()) {
    told_.erase(original);
    return true;
  }
  if (told_.size() < kKernelTopicsMax) told_.push_back({teller, pci, xid, now});
  return false;
}

}  // namespace robustrun::agent
