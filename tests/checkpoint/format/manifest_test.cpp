#include "checkpoint/format/manifest.h"

#include <cstdlib>

#include "base/io/fd.h"
#include "checkpoint/format/crc32c.h"
#include "tests/checkpoint/support.h"
#include "tests/paths.h"

namespace manifest_test {

using namespace robustrun;
using namespace robustrun::checkpoint;

namespace {

Manifest sample() {
  Manifest manifest;
  manifest.head.attempt = {1000, 7, "3f9c"};
  manifest.head.sequence = 12;
  manifest.head.wall_time_ns = 1'700'000'000'000'000'000;
  manifest.head.layout = {4, {{"dp", 2}, {"tp", 2}}};
  manifest.head.mounts = {"/a", "/b"};
  manifest.head.writers = {"n0", "n1"};
  const std::string bytes = "0123456789abcdef";
  const std::uint32_t crc = crc32c(bytes);
  manifest.files = {{"d-n0-m0.safetensors", 0, 8192, 4096, 0x1234, {0x5678}}};
  Shard shard{"w", "F32", 3, {4, 2}, {2, 0}, {2, 2}, 16, 0, {}};
  const std::string_view all = bytes;
  shard.pieces = {{0, 4096, 8, crc32c(all.substr(0, 8))}, {0, 4160, 8, crc32c(all.substr(8))}};
  shard.crc = crc;
  manifest.shards = {shard};
  manifest.states = {{0, "rng", std::string("\0\1\2", 3)}, {3, "loader", ""}};
  return manifest;
}

Manifest with_parity() {
  Manifest manifest = sample();
  manifest.files.push_back({"p-n0-m1.rrparity", 1, 4096, 0, 0, {0x9abc}});
  manifest.groups = {{{{0, 0, 4096}}, {{1, 0, 4096}}}};
  return manifest;
}

Manifest with_nodes() {
  Manifest manifest = sample();
  manifest.files.push_back({"p-n0-m1.rrparity", 1, 4096, 0, 0, {0x9abc}, "node 7"});
  manifest.files[0].node = "node 3";
  return manifest;
}

// Reads the stored document; creates it first if it is missing and that was requested.
Manifest golden(const std::string& name, const Manifest& manifest) {
  const std::string path = in_source("tests/golden/") + name;
  if (std::getenv("RR_UPDATE_GOLDEN") != nullptr && !std::filesystem::exists(path)) {
    REQUIRE(base::write_file_atomically(path, encode(Document::kManifest, manifest), 0644));
  }
  const auto bytes = base::read_file(path, 1 << 20);
  REQUIRE(bytes);
  const auto stored = decode(Document::kManifest, *bytes);
  REQUIRE(stored);
  return *stored;
}

}  // namespace

TEST_CASE("a document is read back as written, and only as its own kind") {
  for (const Document document : {Document::kIntent, Document::kPart, Document::kManifest}) {
    const auto groups = decode(document, encode(document, with_parity()));
    REQUIRE(groups);
    CHECK(*groups == with_parity());
    const auto nodes = decode(document, encode(document, with_nodes()));
    REQUIRE(nodes);
    CHECK(*nodes == with_nodes());
    CHECK(summarize(document, encode(document, with_nodes()))->nodes ==
          std::vector<std::string>{"node 3", "node 7"});
    const std::string bytes = encode(document, sample());
    const auto back = decode(document, bytes);
    REQUIRE(back);
    CHECK(*back == sample());
    for (const Document other : {Document::kIntent, Document::kPart, Document::kManifest}) {
      CHECK(decode(other, bytes).has_value() == (other == document));
    }
  }
}

TEST_CASE("a manifest that is cut anywhere, or has one bit flipped anywhere, is refused") {
  std::string bytes = encode(Document::kManifest, sample());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CHECK_FALSE(decode(Document::kManifest, std::string_view(bytes).substr(0, size)));
  }
  CHECK_FALSE(decode(Document::kManifest, bytes + '\0'));
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    CAPTURE(bit);
    CHECK_FALSE(decode(Document::kManifest, bytes));
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
  }
}

