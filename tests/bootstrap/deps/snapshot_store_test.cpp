#include "bootstrap/deps/store.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "base/io/fd.h"
#include "bootstrap/cache_contents.h"
#include "bootstrap/store/limits.h"
#include "tests/scratch_folder.h"

using namespace robustrun;
using namespace robustrun::bootstrap;

namespace snapshot_store_test {

namespace fs = std::filesystem;

const std::string kKey = "0123456789abcdef0123456789abcdef";

std::string key_of(int number) { return std::string(31, '0') + static_cast<char>('0' + number); }

Snapshot store(const std::string& cache, const std::string& key, const std::string& bytes) {
  REQUIRE(make_snapshot_folder(cache).has_value());
  Snapshot snapshot;
  snapshot.key = key;
  snapshot.id = "00ff";
  snapshot.what = "requirements.txt";
  snapshot.made_s = 1000;
  REQUIRE(base::write_file_atomically(unfinished_path(cache, key, snapshot.id), bytes, 0600));
  auto made = finish_snapshot(cache, snapshot);
  REQUIRE_MESSAGE(made.has_value(), made.error().what);
  return *made;
}

void set_used(const std::string& cache, const std::string& key, std::int64_t when_s) {
  const timespec times[2] = {{when_s, 0}, {when_s, 0}};
  for (const char* ending : {".about", ".sqfs"}) {
    REQUIRE(::utimensat(AT_FDCWD, (cache + "/deps/" + key + ending).c_str(), times, 0) == 0);
  }
}

TEST_CASE("a finished snapshot is found and sound") {
  const test::ScratchFolder scratch;
  const std::string cache = scratch / "cache";
  CHECK_FALSE(find_snapshot(cache, kKey).has_value());
  const std::string bytes(3'000'000, 'x');
  const Snapshot made = store(cache, kKey, bytes);
  CHECK(made.bytes == bytes.size());
  CHECK(find_snapshot(cache, kKey) == made);
  CHECK(verify_snapshot(cache, made).has_value());
  CHECK(decode_about(encode_about(made)).value() == made);
}

TEST_CASE("a torn, cut, changed or unfinished snapshot does not count") {
  const test::ScratchFolder scratch;
  const std::string cache = scratch / "cache";
  std::string bytes(3'000'000, 'x');
  const Snapshot made = store(cache, kKey, bytes);
  const std::string path = snapshot_path(cache, kKey);
  SUBCASE("cut short") { fs::resize_file(path, bytes.size() - 1); }
  SUBCASE("its end was never written") {
    bytes.replace(bytes.size() - 10, 10, 10, '\0');
    REQUIRE(base::write_file_atomically(path, bytes, 0600));
  }
  SUBCASE("without its about file") { fs::remove(cache + "/deps/" + kKey + ".about"); }
  SUBCASE("with the about file of another snapshot") {
    Snapshot other = made;
    other.bytes += 1;
    REQUIRE(
        base::write_file_atomically(cache + "/deps/" + kKey + ".about", encode_about(other), 0600));
  }
  SUBCASE("others may write it") { REQUIRE(::chmod(path.c_str(), 0666) == 0); }
  SUBCASE("it is a link") {
    fs::rename(path, scratch / "elsewhere");
    fs::create_symlink(scratch / "elsewhere", path);
  }
  CHECK_FALSE(find_snapshot(cache, kKey).has_value());
  const auto all = list_snapshots(cache, 2000);
  REQUIRE(all.size() == 1);
  CHECK_FALSE(all[0].damage.empty());
  CHECK(collect_snapshots(cache, 1U << 30U, 0, 2000).removed.size() == 1);
  CHECK(list_snapshots(cache, 2000).empty());
}

TEST_CASE("damage in the middle is found by reading everything") {
  const test::ScratchFolder scratch;
  const std::string cache = scratch / "cache";
  std::string bytes(3'000'000, 'x');
  const Snapshot made = store(cache, kKey, bytes);
  bytes[1'500'000] = 'y';
  REQUIRE(base::write_file_atomically(snapshot_path(cache, kKey), bytes, 0600));
  CHECK(find_snapshot(cache, kKey).has_value());
  CHECK_FALSE(verify_snapshot(cache, made).has_value());
  const auto all = verify_cache(cache, 2000);
  REQUIRE(all.size() == 1);
  CHECK_FALSE(all[0].damage.empty());
}

TEST_CASE("a folder that is open to others is not used") {
  const test::ScratchFolder scratch;
  const std::string cache = scratch / "cache";
  fs::create_directories(cache + "/deps");
  REQUIRE(::chmod((cache + "/deps").c_str(), 0777) == 0);
  CHECK(make_snapshot_folder(cache).error().code == base::Errc::kPermission);
}

TEST_CASE("the longest unused go first, and those in use stay") {
  const test::ScratchFolder scratch;
  const std::string cache = scratch / "cache";
  for (int i = 0; i < 4; ++i) {
    store(cache, key_of(i), std::string(1000, 'x'));
    set_used(cache, key_of(i), 1000 + i);
  }
  const base::Fd use = hold_snapshot(cache, key_of(0));
  REQUIRE(use);
  const auto all = list_snapshots(cache, 2000);
  CHECK(all.front().name == key_of(3));
  CHECK(all.back().in_use);
  const auto removed = collect_snapshots(cache, 2000, 0, 2000);
  REQUIRE(removed.removed.size() == 2);
  CHECK(removed.removed[0].name == key_of(1));
  CHECK(removed.removed[1].name == key_of(2));
  CHECK(removed.bytes_left == 2000);
  CHECK(find_snapshot(cache, key_of(0)).has_value());
  CHECK(collect_snapshots(cache, 0, 0, 2000).removed.size() == 1);
  CHECK(find_snapshot(cache, key_of(0)).has_value());
}

TEST_CASE("a FIFO in the place of a snapshot's files is not waited for") {
  const test::ScratchFolder scratch;
  const std::string cache = scratch / "cache";
  store(cache, kKey, "bytes");
  for (const char* const ending : {".about", ".sqfs"}) {
    const std::string path = cache + "/deps/" + kKey + ending;
    fs::remove(path);
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  }
  CHECK_FALSE(find_snapshot(cache, kKey).has_value());
  CHECK_FALSE(hold_snapshot(cache, kKey));
  const auto all = list_snapshots(cache, 2000);
  REQUIRE(all.size() == 1);
  CHECK_FALSE(all[0].damage.empty());
  CHECK(remove_snapshot(cache, kKey));
}

TEST_CASE("snapshots long unused go, and files unfinished for a day") {
  const test::ScratchFolder scratch;
  const std::string cache = scratch / "cache";
  store(cache, key_of(0), "old");
  store(cache, key_of(1), "new");
  const std::string left = unfinished_path(cache, key_of(2), "aa");
  REQUIRE(base::write_file_atomically(left, "half", 0600));
  struct stat status{};
  REQUIRE(::stat(left.c_str(), &status) == 0);
  const std::int64_t now = status.st_mtime;
  set_used(cache, key_of(0), now - 1000);
  set_used(cache, key_of(1), now - 10);
  CHECK(collect_snapshots(cache, 1U << 30U, 100, now).removed.size() == 1);
  CHECK(find_snapshot(cache, key_of(1)).has_value());
  CHECK(fs::exists(left));
  collect_snapshots(cache, 1U << 30U, 0, now + 2 * 86400);
  CHECK_FALSE(fs::exists(left));
}

TEST_CASE("a builder removes what others of the same key left unfinished") {
  const test::ScratchFolder scratch;
  const std::string cache = scratch / "cache";
  REQUIRE(make_snapshot_folder(cache).has_value());
  const std::string own = unfinished_path(cache, key_of(1), "aa");
  const std::string other = unfinished_path(cache, key_of(2), "aa");
  REQUIRE(base::write_file_atomically(own, "half", 0600));
  REQUIRE(base::write_file_atomically(other, "half", 0600));
  remove_unfinished(cache, key_of(1));
  CHECK_FALSE(fs::exists(own));
  CHECK(fs::exists(other));
}

}  // namespace snapshot_store_test
