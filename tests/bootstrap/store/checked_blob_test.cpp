#include "bootstrap/store/checked_blob.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/core/text.h"
#include "base/io/fd.h"
#include "base/io/sha256.h"
#include "bootstrap/store/block_store.h"
#include "bootstrap/store/source_digest.h"
#include "tests/paths.h"
#include "tests/scratch_folder.h"

namespace checked_blob_test {

using namespace robustrun;
using namespace robustrun::bootstrap;

namespace {

constexpr std::uint64_t kLength = 2 * kBlockBytes + 10;
const std::string kKey(32, 'a');
const std::string kDigest = base::to_hex(base::sha256("some content"));

std::unique_ptr<BlockStore> filled(const std::string& cache, const std::string& key = kKey) {
  auto store = BlockStore::open({.cache = cache, .key = key, .length = kLength, .about = "x"});
  REQUIRE(store);
  for (std::uint64_t block = 0; block < (*store)->blocks(); ++block) {
    REQUIRE((*store)->keep(block, std::string(bytes_of_block(kLength, block), 'b')).value());
  }
  return *std::move(store);
}

void save(const std::string& cache, const std::string& key = kKey) {
  REQUIRE(save_checked(cache, key, kDigest, hash_of_sums(cache, key).value()));
}

}  // namespace

TEST_CASE("a digest follows a URL in 64 digits, and is not sent to servers") {
  const std::string digits = std::string(62, '0') + "aF";
  const auto split = split_digest("https://h/a?b#sha256=" + digits);
  REQUIRE(split);
  CHECK(split->source == "https://h/a?b");
  CHECK(split->sha256 == std::string(62, '0') + "af");
  for (const char* without : {"https://h/a", "https://h/a#other", "/a#sha256=12", "a"}) {
    CAPTURE(without);
    CHECK(split_digest(without)->source == without);
    CHECK(split_digest(without)->sha256.empty());
  }
  for (const std::string& wrong : {digits + "0", digits.substr(1), digits.substr(1) + "g"}) {
    CAPTURE(wrong);
    CHECK(split_digest("http://h/a#sha256=" + wrong).error().code == base::Errc::kInvalidArgument);
  }
}

TEST_CASE("a checked blob is found by its content, until a block changes") {
  const test::ScratchFolder folder;
  const std::string cache = folder / "cache";
  CHECK_FALSE(find_checked_blob(cache, kDigest));
  const auto store = filled(cache);
  CHECK_FALSE(find_checked_blob(cache, kDigest));
  save(cache);
  const auto found = find_checked_blob(cache, kDigest);
  REQUIRE(found);
  CHECK(found->key == kKey);
  CHECK(found->length == kLength);
  CHECK_FALSE(find_checked_blob(cache, base::to_hex(base::sha256("other content"))));
  CHECK_FALSE(is_checked_blob(cache, std::string(32, 'b'), kDigest));
  const std::string other(kBlockBytes, 'c');
  REQUIRE(store->keep(1, other).value());
  CHECK_FALSE(find_checked_blob(cache, kDigest));
  REQUIRE(store->keep(1, std::string(kBlockBytes, 'b')).value());
  CHECK(find_checked_blob(cache, kDigest));
  REQUIRE(store->forget_all());
  CHECK_FALSE(find_checked_blob(cache, kDigest));
}

TEST_CASE("dropped blocks are absent, and nothing is kept afterwards") {
  const test::ScratchFolder folder;
  const auto store = filled(folder / "cache");
  REQUIRE(store->forget_all());
  CHECK(store->present().value() == std::vector<bool>(3));
  std::string bytes(kBlockBytes, 'x');
  CHECK_FALSE(store->read(0, bytes).value());
  CHECK_FALSE(store->keep(0, bytes).value());
  CHECK(filled(folder / "cache")->present().value() == std::vector<bool>(3, true));
}

TEST_CASE("a checked blob goes as a whole") {
  const test::ScratchFolder folder;
  const std::string cache = folder / "cache";
  filled(cache).reset();
  save(cache);
  CHECK(collect_blobs(cache, 0, 0, 0).value().size() == 1);
  CHECK_FALSE(std::filesystem::exists(cache + "/blocks/" + kKey));
}

TEST_CASE("version 1's record of a checked blob is read") {
  const std::string path = in_source("tests/golden/blob-checked-v1.txt");
  const auto checked = parse_checked(base::read_file(path, 1000).value());
  REQUIRE(checked);
  CHECK(checked->sha256 == kDigest);
  CHECK(checked->sums == base::to_hex(base::sha256("sums")));
}

TEST_CASE("an incomplete record of a checked blob is refused") {
  const std::string text = checked_text({kDigest, kDigest});
  CHECK(text == "robustrun-checked 1\nsha256 " + kDigest + "\nsums " + kDigest + "\nend\n");
  CHECK(parse_checked(text)->sums == kDigest);
  for (std::size_t cut = 0; cut < text.size(); ++cut)
    CHECK_FALSE(parse_checked(text.substr(0, cut)));
  CHECK_FALSE(parse_checked(text + "more"));
  CHECK_FALSE(parse_checked("robustrun-checked 1\nsha256 12\nsums 12\nend\n"));
}

}  // namespace checked_blob_test
