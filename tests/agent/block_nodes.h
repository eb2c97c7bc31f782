#pragma once
// Several nodes' agents in one process, as far as sharing of blocks goes, over loopback TLS.

#include <doctest/doctest.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/staging/block_peers.h"
#include "wire/bulk/bulk_listener.h"
#include "wire/link/acceptor.h"
#include "wire/tls/identity.h"

namespace robustrun::test {

inline constexpr const char* kTestBlob = "0123456789abcdef0123456789abcdef";

inline constexpr std::uint64_t kTestWindow = 8;  // blocks fetched at the same time

inline std::string test_bytes(std::uint64_t block, std::size_t size = 100'000) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<char>((i * 2654435761U + block * 40503U) >> 11U);
  }
  return bytes;
}

struct BlockRun {
  boost::asio::io_context loop;
  base::SystemClock clock;
  base::BlockingPool pool{loop.get_executor(), 1, 16};
  wire::Authority authority = wire::Authority::make("run-1").value();

  void run_until(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!done()) {
      REQUIRE(std::chrono::steady_clock::now() < end);
      loop.restart();
      loop.run_one_for(std::chrono::milliseconds(20));
    }
  }
};

// Gets missing blocks from peers, else from the storage, and counts the latter.
class Reader : public agent::BlockSource {
 public:
  Reader(agent::BlockAsker& asker, std::uint64_t& reads) : asker_(asker), reads_(reads) {}

  bool get(const wire::BlockName& name, wire::BlockScope scope,
           agent::BlockAnswered answer) override {
    if (name.blob != kTestBlob) return false;
    ++gets;
    if (is_silent) return true;
    if (const auto found = has.find(name.block); found != has.end()) {
      answer(found->second);
    } else if (scope != wire::BlockScope::kAny) {
      answer(nullptr);
    } else {
      seek(name.block, std::move(answer));
    }
    return true;
  }
  void seek(std::uint64_t block, agent::BlockAnswered answer) {
    if (has.contains(block)) return answer(has[block]);
    auto& waiting = waiting_[block];
    waiting.push_back(std::move(answer));
    if (waiting.size() > 1) return;
    asker_.ask({kTestBlob, block}, [this, block](agent::SharedBlock found) {
      if (!found) {
        ++reads_;
        found = agent::make_block(test_bytes(block));
      }
      CHECK(found->bytes == test_bytes(block));
      has[block] = found;
      const auto answers = std::move(waiting_[block]);
      waiting_.erase(block);
      for (const auto& each : answers) each(found);
    });
  }

  bool is_silent = false;  // announces blocks and never sends them
  std::size_t gets = 0;
  std::map<std::uint64_t, agent::SharedBlock> has;

 private:
  agent::BlockAsker& asker_;
  std::uint64_t& reads_;
  std::map<std::uint64_t, std::vector<agent::BlockAnswered>> waiting_;
};

struct BlockNode {
  BlockNode(BlockRun& in, std::uint32_t number, std::uint64_t& reads) : run(in) {
    node.self = base::NodeId{number};
    const wire::KeyRequest key = wire::make_key_request().value();
    const wire::PeerName name{"run-1", false, node.self, base::Generation{1}};
    const wire::Identity self{key.private_key, run.authority.sign(key.request, name).value(),
                              run.authority.certificate()};
    keys = wire::make_bulk_keys("run-1", self).value();
    listener = wire::BulkListener::open(run.loop.get_executor(), "127.0.0.1", keys,
                                        [this](wire::BulkConnection connection) {
                                          ++visits;
                                          blocks->server().take(std::move(connection));
                                        })
                   .value();
    endpoint = wire::endpoint_text("127.0.0.1", listener->port());
    blocks->asker().use("run-1", keys);
    reader = std::make_unique<Reader>(blocks->asker(), reads);
    blocks->server().add(*reader);
  }
  BlockNode(const BlockNode&) = delete;
  BlockNode& operator=(const BlockNode&) = delete;
  ~BlockNode() {
    listener.reset();
    blocks.reset();
  }
  [[nodiscard]] wire::BlockPeer peer() const { return {node.self, {1}, endpoint}; }

  BlockRun& run;
  agent::NodeContext node{
      run.loop.get_executor(), run.clock, run.pool, [](const wire::Message&) {}, {}, {}, {}};
  std::unique_ptr<agent::BlockPeers> blocks = std::make_unique<agent::BlockPeers>(node);
  std::unique_ptr<Reader> reader;
  std::unique_ptr<wire::BulkListener> listener;
  std::string endpoint;
  wire::SharedBulkKeys keys;
  std::size_t visits = 0;
};

// Introduces some nodes to each other.
struct BlockNodes {
  explicit BlockNodes(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      nodes.push_back(std::make_unique<BlockNode>(run, i, reads));
    }
  }
  void introduce(std::vector<wire::BlockPeer> others = {}, std::optional<std::uint64_t> rate = {}) {
    wire::BlockPeers list{std::move(others), rate};
    for (const auto& node : nodes) list.peers.push_back(node->peer());
    for (const auto& node : nodes) CHECK(node->blocks->take(list));
  }
  // Waits until each of the named nodes, or of all, has the blocks 0 to count - 1.
  void fill(std::uint64_t count, std::vector<std::uint32_t> of = {}) {
    if (of.empty()) {
      for (std::uint32_t i = 0; i < nodes.size(); ++i) of.push_back(i);
    }
    for (std::uint64_t first = 0; first < count; first += kTestWindow) {
      const std::uint64_t end = std::min(first + kTestWindow, count);
      for (const std::uint32_t i : of) {
        for (std::uint64_t block = first; block < end; ++block) {
          nodes[i]->reader->seek(block, [](const agent::SharedBlock&) {});
        }
      }
      run.run_until([&] {
        return std::ranges::all_of(of, [&](auto i) { return nodes[i]->reader->has.size() >= end; });
      });
    }
  }

  BlockRun run;
  std::uint64_t reads = 0;  // blocks that left the storage
  std::vector<std::unique_ptr<BlockNode>> nodes;
};

}  // namespace robustrun::test
