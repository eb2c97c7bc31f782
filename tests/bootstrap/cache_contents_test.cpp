#include "bootstrap/cache_contents.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "base/io/fd.h"
#include "base/io/private_dir.h"
#include "bootstrap/hot/block_profile.h"
#include "bootstrap/store/block_store.h"
#include "tests/support/scratch.h"

namespace cache_contents_test {

using namespace robustrun;
using namespace robustrun::bootstrap;

namespace {

constexpr std::uint64_t kLength = 2 * kBlockBytes + 1000;
constexpr std::int64_t kNow = 2'000'000'000;
constexpr CacheLimits kNoLimits{std::uint64_t{1} << 40, 0};

std::string key_of(char digit) { return std::string(32, digit); }

std::unique_ptr<BlockStore> with_blocks(const std::string& cache, char digit,
                                        std::uint64_t blocks) {
  auto store = BlockStore::open({cache, key_of(digit), kLength, "/shared/torch.sqsh", 0});
  REQUIRE_MESSAGE(store, store.error().what);
  for (std::uint64_t block = 0; block < blocks; ++block) {
    const std::string bytes(bytes_of_block(kLength, block), 'x');
    REQUIRE((*store)->keep(block, bytes).value());
  }
  return *std::move(store);
}

void used_at(const std::string& path, std::int64_t when_s) {
  const timespec times[2] = {{when_s, 0}, {when_s, 0}};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

std::string about_of(const std::string& cache, char digit) {
  return cache + "/blocks/" + key_of(digit) + "/about";
}

}  // namespace

TEST_CASE("a cache's blobs are listed with their present bytes and whether they are in use") {
  const test::Scratch scratch;
  const std::string cache = scratch.path("cache");
  CHECK(list_cache(cache, kNow).empty());
  with_blocks(cache, 'a', 1).reset();
  const auto in_use = with_blocks(cache, 'b', 3);
  used_at(about_of(cache, 'a'), 1000);
  const auto all = list_cache(cache, kNow);
  REQUIRE(all.size() == 2);
  CHECK(all[0].name == key_of('b'));  // the last used first
  CHECK(all[0].in_use);
  CHECK(all[0].here == kLength);
  CHECK(all[1].kind == CacheKind::kBlob);
  CHECK(all[1].what == "/shared/torch.sqsh");
  CHECK(all[1].here == kBlockBytes);
  CHECK(all[1].length == kLength);
  CHECK(all[1].bytes >= kBlockBytes);
  CHECK(all[1].used_s == 1000);
  CHECK_FALSE(all[1].in_use);
  CHECK(all[1].damage.empty());
}

TEST_CASE("a damaged block is reported once and dropped") {
  const test::Scratch scratch;
  const std::string cache = scratch.path("cache");
  with_blocks(cache, 'a', 3).reset();
  const std::string data = cache + "/blocks/" + key_of('a') + "/data";
  const base::Fd fd(::open(data.c_str(), O_WRONLY | O_CLOEXEC));
  REQUIRE(::pwrite(fd.get(), "y", 1, kBlockBytes + 9) == 1);
  CHECK(list_cache(cache, kNow)[0].damage.empty());  // a list reads no blocks
  CHECK(verify_cache(cache, kNow)[0].damage == "1 of 3 blocks were damaged and have been dropped");
  const auto after = verify_cache(cache, kNow);
  CHECK(after[0].damage.empty());
  CHECK(after[0].here == kLength - kBlockBytes);
}

TEST_CASE("shrinking a cache removes its oldest blobs, except those in use") {
  const test::Scratch scratch;
  const std::string cache = scratch.path("cache");
  for (const char digit : {'a', 'b', 'c'}) with_blocks(cache, digit, 3).reset();
  const auto in_use = with_blocks(cache, 'a', 0);
  used_at(about_of(cache, 'a'), 1000);
  used_at(about_of(cache, 'b'), 2000);
  used_at(about_of(cache, 'c'), 3000);
  CHECK(shrink_cache(cache, kNoLimits, kNow).empty());
  const auto two = shrink_cache(cache, {2 * list_cache(cache, kNow)[0].bytes, 0}, kNow);
  REQUIRE(two.size() == 1);
  CHECK(two[0].name == key_of('b'));
  const auto old = shrink_cache(cache, {kNoLimits.bytes_max, kNow - 3500}, kNow);
  REQUIRE(old.size() == 1);
  CHECK(old[0].name == key_of('c'));
  CHECK(old[0].here == kLength);
  CHECK(shrink_cache(cache, {0, 1}, kNow).empty());
  const auto left = list_cache(cache, kNow);
  REQUIRE(left.size() == 1);
  CHECK(left[0].name == key_of('a'));
}

TEST_CASE("profiles of blocks are listed; torn and old ones are removed") {
  const test::Scratch scratch;
  const std::string cache = scratch.path("cache");
  REQUIRE(base::make_directories(cache + "/hot", 0700));
  const BlockProfile profile{kLength, 1000, {{1, 0}, {2, 0}}};
  const std::string text = encode_block_profile(profile);
  const std::string whole = block_profile_path(cache, key_of('a'));
  const std::string torn = block_profile_path(cache, key_of('b'));
  REQUIRE(base::write_file_atomically(whole, text, 0600));
  REQUIRE(base::write_file_atomically(torn, text.substr(0, text.size() - 3), 0600));
  used_at(whole, kNow - 100);
  used_at(torn, kNow - 200);
  const auto all = list_cache(cache, kNow);
  REQUIRE(all.size() == 2);
  CHECK(all[0].kind == CacheKind::kProfile);
  CHECK(all[0].damage.empty());
  CHECK_FALSE(all[1].damage.empty());
  CHECK(shrink_cache(cache, kNoLimits, kNow).size() == 1);
  CHECK(std::filesystem::exists(whole));
  CHECK(shrink_cache(cache, {kNoLimits.bytes_max, 50}, kNow).size() == 1);
  CHECK(list_cache(cache, kNow).empty());
}

TEST_CASE("a block store that is a link is reported and left alone") {
  const test::Scratch scratch;
  const std::string cache = scratch.path("cache");
  const std::string other = scratch.path("other");
  with_blocks(other, 'a', 3).reset();
  std::filesystem::create_directory(cache);
  std::filesystem::create_directory_symlink(other + "/blocks", cache + "/blocks");
  for (const auto& all : {list_cache(cache, kNow), verify_cache(cache, kNow)}) {
    REQUIRE(all.size() == 1);
    CHECK(all[0].damage.find("not private to this user") != std::string::npos);
  }
  CHECK(shrink_cache(cache, {0, 1}, kNow).empty());
  CHECK(list_cache(other, kNow).size() == 1);
}

}  // namespace cache_contents_test
