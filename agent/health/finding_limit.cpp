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
  while (!quota.reported.empty() && now - quota.reported.front() >= std::chrono::minutes(1)) {
    quota.reported.pop_front();
  }
  if (quota.reported.size() >= kFindingsPerMinute) {
    ++quota.left_out;
    return std::nullopt;
  }
  quota.reported.push_back(now);
  if (const std::uint32_t left_out = std::exchange(quota.left_out, 0); left_out > 0) {
    const std::string words = fmt::format(" (after {} that were left out)", left_out);
    finding.line = wire::short_text(finding.line, wire::kHealthLineBytesMax - words.size());
    finding.line += words;
  }
  return finding;
}

bool Repeats::is_repeated(const std::string& topic, Nanos now) {
  const auto [entry, is_new] = reported_.try_emplace(topic, now);
  if (!is_new && now - entry->second < apart_) return true;
  entry->second = now;
  if (reported_.size() > kKernelTopicsMax) {
    const auto oldest =
        std::ranges::min_element(reported_, {}, [](const auto& each) { return each.second; });
    reported_.erase(oldest);
  }
  return false;
}

bool XidEchoes::is_echo(Source source, const std::string& pci, std::uint32_t xid, Nanos now) {
  while (!reported_.empty() && now - reported_.front().at >= kXidEcho) reported_.pop_front();
  const auto original = std::ranges::find_if(reported_, [&](const Report& each) {
    return each.source != source && each.xid == xid && each.pci == pci;
  });
  if (original != reported_.end()) {
    reported_.erase(original);
    return true;
  }
  if (reported_.size() < kKernelTopicsMax) reported_.push_back({source, pci, xid, now});
  return false;
}

}  // namespace robustrun::agent
