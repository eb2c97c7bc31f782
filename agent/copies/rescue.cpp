#include "agent/copies/rescue.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "agent/copies/limits.h"
#include "base/core/text.h"
#include "base/io/blocking_pool.h"
#include "checkpoint/memory/staging.h"

namespace robustrun::agent {
namespace {

using base::Errc;
using base::Result;

struct LeftCopy {
  base::Rank rank;
  std::span<char> slot;
  checkpoint::MemoryCopy copy;
};

// The copies of one step, of all ranks here.
struct LeftStep {
  std::vector<LeftCopy> copies;
  bool is_secured = false;
};

// Newest attempt first.
using ByAttempt =
    std::map<std::tuple<std::uint64_t, std::uint64_t, std::string>, LeftStep, std::greater<>>;

// Of two held copies, the older one is of the last complete round (round_part.h).
std::optional<std::size_t> secured_slot(std::uint32_t held_slots,
                                        const std::vector<checkpoint::FoundCopy>& newest_first) {
  std::optional<std::size_t> oldest;
  for (const checkpoint::FoundCopy& found : newest_first) {
    if ((held_slots >> found.slot & 1U) != 0) oldest = found.slot;
  }
  return oldest;
}

ByAttempt::iterator next_step(ByAttempt& steps, base::Nanos left, base::Nanos longest) {
  if (left >= 2 * longest) return steps.begin();
  const auto secured =
      std::ranges::find_if(steps, [](const auto& each) { return each.second.is_secured; });
  return secured == steps.end() ? steps.begin() : secured;
}

bool is_over(const RescueWatch& watch, base::Nanos now) {
  return now >= watch.until || watch.given_up;
}

// One store per set of directories, so that a thread waits once for a directory that hangs.
using Stores = std::map<std::vector<std::string>, Result<checkpoint::Store>>;

Result<checkpoint::Store> open_store(const std::vector<std::string>& directories,
                                     const RescueWatch& watch) {
  checkpoint::StoreOptions options;
  options.written = watch.written;
  // A single directory gets all the time there is: giving it up would save nothing.
  if (directories.size() > 1) {
    options.first_patience = kRescueFirstPatience;
    options.patience = kRescuePatience;
  }
  for (const std::string& directory : directories) {
    if (!directory.starts_with('/')) {
      return base::fail(Errc::kCorrupt, "a copy in memory names no directory: '" +
                                            base::printable(directory) + "'");
    }
    options.mounts.push_back({directory, 1});
  }
  return checkpoint::Store::open(std::move(options));
}

Result<checkpoint::Completion> rescue(const LeftCopy& left, const RescueWatch& watch,
                                      Stores& stores) {
  const checkpoint::Head& head = left.copy.manifest.head;
  auto opened = stores.find(head.mounts);
  if (opened == stores.end()) {
    opened = stores.emplace(head.mounts, open_store(head.mounts, watch)).first;
  }
  if (!opened->second) return std::unexpected(opened->second.error());
  checkpoint::Store& store = *opened->second;
  if (left.copy.state == checkpoint::SlotState::kDrained) {
    return store.commit_if_complete(head.attempt, head.attempt.generation);
  }
  return checkpoint::drain_copy(left.slot, store, "rescue");
}

struct StepLines {
  bool is_committed = false;
  std::vector<RescueLine> lines;
};

// Saves `copies`, one after another.
StepLines rescue_in_turn(const std::vector<const LeftCopy*>& copies, const base::Clock& clock,
                         const RescueWatch& watch, Stores& stores) {
  StepLines step;
  for (const LeftCopy* left : copies) {
    if (is_over(watch, clock.now())) break;  // no further save is begun
    const auto saved = rescue(*left, watch, stores);
    if (!saved) {
      // A copy of an attempt that was over before: it was saved then, or is not wanted now.
      if (saved.error().code == Errc::kConflict) continue;
      step.lines.push_back({left->rank, true, saved.error().what});
      continue;
    }
    step.is_committed = step.is_committed || saved->committed;
    if (left->copy.state != checkpoint::SlotState::kComplete) continue;
    step.lines.push_back({left->rank, false,
                          fmt::format("saved the copy in memory of step {}{}{}{}",
                                      left->copy.manifest.head.attempt.step,
                                      saved->committed ? ", which is committed" : "",
                                      saved->notes.empty() ? "" : "; ",
                                      saved->notes.empty() ? "" : saved->notes.front())});
  }
  return step;
}

// Saves the copies of one step, several at once. Returns whether the step is committed now.
bool rescue_step(const std::vector<LeftCopy>& copies, const base::Clock& clock,
                 const RescueWatch& watch, std::vector<Stores>& stores,
                 std::vector<RescueLine>& lines) {
  std::vector<StepLines> results(std::min(copies.size(), stores.size()));
  base::run_in_parallel(results.size(), [&](std::size_t thread) {
    std::vector<const LeftCopy*> mine;
    for (std::size_t at = thread; at < copies.size(); at += results.size()) {
      mine.push_back(&copies[at]);
    }
    results[thread] = rescue_in_turn(mine, clock, watch, stores[thread]);
  });
  bool is_committed = false;
  for (StepLines& each : results) {
    is_committed = is_committed || each.is_committed;
    std::ranges::move(each.lines, std::back_inserter(lines));
  }
  return is_committed || is_over(watch, clock.now());
}

}  // namespace

Result<RescuedMemory> rescued_memory(base::Rank rank, const GivenMemory& given) {
  GivenMemory same = RR_TRY(same_memory(given));
  RescuedMemory rescued{rank, std::move(same.memory)};
  auto board = checkpoint::MappedBoard::of(given.memory, given.bytes);
  for (std::size_t slot = 0; board && slot < (*board)->slots(); ++slot) {
    if ((*board)->is_held(slot)) rescued.held_slots |= 1U << slot;
  }
  return rescued;
}

std::vector<RescueLine> rescue_copies(std::vector<RescuedMemory> memories, const base::Clock& clock,
                                      const RescueWatch& watch) {
  std::vector<RescueLine> lines;
  std::vector<checkpoint::MemoryArea> areas;
  ByAttempt steps;
  for (RescuedMemory& each : memories) {
    auto area = checkpoint::MemoryArea::shared(std::move(each.memory),
                                               checkpoint::MemoryArea::Pages::kWhenUsed);
    if (!area) {
      lines.push_back({each.rank, true, area.error().what});
      continue;
    }
    std::vector<checkpoint::FoundCopy> all = checkpoint::complete_copies(*area);
    const auto secured = each.secured_slot ? each.secured_slot : secured_slot(each.held_slots, all);
    for (checkpoint::FoundCopy& found : all) {
      const checkpoint::AttemptId id = found.copy.manifest.head.attempt;
      LeftStep& step = steps[{id.generation, id.step, id.token}];
      step.is_secured = step.is_secured || found.slot == secured;
      step.copies.push_back({each.rank, area->slot(found.slot), std::move(found.copy)});
    }
    areas.push_back(*std::move(area));
  }
  std::vector<Stores> stores(kRescueThreads);
  base::Nanos longest{};
  for (base::Nanos began = clock.now(); !steps.empty() && !is_over(watch, began);) {
    const auto next = next_step(steps, watch.until - began, longest);
    if (rescue_step(next->second.copies, clock, watch, stores, lines)) break;
    steps.erase(next);
    longest = std::max(longest, clock.now() - began);
    began = clock.now();
  }
  // A second per 10 GiB, which workers wait for.
  const std::size_t threads = std::min(areas.size(), kRescueThreads);
  base::run_in_parallel(threads, [&](std::size_t thread) {
    for (std::size_t at = thread; at < areas.size(); at += threads) areas[at] = {};
  });
  return lines;
}

}  // namespace robustrun::agent