TEST_CASE("a summary counts what decoding finds, and is refused when decoding is") {
  for (const Manifest& manifest : {sample(), with_parity()}) {
    std::string bytes = encode(Document::kManifest, manifest);
    const auto summary = summarize(Document::kManifest, bytes);
    REQUIRE(summary);
    CHECK(summary->head == manifest.head);
    CHECK(summary->shards == manifest.shards.size());
    std::uint64_t all = 0;
    for (const Shard& shard : manifest.shards) all += shard.bytes;
    CHECK(summary->bytes == all);
    CHECK_FALSE(summarize(Document::kPart, bytes));
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      CHECK_FALSE(summarize(Document::kManifest, std::string_view(bytes).substr(0, size)));
    }
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
      CAPTURE(bit);
      CHECK_FALSE(summarize(Document::kManifest, bytes));
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    }
  }
}

TEST_CASE("a manifest that contradicts itself is refused even if its checksums are right") {
  const auto refused = [](auto change) {
    Manifest manifest = with_parity();
    change(manifest);
    return !decode(Document::kManifest, encode(Document::kManifest, manifest));
  };
  CHECK_FALSE(refused([](Manifest&) {}));
  CHECK(refused([](Manifest& m) { m.files[0].name = "../../etc/passwd"; }));
  CHECK(refused([](Manifest& m) { m.files[0].name = ".."; }));
  CHECK(refused([](Manifest& m) { m.files.push_back(m.files[0]); }));
  CHECK(refused([](Manifest& m) { m.files[0].mount = 2; }));
  CHECK(refused([](Manifest& m) { m.files[0].bytes = UINT64_MAX; }));
  CHECK(refused([](Manifest& m) { m.files[0].header_bytes = 9000; }));
  CHECK(refused([](Manifest& m) { m.shards[0].pieces[1].file = 1; }));
  CHECK(refused([](Manifest& m) { m.shards[0].pieces[1].offset = UINT64_MAX - 3; }));
  CHECK(refused([](Manifest& m) { m.shards[0].pieces[1].offset = 8190; }));
  CHECK(refused([](Manifest& m) { m.shards[0].pieces[1].crc ^= 1; }));
  CHECK(refused([](Manifest& m) { m.shards[0].pieces.pop_back(); }));
  CHECK(refused([](Manifest& m) { m.shards[0].shape = {UINT64_MAX, UINT64_MAX}; }));
  CHECK(refused([](Manifest& m) { m.shards[0].offsets = {3, 0}; }));
  CHECK(refused([](Manifest& m) { m.shards[0].rank = 4; }));
  CHECK(refused([](Manifest& m) { m.states[0].rank = 4; }));
  CHECK(refused([](Manifest& m) { m.head.attempt.token = "../x"; }));
  CHECK(refused([](Manifest& m) { m.head.writers[0] = "a/b"; }));
  CHECK(refused([](Manifest& m) { m.groups[0].parity.clear(); }));
  CHECK(refused([](Manifest& m) { m.groups[0].data.clear(); }));
  CHECK(refused([](Manifest& m) { m.groups[0].data[0].file = 2; }));
  CHECK(refused([](Manifest& m) { m.groups[0].data[0].offset = UINT64_MAX; }));
  CHECK(refused([](Manifest& m) { m.groups[0].parity[0].bytes = 2048; }));
  CHECK(refused([](Manifest& m) { m.groups[0].parity[0].file = 0; }));
}

TEST_CASE("a manifest stored by the first version of the format is still read") {
  CHECK(golden("checkpoint-manifest-v1.bin", sample()) == sample());
  CHECK(golden("checkpoint-manifest-v1-parity.bin", with_parity()) == with_parity());
  CHECK(golden("checkpoint-manifest-v1-nodes.bin", with_nodes()) == with_nodes());
}

}  // namespace manifest_test
