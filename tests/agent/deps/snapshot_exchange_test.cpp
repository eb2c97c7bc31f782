// Snapshots between nodes: a node that has one gives it, a node that makes one is waited for, and a
// damaged one is not taken.
#include "agent/deps/snapshot_exchange.h"

#include <doctest/doctest.h>

#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/io/fd.h"
#include "bootstrap/deps/store.h"
#include "bootstrap/store/blob.h"
#include "tests/agent/block_nodes.h"
#include "tests/scratch_folder.h"

namespace snapshot_exchange_test {

using namespace robustrun;
using agent::SnapshotExchange;
using bootstrap::Snapshot;
using test::BlockNodes;

namespace {

const std::string kKey(32, 'a');
constexpr std::size_t kSize = 3 * bootstrap::kBlockBytes + 17;

struct Snapshots {
  explicit Snapshots(std::uint32_t count) : nodes(count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      agent::NodeContext& node = nodes.nodes[i]->node;
      node.workers.cache_directory = cache(i);
      node.workers.share_blocks = true;
      made.push_back(std::make_shared<SnapshotExchange>(node, *nodes.nodes[i]->blocks));
      found.emplace_back();
      REQUIRE(base::make_directories(cache(i), 0700));
      REQUIRE(bootstrap::make_snapshot_folder(cache(i)));
    }
    nodes.introduce();
  }
  ~Snapshots() {
    for (const auto& one : made) one->abandon();
  }
  Snapshots(const Snapshots&) = delete;
  Snapshots& operator=(const Snapshots&) = delete;

  [[nodiscard]] std::string cache(std::size_t i) const {
    return folder / ("cache" + std::to_string(i));
  }
  // As mksquashfs and NodeSnapshot do.
  Snapshot make(std::size_t i) {
    const std::string bytes = test::test_bytes(5, kSize);
    const std::string path = bootstrap::unfinished_path(cache(i), kKey, "ab12");
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<long>(bytes.size()));
    Snapshot snapshot;
    snapshot.key = kKey;
    snapshot.id = "ab12";
    snapshot.what = "requirements.txt";
    snapshot.made_s = 1'000;
    return bootstrap::finish_snapshot(cache(i), snapshot).value();
  }
  void seek(std::size_t i, bool is_wanted = true) {
    found[i].reset();
    made[i]->seek(
        cache(i), kKey, [is_wanted](const Snapshot&) { return is_wanted; },
        [this, i](const base::Result<std::optional<Snapshot>>& one) {
          found[i] = one;
          if (one && *one) made[i]->offer(cache(i), **one);  // as the node does that has opened it
        });
  }
  std::optional<Snapshot> end(std::size_t i) {
    nodes.run.run_until([&] { return found[i].has_value(); });
    REQUIRE(found[i]->has_value());
    return **found[i];
  }

  test::ScratchFolder folder;
  BlockNodes nodes;
  std::vector<std::shared_ptr<SnapshotExchange>> made;
  std::vector<std::optional<base::Result<std::optional<Snapshot>>>> found;
};

}  // namespace

TEST_CASE("nodes that lack a snapshot get it from one that has it, complete and under its name") {
  for (const std::size_t holder : {0UZ, 1UZ, 2UZ, 3UZ, 4UZ}) {
    CAPTURE(holder);
    Snapshots five(5);
    const Snapshot right = five.make(holder);
    five.made[holder]->offer(five.cache(holder), right);
    for (std::size_t i = 0; i < 5; ++i) {
      if (i != holder) five.seek(i);
    }
    for (std::size_t i = 0; i < 5; ++i) {
      if (i == holder) continue;
      const auto got = five.end(i);
      REQUIRE(got);
      CHECK(*got == right);
      const auto there = bootstrap::find_snapshot(five.cache(i), kKey);
      REQUIRE(there);
      CHECK(*there == right);
      CHECK(bootstrap::verify_snapshot(five.cache(i), *there));
    }
  }
}

TEST_CASE("where no node has it, one node makes it, and the others wait for that node") {
  Snapshots three(3);
  for (std::size_t i = 0; i < 3; ++i) three.seek(i);
  const auto maker = [&]() -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < 3; ++i) {
      if (three.found[i]) return i;
    }
    return std::nullopt;
  };
  three.nodes.run.run_until([&] { return maker().has_value(); });
  const std::size_t first = *maker();
  CHECK_FALSE(three.end(first));
  const Snapshot right = three.make(first);
  for (std::size_t i = 0; i < 3; ++i) CHECK(three.found[i].has_value() == (i == first));
  three.made[first]->offer(three.cache(first), right);
  for (std::size_t i = 0; i < 3; ++i) {
    if (i == first) continue;
    const auto got = three.end(i);
    REQUIRE(got);
    CHECK(*got == right);
  }
}

TEST_CASE("when the node that makes it gives up, another node makes it") {
  Snapshots two(2);
  two.seek(0);
  two.seek(1);
  two.nodes.run.run_until([&] { return two.found[0] || two.found[1]; });
  const std::size_t first = two.found[0] ? 0 : 1;
  CHECK_FALSE(two.end(first));
  two.made[first]->give_up();
  CHECK_FALSE(two.end(1 - first));
}

TEST_CASE("a snapshot that is too old for this start is not taken") {
  Snapshots two(2);
  two.made[0]->offer(two.cache(0), two.make(0));
  two.seek(1, false);
  CHECK_FALSE(two.end(1));
  CHECK_FALSE(bootstrap::find_snapshot(two.cache(1), kKey));
}

TEST_CASE("a snapshot that was damaged at its origin is not kept") {
  Snapshots two(2);
  const Snapshot right = two.make(0);
  {
    std::fstream file(bootstrap::snapshot_path(two.cache(0), kKey),
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(kSize / 2);
    file.put('?');
  }
  two.made[0]->offer(two.cache(0), right);
  two.seek(1);
  two.nodes.run.run_until([&] { return two.found[1].has_value(); });
  CHECK_FALSE(two.found[1]->has_value());
  CHECK_FALSE(bootstrap::find_snapshot(two.cache(1), kKey));
}

}  // namespace snapshot_exchange_test
