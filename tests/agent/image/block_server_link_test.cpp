// A block server and its peers: the server is played at the other end of a socket.
#include "agent/image/block_server_link.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

#include "base/io/fd.h"
#include "bootstrap/store/block_protocol.h"
#include "bootstrap/store/block_tree.h"
#include "tests/agent/block_nodes.h"

namespace block_server_link_test {

using namespace robustrun;
using bootstrap::BlockFrame;
using bootstrap::BlockFrameKind;
using test::BlockNodes;
using test::kTestBlob;

namespace {

struct Played {
  explicit Played(test::BlockNode& of) : node(of) {
    auto ends = base::make_socket_pair(SOCK_STREAM).value();
    server = std::move(ends.first);
    REQUIRE(base::set_nonblocking(server.get(), true));
    link = agent::BlockServerLink::make(node.node, node.blocks->asker(), std::move(ends.second),
                                        kTestBlob, [this] { is_over = true; })
               .value();
    node.blocks->server().remove(*node.reader);
    node.blocks->server().add(*link);
    CHECK(hear().kind == BlockFrameKind::kPeers);
  }
  ~Played() {
    node.blocks->server().remove(*link);
    link->abandon();
  }
  Played(const Played&) = delete;
  Played& operator=(const Played&) = delete;

  // Answers whether it has a block that another node asks for: no.
  BlockFrame hear_answer() {
    while (true) {
      BlockFrame frame = hear();
      if (frame.kind != BlockFrameKind::kGet) return frame;
      CHECK(frame.payload == std::string(1, '\0'));
      say({BlockFrameKind::kNone, frame.id, frame.block, {}});
    }
  }
  BlockFrame hear() {
    std::optional<BlockFrame> frame;
    node.run.run_until([&] {
      std::string bytes(1U << 20U, '\0');
      const ssize_t got = ::read(server.get(), bytes.data(), bytes.size());
      if (got > 0) frames.feed({bytes.data(), static_cast<std::size_t>(got)});
      if (!frame) frame = frames.next().value();
      if (frame && frame->kind == BlockFrameKind::kStatus) {  // whether it is alive
        say({BlockFrameKind::kOk, frame->id, 0, {}});
        frame.reset();
      }
      return frame.has_value();
    });
    return *std::move(frame);
  }
  void say(const BlockFrame& frame) const {
    REQUIRE(base::set_nonblocking(server.get(), false));
    REQUIRE(base::write_all(server.get(), encode_block_frame(frame)));
    REQUIRE(base::set_nonblocking(server.get(), true));
  }

  test::BlockNode& node;
  base::Fd server;
  bootstrap::BlockFrameReader frames;
  std::shared_ptr<agent::BlockServerLink> link;
  bool is_over = false;
};

std::uint64_t block_asked_by(std::uint32_t asker) {
  const bootstrap::BlockTree tree({{0}, {1}});
  for (std::uint64_t block = 0;; ++block) {
    if (!tree.sources(kTestBlob, block, {asker}, [](base::NodeId) { return false; }).empty()) {
      return block;
    }
  }
}

}  // namespace

TEST_CASE("a peer gets what the block server has, and learns when it is gone") {
  BlockNodes two(2);
  two.introduce();
  Played played(*two.nodes[0]);
  const std::uint64_t block = block_asked_by(1);
  std::optional<agent::SharedBlock> found;
  const auto ask = [&] {
    found.reset();
    two.nodes[1]->blocks->asker().ask(
        {kTestBlob, block}, [&](agent::SharedBlock answer) { found = std::move(answer); });
  };
  ask();
  const BlockFrame question = played.hear();
  CHECK(question.kind == BlockFrameKind::kGet);
  CHECK(question.block == block);
  CHECK(question.payload == std::string(1, bootstrap::kGetMayAskOrigin));
  played.say({BlockFrameKind::kOk, question.id, block, test::test_bytes(block)});
  two.run.run_until([&] { return found.has_value(); });
  REQUIRE(*found != nullptr);
  CHECK((*found)->bytes == test::test_bytes(block));
  ask();
  CHECK(played.hear().kind == BlockFrameKind::kGet);
  played.server.reset();
  two.run.run_until([&] { return found.has_value(); });
  CHECK(*found == nullptr);
  CHECK(played.is_over);
}

TEST_CASE("a block that the server wants comes from peers, or it is told that it does not") {
  BlockNodes two(2);
  two.introduce();
  Played played(*two.nodes[0]);
  const std::uint64_t block = block_asked_by(0);
  played.say({BlockFrameKind::kWant, 77, block, {}});
  BlockFrame answer = played.hear_answer();
  CHECK(answer.kind == BlockFrameKind::kOk);
  CHECK(answer.id == 77);
  CHECK(answer.payload == test::test_bytes(block));
  CHECK(two.reads == 1);
  played.say({BlockFrameKind::kWant, 78, block_asked_by(1), {}});  // node 0 comes first for it
  answer = played.hear_answer();
  CHECK(answer.kind == BlockFrameKind::kNone);
  CHECK(answer.id == 78);
}

TEST_CASE("nonsense from the block server ends the connection") {
  BlockNodes one(1);
  Played played(*one.nodes[0]);
  REQUIRE(base::write_all(played.server.get(), std::string(100, 'x')));
  one.run.run_until([&] { return played.is_over; });
  CHECK_FALSE(played.link->get({kTestBlob, 0}, wire::BlockScope::kAny, [](const auto&) {}));
}

TEST_CASE("peers of a node whose block server is stopped ask elsewhere until it continues") {
  BlockNodes two(2);
  two.introduce();
  Played played(*two.nodes[0]);
  const std::uint64_t block = block_asked_by(1);
  std::optional<agent::SharedBlock> found;
  const auto ask = [&] {
    found.reset();
    two.nodes[1]->blocks->asker().ask(
        {kTestBlob, block}, [&](agent::SharedBlock answer) { found = std::move(answer); });
  };
  ask();
  const BlockFrame late = played.hear();
  CHECK(late.kind == BlockFrameKind::kGet);
  two.run.run_until([&] { return found.has_value(); });
  CHECK(*found == nullptr);
  // It is not asked for anything before it has sent something.
  const auto get = [&] {
    found.reset();
    CHECK(played.link->get({kTestBlob, block}, wire::BlockScope::kAny,
                           [&](agent::SharedBlock answer) { found = std::move(answer); }));
    return !found;
  };
  CHECK_FALSE(get());
  played.say({BlockFrameKind::kNone, late.id, late.block, {}});
  two.run.run_until(get);
  const BlockFrame again = played.hear();
  CHECK(again.kind == BlockFrameKind::kGet);
  played.say({BlockFrameKind::kOk, again.id, again.block, test::test_bytes(block)});
  two.run.run_until([&] { return found.has_value(); });
  REQUIRE(*found);
  CHECK((*found)->bytes == test::test_bytes(block));
}

}  // namespace block_server_link_test
