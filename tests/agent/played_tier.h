#pragma once
// Workers' copies in memory that are saved when the test says so.

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "agent/copies/memory_tier.h"

namespace robustrun::test {

struct PlayedTier final : agent::MemoryTier {
  std::function<void()> done;
  std::vector<std::function<void()>> waiting;
  bool has_copies = true;

  void give(base::Rank, std::uint64_t, Answer) override {}
  void save_copies(std::function<void()> then) override {
    if (!has_copies) return then();
    done = std::move(then);
  }
  void after_saving(std::function<void()> go) override { waiting.push_back(std::move(go)); }
  void keep(const std::vector<wire::WorkerSlot>&) override {}
  void use_peers(agent::PeerMemory*) override {}
  [[nodiscard]] std::vector<Own> memories() const override { return {}; }
  [[nodiscard]] std::optional<agent::GivenMemory> same_memory_of(base::Rank) const override {
    return std::nullopt;
  }

  void late() { std::exchange(done, nullptr)(); }
  void over() {
    if (done) late();
    for (const auto& go : std::exchange(waiting, {})) go();
  }
};

}  // namespace robustrun::test
