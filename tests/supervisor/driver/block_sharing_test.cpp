// When nodes get the list of those that pass blocks on.
#include "supervisor/driver/block_sharing.h"

#include "tests/supervisor/agents/fake_nodes.h"
#include "tests/support/loop.h"

namespace robustrun::supervisor::test::block_sharing_test {
namespace {

struct Shared {
  explicit Shared(std::size_t count, BlockSharing::Plan plan = {.is_wanted = true})
      : nodes(count), sharing(loop.executor(), clock, nodes.table, std::move(plan)) {}
  [[nodiscard]] std::size_t lists(std::size_t node) const {
    return nodes.sent_to<wire::BlockPeers>(node).size();
  }

  robustrun::test::Loop loop{};
  SetClock clock;
  FakeNodes nodes;
  BlockSharing sharing;
};

TEST_CASE("all nodes get the list once all are here, and once only") {
  Shared run(3, {.is_wanted = true, .rate = 5});
  run.nodes.table[{2}].joined = false;
  run.sharing.on_joined();
  CHECK(run.lists(0) == 0);
  run.nodes.table[{2}].joined = true;
  run.sharing.on_joined();
  for (const std::size_t node : {0, 1, 2}) {
    REQUIRE(run.lists(node) == 1);
    CHECK(run.nodes.sent_to<wire::BlockPeers>(node)[0].peers.size() == 3);
    CHECK(run.nodes.sent_to<wire::BlockPeers>(node)[0].rate == 5);
  }
  run.sharing.on_group_formed();
  CHECK(run.lists(0) == 1);  // it is the same
  run.sharing.on_connected_again({1});
  CHECK(run.lists(0) == 1);
  CHECK(run.lists(1) == 2);  // it may have missed the first
}

TEST_CASE("a lost node is not waited for, and not in the list") {
  Shared run(3);
  run.nodes.table[{1}].joined = false;
  run.nodes.table[{1}].lost = true;
  run.sharing.on_joined();
  REQUIRE(run.lists(0) == 1);
  CHECK(run.nodes.sent_to<wire::BlockPeers>(0)[0].peers.size() == 2);
  CHECK(run.lists(1) == 0);
}

TEST_CASE("the list does not wait for ever for nodes that are late") {
  Shared run(3);
  run.nodes.table[{2}].joined = false;
  run.sharing.on_joined();
  REQUIRE(run.loop.run_until([&] { return run.lists(0) == 1; }));
  CHECK(run.nodes.sent_to<wire::BlockPeers>(1)[0].peers.size() == 2);
  run.nodes.table[{2}].joined = true;
  run.sharing.on_joined();
  REQUIRE(run.loop.run_until([&] { return run.lists(2) == 1; }));
  CHECK(run.lists(0) == 2);
}

TEST_CASE("a run that shares nothing, and one that has ended, sends no list") {
  Shared none(2, {});
  none.sharing.on_group_formed();
  CHECK(none.lists(0) == 0);
  Shared over(2);
  over.sharing.end();
  over.sharing.on_group_formed();
  CHECK(over.lists(0) == 0);
}

TEST_CASE("blocks of the code are read for the node that asks; not after the end") {
  std::vector<std::pair<std::uint64_t, std::function<void(base::Result<std::string>)>>> asked;
  Shared run(1, {.read_code = [&](std::uint64_t block, auto done) {
               asked.emplace_back(block, std::move(done));
             }});
  for (const std::uint64_t block : {7U, 8U, 9U}) run.sharing.on_report({0}, {block});
  REQUIRE(asked.size() == 3);
  asked[0].second(std::string("bytes"));
  asked[1].second(base::fail(base::Errc::kNotFound, "the pack is gone"));
  run.sharing.end();
  asked[2].second(std::string("late"));
  const auto blocks = run.nodes.sent_to<wire::CodeBlock>(0);
  REQUIRE(blocks.size() == 2);
  CHECK(blocks[0].block == 7);
  CHECK(blocks[0].bytes == "bytes");
  CHECK(blocks[1].block == 8);
  run.sharing.on_report({0}, {1});
  CHECK(asked.size() == 3);
}

}  // namespace
}  // namespace robustrun::supervisor::test::block_sharing_test
