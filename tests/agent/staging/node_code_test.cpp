// The run's code on its nodes: once from the supervisor, from node to node, and unpacked.
#include "agent/staging/node_code.h"

#include <doctest/doctest.h>

#include <boost/asio/post.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/staging/limits.h"
#include "agent/staging/stage_files.h"
#include "base/core/text.h"
#include "base/io/code_tree.h"
#include "base/io/fd.h"
#include "base/io/sha256.h"
#include "bootstrap/store/blob.h"
#include "bootstrap/store/code_pack.h"
#include "bootstrap/store/code_store.h"
#include "tests/agent/block_nodes.h"
#include "tests/scratch_folder.h"

namespace node_code_test {

using namespace robustrun;
using test::BlockNodes;

namespace {

// Nodes of a run with code, and its supervisor.
struct Coding {
  explicit Coding(std::uint32_t count) : nodes(count) {
    folder.write("src/train.py", "print('ran')\n");
    folder.write("src/data.bin", test::test_bytes(7, 5 * bootstrap::kBlockBytes + 99));
    const auto copied = base::copy_code(folder / "src", folder / "copy", "");
    REQUIRE(copied);
    pack = bootstrap::pack_code(folder / "copy", copied->manifest).value();
    digest = base::to_hex(base::sha256(pack));
    for (std::uint32_t i = 0; i < count; ++i) {
      agent::NodeContext& node = nodes.nodes[i]->node;
      node.workers.cache_directory = folder / ("cache" + std::to_string(i));
      node.workers.share_blocks = true;
      node.workers.code = wire::SyncedCode{digest, pack.size(), "/home/user/job"};
      node.send = [this, i](const wire::Message& message) { on_message(i, message); };
      made.push_back(nullptr);
      ends.emplace_back();
    }
    nodes.introduce();
  }
  ~Coding() {
    for (auto& one : made) one.reset();
  }
  Coding(const Coding&) = delete;
  Coding& operator=(const Coding&) = delete;

  // Answers as the supervisor does; other messages are not answered.
  void on_message(std::size_t from, const wire::Message& message) {
    const auto* wanted = std::get_if<wire::CodeWanted>(&message);
    if (wanted == nullptr) return;
    ++asked;
    if (silent_times > 0) return static_cast<void>(--silent_times);
    wire::CodeBlock block{wanted->block, {}, why_not};
    if (why_not.empty()) {
      block.bytes = pack.substr(wanted->block * bootstrap::kBlockBytes, bootstrap::kBlockBytes);
    }
    boost::asio::post(nodes.run.loop, [this, from, block] {
      if (made[from]) CHECK(made[from]->take(block));
      ++answered;
    });
  }

  void begin(std::size_t i) {
    made[i] = std::make_unique<agent::StageFiles>(nodes.nodes[i]->node, *nodes.nodes[i]->blocks);
    again(i);
  }
  void again(std::size_t i) {
    ends[i].reset();
    made[i]->begin_code([this, i](base::Status status) { ends[i] = std::move(status); });
  }
  base::Status end(std::size_t i) {
    nodes.run.run_until([&] { return ends[i].has_value(); });
    return *ends[i];
  }
  [[nodiscard]] std::string code_of(std::size_t i) const {
    return bootstrap::code_folder(folder / ("cache" + std::to_string(i)), digest);
  }

  test::ScratchFolder folder;
  BlockNodes nodes;
  std::string pack, digest, why_not;
  std::size_t asked = 0, answered = 0;
  int silent_times = 0;
  std::vector<std::unique_ptr<agent::StageFiles>> made;
  std::vector<std::optional<base::Status>> ends;
};

}  // namespace

TEST_CASE(
    "code that only the supervisor has reaches every node, and leaves the supervisor about once") {
  Coding four(4);
  for (std::size_t i = 0; i < 4; ++i) four.begin(i);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto status = four.end(i);
    const std::string why = status ? "" : status.error().what;
    REQUIRE_MESSAGE(status, why);
    CHECK(base::read_file(four.code_of(i) + "/train.py", 100).value() == "print('ran')\n");
    CHECK(base::read_file(four.code_of(i) + "/data.bin", std::size_t{64} << 20).value() ==
          test::test_bytes(7, 5 * bootstrap::kBlockBytes + 99));
  }
  CHECK(four.asked >= 6);  // blocks
  CHECK(four.asked <= 8);
}

TEST_CASE("a node that has the code asks no other for it") {
  Coding one(1);
  one.begin(0);
  REQUIRE(one.end(0));
  one.made[0].reset();
  const std::size_t asked = one.asked;
  one.begin(0);
  REQUIRE(one.end(0));
  CHECK(one.asked == asked);
}

TEST_CASE(
    "code that the supervisor cannot give is an error, and requested again at the next start") {
  Coding one(1);
  one.why_not = "cannot read /runs/1/code.pack: no such file";
  one.begin(0);
  const auto status = one.end(0);
  REQUIRE_FALSE(status);
  CHECK(status.error().what.find("the code of /home/user/job") != std::string::npos);
  CHECK(status.error().what.find("code.pack") != std::string::npos);
  one.nodes.run.run_until([&] { return one.answered == 6; });  // all of its blocks
  one.nodes.run.loop.restart();
  one.nodes.run.loop.poll();  // and what follows from that
  one.why_not.clear();
  one.again(0);
  CHECK(one.end(0));
}

TEST_CASE("an answer that was lost is requested again") {
  Coding one(1);
  one.silent_times = 1;
  one.begin(0);
  REQUIRE(one.end(0));
  CHECK(one.asked > 6);
}

}  // namespace node_code_test
