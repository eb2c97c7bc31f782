#include "agent/rescue.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/core/text.h"
#include "checkpoint/staging.h"

namespace robustrun::agent {
namespace {

using base::Errc;
using base::Result;

struct LeftCopy {
  base::Rank rank;
  std::span<char> slot;
  checkpoint::MemoryCopy copy;
};

// The newest attempt first.
using ByAttempt = std::map<std::tuple<std::uint64_t, std::uint64_t, std::string>,
                           std::vector<LeftCopy>, std::greater<>>;

Result<checkpoint::Store> open_store(const std::vector<std::string>& directories) {
  checkpoint::StoreOptions options;
  for (const std::string& directory : directories) {
    if (!directory.starts_with('/')) {
      return base::fail(Errc::kCorrupt, "a copy in memory names no directory: '" +
                                            base::printable(directory) + "'");
    }
    options.mounts.push_back({directory, 1});
  }
  return checkpoint::Store::open(std::move(options));
}

Result<bool> rescue(const LeftCopy& left) {
  const checkpoint::Head& head = left.copy.manifest.head;
  checkpoint::Store store = RR_TRY(open_store(head.mounts));
  if (left.copy.state == checkpoint::SlotState::kDrained) {
    return RR_TRY(store.commit_if_complete(head.attempt, head.attempt.generation)).committed;
  }
  return RR_TRY(checkpoint::drain_copy(left.slot, store, "rescue")).committed;
}

}  // namespace

std::vector<RescueLine> rescue_copies(std::vector<RescuedMemory> memories, const base::Clock& clock,
                                      base::Nanos until) {
  std::vector<RescueLine> lines;
  std::vector<checkpoint::MemoryArea> areas;
  ByAttempt attempts;
  for (RescuedMemory& each : memories) {
    auto area = checkpoint::MemoryArea::shared(std::move(each.memory));
    if (!area) {
      lines.push_back({each.rank, true, area.error().what});
      continue;
    }
    for (checkpoint::FoundCopy& found : checkpoint::complete_copies(*area)) {
      const checkpoint::AttemptId id = found.copy.manifest.head.attempt;
      attempts[{id.generation, id.step, id.token}].push_back(
          {each.rank, area->slot(found.slot), std::move(found.copy)});
    }
    areas.push_back(*std::move(area));
  }
  for (const auto& [id, copies] : attempts) {
    bool committed = false;
    for (const LeftCopy& left : copies) {
      if (clock.now() >= until) return lines;
      const auto saved = rescue(left);
      if (!saved) {
        // Of an attempt that was over before this one: it was saved then, or is not wanted now.
        if (saved.error().code == Errc::kConflict) continue;
        lines.push_back({left.rank, true, saved.error().what});
        continue;
      }
      committed = committed || *saved;
      if (left.copy.state != checkpoint::SlotState::kComplete) continue;
      lines.push_back({left.rank, false,
                       fmt::format("saved the copy in memory of step {}{}", std::get<1>(id),
                                   *saved ? ", which is committed" : "")});
    }
    if (committed) break;
  }
  return lines;
}

}  // namespace robustrun::agent
