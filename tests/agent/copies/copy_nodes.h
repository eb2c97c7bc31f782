#pragma once
// Several nodes' agents in one process, as far as copies of ranks' states go, over loopback TLS.

#include <doctest/doctest.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <vector>

#include "agent/copies/memory_tier.h"
#include "agent/copies/peer_copies.h"
#include "agent/copies/transfer.h"
#include "checkpoint/memory/staging.h"
#include "tests/checkpoint/support.h"
#include "wire/bulk/bulk_listener.h"
#include "wire/link/acceptor.h"

namespace robustrun::test {

struct CopyRun {
  boost::asio::io_context loop;
  base::SystemClock clock;
  base::BlockingPool pool{loop.get_executor(), 1, 16};
  wire::Authority authority = wire::Authority::make("run-1").value();

  [[nodiscard]] wire::Identity identity(base::NodeId node, base::Generation generation) const {
    const wire::KeyRequest key = wire::make_key_request().value();
    const wire::PeerName name{"run-1", false, node, generation};
    return {key.private_key, authority.sign(key.request, name).value(), authority.certificate()};
  }
  void run_until(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!done()) {
      REQUIRE(std::chrono::steady_clock::now() < end);
      loop.restart();
      loop.run_one_for(std::chrono::milliseconds(20));
    }
  }
};

// An agent, as far as copies go.
struct CopyNode {
  CopyNode(CopyRun& in, std::uint32_t number, std::uint32_t of_generation = 1)
      : run(in), id{number}, generation{of_generation} {
    const wire::Identity self = run.identity(id, generation);
    keys = wire::make_bulk_keys("run-1", self).value();
    endpoint = peers->open("run-1", self, "127.0.0.1");
    REQUIRE_FALSE(endpoint.empty());
  }
  CopyNode(const CopyNode&) = delete;
  CopyNode& operator=(const CopyNode&) = delete;
  ~CopyNode() {
    peers.reset();
    tier.reset();
  }

  [[nodiscard]] wire::CopyRoute route(std::uint32_t rank) const {
    return {base::Rank{rank}, id, generation, endpoint};
  }
  void place(std::vector<wire::CopyRoute> send, std::vector<wire::CopyRoute> hold,
             std::vector<wire::CopyRoute> fetch = {}) {
    CHECK(peers->take(wire::PlaceCopies{{1}, std::move(send), std::move(hold), std::move(fetch)}));
  }
  base::Result<agent::GivenMemory> give(std::uint32_t rank, std::uint64_t bytes) {
    std::optional<base::Result<agent::GivenMemory>> given;
    tier->give(base::Rank{rank}, bytes,
               [&](base::Result<agent::GivenMemory> answer) { given.emplace(std::move(answer)); });
    run.run_until([&] { return given.has_value(); });
    return std::move(*given);
  }
  // A copy of one of two writers. `damaged`: a tensor no longer matches its checksum.
  void stage(std::uint32_t rank, std::uint64_t step, const std::vector<std::string>& directories,
             bool damaged = false) {
    if (!workers.contains(rank)) {
      auto area = checkpoint::MemoryArea::shared(give(rank, 8U << 20U).value().memory).value();
      REQUIRE(workers.try_emplace(rank, 1U).first->second.use(std::move(area)));
    }
    checkpoint::Staging& staging = workers.at(rank);
    SampleState state(step);
    for (checkpoint::Shard& shard : state.contents.shards) shard.rank = rank;
    auto order = sample_order(step, directories);
    order.layout.world_size = 2;
    order.layout.axes = {{"dp", 2}};
    order.writers = {"n0", "n1"};
    order.writer = "n" + std::to_string(rank);
    const auto slot = staging.stage(order, state.contents);
    REQUIRE(slot);
    if (!damaged) return;
    const std::span<char> bytes = staging.area().slot(*slot);
    const auto copy = checkpoint::read_slot(bytes).value();
    bytes[copy.offsets.front()] ^= 1;
  }
  // The last report about a rank.
  [[nodiscard]] std::optional<wire::KeptCopy> kept(std::uint32_t rank) const {
    for (const auto& message : std::views::reverse(sent)) {
      const auto* all = std::get_if<wire::CopiesKept>(&message);
      if (all == nullptr) continue;
      const auto found = std::ranges::find(all->copies, base::Rank{rank}, &wire::KeptCopy::rank);
      return found == all->copies.end() ? std::nullopt : std::optional(*found);
    }
    return std::nullopt;
  }
  void await_at_peer(std::uint32_t rank, std::uint64_t step) {
    run.run_until([&] {
      const auto copy = kept(rank);
      return copy && copy->at_peer && copy->step == step;
    });
  }
  wire::HeldCopiesSaved save_held(std::vector<base::Rank> ranks) {
    CHECK(peers->take(wire::SaveHeldCopies{{1}, ++orders, std::move(ranks)}));
    const wire::HeldCopiesSaved* answer = nullptr;
    run.run_until([&] {
      for (const auto& message : sent) {
        const auto* saved = std::get_if<wire::HeldCopiesSaved>(&message);
        if (saved != nullptr && saved->order == orders) answer = saved;
      }
      return answer != nullptr;
    });
    return *answer;
  }
  void save_own() {
    bool saved = false;
    tier->save_copies([&] { saved = true; });
    run.run_until([&] { return saved; });
  }

  CopyRun& run;
  base::NodeId id;
  base::Generation generation;
  std::vector<wire::Message> sent;
  agent::NodeContext node{run.loop.get_executor(),
                          run.clock,
                          run.pool,
                          [this](const wire::Message& message) { sent.push_back(message); },
                          {},
                          {},
                          {}};
  std::unique_ptr<agent::MemoryTier> tier = agent::MemoryTier::make(node);
  std::unique_ptr<agent::PeerCopies> peers = std::make_unique<agent::PeerCopies>(node, *tier);
  std::string endpoint;
  wire::SharedBulkKeys keys;
  std::uint64_t orders = 0;
  std::map<std::uint32_t, checkpoint::Staging> workers;  // by rank
};

}  // namespace robustrun::test
