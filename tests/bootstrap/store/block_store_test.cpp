#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/io/fd.h"
#include "bootstrap/store/block_store.h"
#include "bootstrap/store/limits.h"
#include "bootstrap/store/store_files.h"
#include "tests/paths.h"
#include "tests/support/scratch.h"

namespace block_store_test {

using namespace robustrun;
using namespace robustrun::bootstrap;

namespace {

constexpr std::uint64_t kLength = 3 * kBlockBytes + 1000;
const std::string kKey(32, 'a');

std::string block_bytes(std::uint64_t block, std::uint64_t length = kLength) {
  std::string bytes(bytes_of_block(length, block), '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>((i * 31 + i / 4096 + block * 7) & 0xFF);
  }
  return bytes;
}

std::unique_ptr<BlockStore> opened(const std::string& cache, const std::string& key = kKey,
                                   std::uint64_t quota = 0, std::uint64_t length = kLength) {
  auto store = BlockStore::open({cache, key, length, "an image", quota});
  REQUIRE_MESSAGE(store, store.error().what);
  return *std::move(store);
}

bool has(BlockStore& store, std::uint64_t block) {
  std::string bytes(bytes_of_block(store.length(), block), '\0');
  const auto found = store.read(block, bytes);
  REQUIRE(found);
  if (*found) CHECK(bytes == block_bytes(block, store.length()));
  return *found;
}

bool keep(BlockStore& store, std::uint64_t block) {
  const auto kept = store.keep(block, block_bytes(block, store.length()));
  REQUIRE_MESSAGE(kept, kept.error().what);
  return *kept;
}

void overwrite(const std::string& path, std::uint64_t offset, const std::string& bytes) {
  const base::Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  REQUIRE(::pwrite(fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset)) ==
          static_cast<ssize_t>(bytes.size()));
}

// A separate disk, as small as the test wants.
class SmallDisk {
 public:
  SmallDisk(const std::string& path, const char* size) : path_(path) {
    std::filesystem::create_directories(path);
    is_mounted_ = ::mount("tmpfs", path.c_str(), "tmpfs", 0, size) == 0;
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    if (is_mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  [[nodiscard]] bool is_mounted() const { return is_mounted_; }

 private:
  std::string path_;
  bool is_mounted_ = false;
};

}  // namespace

TEST_CASE("kept blocks are present, also after the store was opened again") {
  const test::Scratch scratch;
  const std::string cache = scratch.path("cache");
  {
    const auto store = opened(cache);
    CHECK_FALSE(has(*store, 0));
    CHECK(keep(*store, 0));
    CHECK(keep(*store, 3));  // the short last block
    CHECK(has(*store, 0));
    for (const std::uint64_t block : {0, 3}) {
      std::string bytes(bytes_of_block(kLength, block), '\0');
      CHECK(store->read_past_cache(block, bytes).value());
      CHECK(bytes == block_bytes(block));
    }
  }
  const auto store = opened(cache);
  CHECK(store->present().value() == std::vector<bool>{true, false, false, true});
  CHECK_FALSE(store->is_verified(3));
  CHECK(has(*store, 3));
  CHECK(store->is_verified(3));
  CHECK_FALSE(has(*store, 1));
  CHECK(store->rotten() == 0);
  std::string part(500, '\0');
  REQUIRE(store->read_range(3 * kBlockBytes + 400, part).value());
  CHECK(part == block_bytes(3).substr(400, 500));
}

TEST_CASE("a torn or rotten block is absent, and can be kept again") {
  const test::Scratch scratch;
  const std::string cache = scratch.path("cache");
  const std::string folder = cache + "/blocks/" + kKey;
  {
    const auto store = opened(cache);
    for (std::uint64_t block = 0; block < 4; ++block) REQUIRE(keep(*store, block));
  }
  // The second half never reached the disk; one bit flipped; a sum without its block.
  overwrite(folder + "/data", kBlockBytes / 2, std::string(kBlockBytes / 2, '\0'));
  overwrite(folder + "/data", kBlockBytes + 77, std::string(1, 'x'));
  overwrite(folder + "/sums", 2 * 16, std::string(16, 'y'));
  const auto store = opened(cache);
  for (std::uint64_t block = 0; block < 3; ++block) {
    CHECK_FALSE(has(*store, block));
    CHECK_FALSE(store->is_verified(block));
  }
  CHECK(has(*store, 3));
  CHECK(store->rotten() == 3);
  for (std::uint64_t block = 0; block < 3; ++block) {
    CHECK(keep(*store, block));
    CHECK(has(*store, block));
  }
}

TEST_CASE("a truncated data file has none of its blocks, and gets its length back") {
  const test::Scratch scratch;
  const std::string cache = scratch.path("cache");
  {
    const auto store = opened(cache);
    for (std::uint64_t block = 0; block < 4; ++block) REQUIRE(keep(*store, block));
  }
  const std::string data = cache + "/blocks/" + kKey + "/data";
  std::filesystem::resize_file(data, 10);
  const auto store = opened(cache);
  CHECK(std::filesystem::file_size(data) == kLength);
  CHECK_FALSE(has(*store, 1));
  std::filesystem::resize_file(data, 10);  // while it is open
  std::string part(500, '\0');
  CHECK_FALSE(store->read_range(2 * kBlockBytes, part).value());
}

TEST_CASE("two processes that have it open see each other's blocks") {
  const test::Scratch scratch;
  const auto one = opened(scratch.path("cache"));
  const auto two = opened(scratch.path("cache"));
  std::thread writer([&] {
    for (int i = 0; i < 20; ++i) static_cast<void>(one->keep(1, block_bytes(1)));
  });
  for (int i = 0; i < 20; ++i) static_cast<void>(two->keep(1, block_bytes(1)));
  writer.join();
  CHECK(has(*one, 1));
  CHECK(has(*two, 1));
  CHECK(keep(*two, 2));
  CHECK(has(*one, 2));
}

TEST_CASE("the longest unused blob goes first, and none that is open") {
  const test::Scratch scratch;
  const std::string cache = scratch.path("cache");
  const std::string second(32, 'b');
  const std::string third(32, 'c');
  for (const std::string& key : {kKey, second, third}) {
    const auto store = opened(cache, key);
    for (std::uint64_t block = 0; block < 4; ++block) REQUIRE(keep(*store, block));
  }
  const auto aged = [&](const std::string& key, int hours) {
    std::filesystem::last_write_time(
        cache + "/blocks/" + key + "/about",
        std::filesystem::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  aged(second, 3);
  aged(third, 2);
  aged(kKey, 1);
  auto usage = block_store_usage(cache).value();
  REQUIRE(usage.size() == 3);
  CHECK(usage[0].name == second);
  CHECK(usage[0].what == "an image");
  CHECK(usage[0].length == kLength);
  CHECK(usage[0].bytes >= kLength);
  CHECK_FALSE(usage[0].in_use);

  const auto in_use = opened(cache, second);
  aged(second, 3);  // opening it made it the newest
  CHECK(block_store_usage(cache).value()[0].in_use);
  const auto removed = collect_blobs(cache, 2 * usage[0].bytes, 0, 0).value();
  REQUIRE(removed.size() == 1);
  CHECK(removed[0].name == third);
  CHECK(removed[0].here == kLength);
  usage = block_store_usage(cache).value();
  REQUIRE(usage.size() == 2);  // `third` went, although `second` is older
  CHECK(usage[0].name == second);
  CHECK(usage[1].name == kKey);
  CHECK(has(*in_use, 2));
  CHECK(collect_blobs(cache, 0, 0, 0).value().size() == 1);
  CHECK(block_store_usage(cache).value().size() == 1);
  CHECK(block_store_usage(scratch.path("nowhere")).value().empty());
}

TEST_CASE("beyond its quota the store evicts older blobs, then keeps nothing more") {
  const test::Scratch scratch;
  const std::string cache = scratch.path("cache");
  const std::string second(32, 'b');
  {
    REQUIRE(keep(*opened(cache), 0));
  }
  const std::uint64_t quota = 2 * kBlockBytes + (64U << 10);
  const auto store = opened(cache, second, quota);
  CHECK(keep(*store, 0));
  CHECK(keep(*store, 1));  // the other blob was evicted for this block
  CHECK_FALSE(keep(*store, 2));
  CHECK_FALSE(has(*store, 2));
  CHECK(has(*store, 1));
  CHECK(block_store_usage(cache).value().size() == 1);
}

TEST_CASE("a full disk keeps nothing more, and its blocks stay right") {
  const test::Scratch scratch;
  const SmallDisk disk(scratch.path("disk"), "size=350k");
  if (!disk.is_mounted()) {
    MESSAGE("skipped: mounting a small disk takes root");
    return;
  }
  const auto store = opened(scratch.path("disk") + "/cache");
  CHECK(keep(*store, 0));
  CHECK(keep(*store, 1));
  CHECK_FALSE(keep(*store, 2));
  CHECK_FALSE(has(*store, 2));
  CHECK(has(*store, 0));
  CHECK(has(*store, 1));
}

TEST_CASE("files that are not private are not used") {
  const test::Scratch scratch;
  const std::string cache = scratch.path("cache");
  REQUIRE(keep(*opened(cache), 0));
  const std::string folder = cache + "/blocks/" + kKey;
  REQUIRE(::chmod((folder + "/data").c_str(), 0666) == 0);
  CHECK(BlockStore::open({cache, kKey, kLength, "", 0}).error().code == base::Errc::kPermission);
  std::filesystem::remove(folder + "/data");
  REQUIRE(base::write_file_atomically(scratch.path("theirs"), "mine", 0600));
  std::filesystem::create_symlink(scratch.path("theirs"), folder + "/data");
  CHECK_FALSE(BlockStore::open({cache, kKey, kLength, "", 0}));
  CHECK(base::read_file(scratch.path("theirs"), 100).value() == "mine");
  CHECK(BlockStore::open({cache, "../../etc", kLength, "", 0}).error().code ==
        base::Errc::kInvalidArgument);
  REQUIRE(::chmod((cache + "/blocks").c_str(), 0777) == 0);
  CHECK_FALSE(BlockStore::open({cache, std::string(32, 'd'), kLength, "", 0}));
}

TEST_CASE("verifying a blob counts the damaged blocks and drops only those") {
  const test::Scratch scratch;
  const std::string cache = scratch.path("cache");
  const std::uint64_t length = (3 * kVerifyBlocks + 2) * kBlockBytes + 5;
  const std::uint64_t last = 3 * kVerifyBlocks + 2;
  {
    const auto store = opened(cache, kKey, 0, length);
    for (std::uint64_t block = 0; block <= last; ++block) {
      if (block != 3) REQUIRE(keep(*store, block));  // runs of several lengths
    }
  }
  CHECK(verify_blob(cache, kKey).value().blocks == last);
  CHECK(verify_blob(cache, kKey).value().rotten == 0);
  const std::vector<std::uint64_t> damaged = {0, 2, 20, last};
  for (const std::uint64_t block : damaged) {
    overwrite(cache + "/blocks/" + kKey + "/data", block * kBlockBytes + 1, "!");
  }
  CHECK(verify_blob(cache, kKey).value().rotten == damaged.size());
  CHECK(verify_blob(cache, kKey).value().rotten == 0);  // they were dropped
  const auto store = opened(cache, kKey, 0, length);
  const auto present = store->present().value();
  for (std::uint64_t block = 0; block <= last; ++block) {
    const bool is_damaged = std::ranges::find(damaged, block) != damaged.end();
    CHECK(present[block] == (block != 3 && !is_damaged));
  }
  CHECK(verify_blob(cache, std::string(32, 'e')).error().os_errno == ENOENT);
}

TEST_CASE("verifying a blob is not a use, and protects it from eviction meanwhile") {
  const test::Scratch scratch;
  const std::string cache = scratch.path("cache");
  REQUIRE(keep(*opened(cache), 0));
  const std::string about = cache + "/blocks/" + kKey + "/about";
  const timespec times[2] = {{1000, 0}, {1000, 0}};
  REQUIRE(::utimensat(AT_FDCWD, about.c_str(), times, 0) == 0);
  REQUIRE(verify_blob(cache, kKey));
  CHECK(block_store_usage(cache).value()[0].used_s == 1000);
  const auto looking = BlockStore::open({cache, kKey, kLength, "an image", 0, false});
  REQUIRE(looking);
  CHECK(block_store_usage(cache).value()[0].used_s == 1000);
  CHECK(collect_blobs(cache, 0, 0, 0).value().empty());
  opened(cache).reset();
  CHECK(block_store_usage(cache).value()[0].used_s > 1000);
}

TEST_CASE("blobs not opened for long, and damaged ones, are removed") {
  const test::Scratch scratch;
  const std::string cache = scratch.path("cache");
  const std::string second(32, 'b');
  const std::string third(32, 'c');
  for (const std::string& key : {kKey, second, third}) REQUIRE(keep(*opened(cache, key), 0));
  const auto used = [&](const std::string& key, std::int64_t when_s) {
    const timespec times[2] = {{when_s, 0}, {when_s, 0}};
    REQUIRE(::utimensat(AT_FDCWD, (cache + "/blocks/" + key + "/about").c_str(), times, 0) == 0);
  };
  used(kKey, 1000);
  used(second, 2000);
  used(third, 2000);
  CHECK(collect_blobs(cache, 1U << 30, 500, 1400).value().empty());
  const auto old = collect_blobs(cache, 1U << 30, 500, 1600).value();
  REQUIRE(old.size() == 1);
  CHECK(old[0].name == kKey);
  overwrite(cache + "/blocks/" + second + "/about", 0, "?");  // a crash tore it
  std::filesystem::resize_file(cache + "/blocks/" + third + "/sums", 16);
  const auto listed = block_store_usage(cache).value();
  REQUIRE(listed.size() == 2);
  for (const CacheEntry& blob : listed) CHECK_FALSE(blob.damage.empty());
  {
    const auto in_use = opened(cache, third);  // which makes it whole again
    const auto damaged = collect_blobs(cache, 1U << 30, 0, 0).value();
    REQUIRE(damaged.size() == 1);
    CHECK(damaged[0].name == second);
  }
  REQUIRE(block_store_usage(cache).value().size() == 1);
  CHECK(block_store_usage(cache).value()[0].damage.empty());
}

TEST_CASE("links and files open to others are neither followed nor removed") {
  const test::Scratch scratch;
  const std::string cache = scratch.path("cache");
  REQUIRE(keep(*opened(cache), 0));
  REQUIRE(keep(*opened(scratch.path("other")), 0));
  const std::string theirs = scratch.path("other") + "/blocks/" + kKey;
  const std::string second(32, 'b');
  const std::string third(32, 'c');
  std::filesystem::create_directory_symlink(theirs, cache + "/blocks/" + second);
  std::filesystem::create_directory(cache + "/blocks/" + third);
  REQUIRE(::chmod((cache + "/blocks/" + third).c_str(), 0777) == 0);
  const auto removed = collect_blobs(cache, 0, 1, 1U << 31).value();
  REQUIRE(removed.size() == 1);
  CHECK(removed[0].name == kKey);
  const auto listed = block_store_usage(cache).value();
  REQUIRE(listed.size() == 2);
  for (const CacheEntry& blob : listed) CHECK_FALSE(blob.damage.empty());
  CHECK(std::filesystem::exists(theirs + "/data"));
  CHECK(std::filesystem::exists(cache + "/blocks/" + third));

  std::filesystem::rename(cache + "/blocks", scratch.path("moved"));
  std::filesystem::create_directory_symlink(scratch.path("other") + "/blocks", cache + "/blocks");
  CHECK(block_store_usage(cache).error().code == base::Errc::kPermission);
  CHECK(collect_blobs(cache, 0, 0, 0).error().code == base::Errc::kPermission);
  CHECK(std::filesystem::exists(theirs + "/data"));
}

TEST_CASE("a blob's 'about' is read back, and nothing else is accepted") {
  const auto about = parse_about(about_text({42, "http://host/image"})).value();
  CHECK(about.length == 42);
  CHECK(about.source == "http://host/image");
  const std::string path = in_source("tests/golden/blob-about-v1.txt");
  CHECK(parse_about(base::read_file(path, 1000).value()).value().length == 3'146'728);
  for (const char* text : {"", "robustrun-blob 1\n", "robustrun-blob 2\nlength 42\nsource x\n",
                           "robustrun-blob 1\nlength 0\nsource x\n",
                           "robustrun-blob 1\nlength 42\nsource x\nmore\n"}) {
    CHECK_FALSE(parse_about(text));
  }
}

}  // namespace block_store_test
