// Files that are brought to every node: read from the storage once, checked, with every failure.
#include "agent/staging/staged_file.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "agent/staging/stage_files.h"
#include "base/io/fd.h"
#include "bootstrap/store/blob.h"
#include "tests/agent/block_nodes.h"
#include "tests/scratch_folder.h"

namespace staged_file_test {

using namespace robustrun;
using test::BlockNodes;

namespace {

constexpr std::size_t kFileBytes = 5 * bootstrap::kBlockBytes + 777;

void write_file(const std::string& path, char salt = 0) {
  std::string bytes = test::test_bytes(3, kFileBytes);
  bytes[kFileBytes / 2] = static_cast<char>(bytes[kFileBytes / 2] + salt);
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<long>(bytes.size()));
}

std::string bytes_of(const std::string& path) {
  return base::read_file(path, std::size_t{64} << 20).value();
}

// Nodes with a cache each, and one file.
struct Staging {
  explicit Staging(std::uint32_t count) : nodes(count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      nodes.nodes[i]->node.workers.cache_directory = folder.path() + "/cache" + std::to_string(i);
      made.push_back(nullptr);
      ends.emplace_back();
    }
    nodes.introduce();
  }
  ~Staging() {
    for (std::size_t i = 0; i < made.size(); ++i) drop(i);
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  void begin(std::size_t i) {
    const agent::StageContext context{nodes.nodes[i]->node, nodes.nodes[i]->blocks->asker(), origin,
                                      store};
    made[i] = std::make_shared<agent::StagedFile>(context, path);
    nodes.nodes[i]->blocks->server().add(*made[i]);
    again(i);
  }
  void again(std::size_t i) {
    ends[i].reset();
    made[i]->begin([this, i](base::Status status) { ends[i] = std::move(status); });
  }
  void drop(std::size_t i) {
    if (!made[i]) return;
    if (nodes.nodes[i]) nodes.nodes[i]->blocks->server().remove(*made[i]);
    made[i]->abandon();
    made[i].reset();
  }
  base::Status end(std::size_t i) {
    nodes.run.run_until([&] { return ends[i].has_value(); });
    return *ends[i];
  }

  test::ScratchFolder folder;
  std::string path = folder.path() + "/weights.bin";
  BlockNodes nodes;
  base::BlockingPool origin{nodes.run.loop.get_executor(), 4, 1024};
  base::BlockingPool store{nodes.run.loop.get_executor(), 2, 1024};
  std::vector<std::shared_ptr<agent::StagedFile>> made;
  std::vector<std::optional<base::Status>> ends;
};

}  // namespace

TEST_CASE("a file reaches every node complete, and is read about once") {
  Staging four(4);
  write_file(four.path);
  for (std::size_t i = 0; i < 4; ++i) four.begin(i);
  std::uint64_t read = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    REQUIRE(four.end(i));
    CHECK(bytes_of(four.made[i]->data_path()) == bytes_of(four.path));
    read += four.made[i]->from().file;
  }
  CHECK(read <= 7);  // six blocks
}

TEST_CASE("blocks that were staged before come from the store, except corrupted ones") {
  Staging one(1);
  write_file(one.path);
  one.begin(0);
  REQUIRE(one.end(0));
  const std::string data = one.made[0]->data_path();
  one.drop(0);
  {
    std::fstream file(data, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(2 * bootstrap::kBlockBytes + 5);
    file.put('?');
  }
  one.begin(0);
  REQUIRE(one.end(0));
  CHECK(one.made[0]->from().store == 5);
  CHECK(one.made[0]->from().file == 1);
  CHECK(bytes_of(data) == bytes_of(one.path));
}

TEST_CASE("a node that cannot read the file gets it from nodes that can") {
  Staging three(3);
  write_file(three.path);
  const std::string right = bytes_of(three.path);
  CHECK(three.nodes.nodes[0]->blocks->take(wire::BlockPeers{{three.nodes.nodes[0]->peer()}}));
  three.begin(0);
  REQUIRE(three.end(0));
  std::filesystem::remove(three.path);
  three.nodes.introduce();
  three.begin(1);
  three.begin(2);
  for (const std::size_t i : {1UZ, 2UZ}) {
    const auto status = three.end(i);
    const std::string why = status ? "" : status.error().what;
    INFO(why);
    REQUIRE(status);
    CHECK(bytes_of(three.made[i]->data_path()) == right);
    CHECK(three.made[i]->from().file == 0);
  }
}

TEST_CASE(
    "a file that no node can read is an error with its path and advice, and may exist later") {
  Staging two(2);
  two.begin(0);
  two.begin(1);
  for (const std::size_t i : {0UZ, 1UZ}) {
    const auto status = two.end(i);
    REQUIRE_FALSE(status);
    CHECK(status.error().what.find("cannot stage " + two.path) != std::string::npos);
    CHECK(status.error().what.find("no node of the run can read it") != std::string::npos);
  }
  write_file(two.path);
  two.again(0);
  two.again(1);
  CHECK(two.end(0));
  CHECK(two.end(1));
}

TEST_CASE("a node whose search is over says so to others, and waits for none") {
  for (const std::size_t first : {0UZ, 1UZ}) {
    Staging two(2);
    for (const std::size_t i : {first, 1 - first}) {
      two.begin(i);
      const auto status = two.end(i);
      REQUIRE_FALSE(status);
      CHECK(status.error().what.find("no node of the run can read it") != std::string::npos);
    }
  }
}

TEST_CASE("the parts together link the staged files, and a start waits for them") {
  Staging one(1);
  write_file(one.path);
  agent::NodeContext& node = one.nodes.nodes[0]->node;
  node.runtime_directory = one.folder.path() + "/runtime";
  REQUIRE(base::make_directories(node.runtime_directory, 0700));
  node.workers.stage = {one.path, one.folder.path() + "/missing"};
  std::optional<base::Status> go;
  {
    agent::StageFiles stage(node, *one.nodes.nodes[0]->blocks);
    stage.begin_attempt([&](base::Status status) { go = std::move(status); });
    CHECK_FALSE(go);
    one.nodes.run.run_until([&] { return go.has_value(); });
    REQUIRE_FALSE(*go);
    CHECK(go->error().what.find("/missing") != std::string::npos);
    write_file(one.folder.path() + "/missing", 1);
    go.reset();
    node.stages.begin_attempt({0}, 0);
    REQUIRE(node.stages.news());  // they are not here
    stage.begin_attempt([&](base::Status status) { go = std::move(status); });
    one.nodes.run.run_until([&] { return go.has_value(); });
    CHECK(*go);
    const auto report = node.stages.end_attempt();
    REQUIRE(report);
    REQUIRE(report->stages.size() == 1);
    CHECK(report->stages[0].stage == wire::StageName::kEnvironment);
    CHECK(report->stages[0].end > report->stages[0].begin);
    const std::string links = agent::stage_directory(node.runtime_directory);
    CHECK(bytes_of(links + "/weights.bin") == bytes_of(one.path));
    CHECK(bytes_of(links + "/missing") != bytes_of(one.path));
  }
}

}  // namespace staged_file_test
