#include "agent/image/profile.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "base/io/fd.h"
#include "bootstrap/hot/block_profile.h"
#include "bootstrap/store/blob.h"
#include "tests/scratch_folder.h"

namespace robustrun::agent::image_profile_test {

namespace {

namespace fs = std::filesystem;
using bootstrap::BlockProfile;

constexpr std::uint64_t kLength = std::uint64_t{3} << 20;

// An image, and the caches of two nodes.
struct Place {
  test::ScratchFolder folder;
  std::string image = folder.write("i.sqsh", std::string(kLength, 'x'));
  std::string beside = image + ".hot";
  std::string key = bootstrap::blob_of_file(image).value().key;

  [[nodiscard]] std::string cache(const std::string& node) const { return folder / node; }
  [[nodiscard]] std::string own(const std::string& node) const {
    return bootstrap::block_profile_path(cache(node), key);
  }
  void learn(const std::string& node, std::uint32_t block, std::int64_t made_s = 1) const {
    fs::create_directories(fs::path(own(node)).parent_path());
    const BlockProfile profile{kLength, made_s, {{block, 0}}};
    folder.write(own(node).substr(folder.path().size() + 1), encode_block_profile(profile));
  }
  static std::uint32_t block_of(const std::string& file) {
    const auto text = base::read_file(file, 1 << 20);
    REQUIRE(text.has_value());
    return bootstrap::decode_block_profile(*text).value().blocks.at(0).block;
  }
};

}  // namespace

TEST_CASE("a node begins with what another node has learned of an image") {
  const Place place;
  CHECK_FALSE(take_hot_blocks(place.image, place.cache("b")).has_value());
  CHECK_FALSE(leave_hot_blocks(place.image, place.cache("a"), true).has_value());
  place.learn("a", 7);
  REQUIRE(leave_hot_blocks(place.image, place.cache("a"), false).has_value());
  const mode_t mask = ::umask(0);
  ::umask(mask);
  CHECK(static_cast<mode_t>(fs::status(place.beside).permissions()) == (0644U & ~mask));
  REQUIRE(take_hot_blocks(place.image, place.cache("b")).has_value());
  CHECK(Place::block_of(place.own("b")) == 7);
  CHECK(static_cast<unsigned>(fs::status(place.own("b")).permissions()) == 0600);
}

TEST_CASE("a profile beside an image is replaced by the first node only, and only if it differs") {
  const Place place;
  place.learn("a", 7);
  REQUIRE(leave_hot_blocks(place.image, place.cache("a"), true).has_value());
  place.learn("b", 8);
  CHECK(leave_hot_blocks(place.image, place.cache("b"), false).has_value());
  CHECK(Place::block_of(place.beside) == 7);
  place.learn("a", 7, 2);
  CHECK(leave_hot_blocks(place.image, place.cache("a"), true).has_value());
  CHECK(bootstrap::decode_block_profile(*base::read_file(place.beside, 4096))->made_s == 1);
  CHECK(leave_hot_blocks(place.image, place.cache("b"), true).has_value());
  CHECK(Place::block_of(place.beside) == 8);
  place.folder.write("i.sqsh.hot", "robustrun-blocks 1\n");
  CHECK(leave_hot_blocks(place.image, place.cache("a"), false).has_value());
  CHECK(Place::block_of(place.beside) == 7);
  place.folder.write("i.sqsh.hot", "another file's notes");
  CHECK_FALSE(leave_hot_blocks(place.image, place.cache("a"), true).has_value());
  CHECK(base::read_file(place.beside, 4096).value() == "another file's notes");
}

TEST_CASE("a profile beside an image is not trusted, and does not replace the cache's") {
  const Place place;
  const auto is_taken = [&](const std::string& text) {
    place.folder.write("i.sqsh.hot", text);
    const bool taken = take_hot_blocks(place.image, place.cache("b")).has_value();
    CHECK(fs::exists(place.own("b")) == taken);
    return taken;
  };
  CHECK_FALSE(is_taken("nonsense"));
  CHECK_FALSE(is_taken(bootstrap::encode_block_profile({kLength + 1, 1, {{1, 0}}})));
  fs::remove(place.beside);
  REQUIRE(::mkfifo(place.beside.c_str(), 0600) == 0);
  CHECK_FALSE(take_hot_blocks(place.image, place.cache("b")).has_value());
  fs::remove(place.beside);
  place.learn("a", 7);
  fs::create_symlink(place.own("a"), place.beside);
  CHECK_FALSE(leave_hot_blocks(place.image, place.cache("a"), true).has_value());
  CHECK_FALSE(take_hot_blocks(place.image, place.cache("b")).has_value());
  fs::remove(place.beside);
  place.learn("b", 3);
  REQUIRE(leave_hot_blocks(place.image, place.cache("a"), true).has_value());
  CHECK(take_hot_blocks(place.image, place.cache("b")).has_value());
  CHECK(Place::block_of(place.own("b")) == 3);
}

TEST_CASE(
    "a write of a profile beside an image removes what a crash left there, and nothing else") {
  const Place place;
  const auto left = [&](const std::string& name, const std::string& text, int hours) {
    const std::string path = place.folder.write(name, text);
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(hours));
    return path;
  };
  const std::string torn = left("i.sqsh.hot.aB3xYz", "robustrun-blocks 3\nlen", 2);
  const std::string empty = left("i.sqsh.hot.000000", "", 2);
  const std::string fresh = left("i.sqsh.hot.bbbbbb", "robustrun-blocks 3\n", 0);
  const std::string others = left("other.sqsh.hot.cccccc", "robustrun-blocks 3\n", 2);
  const std::string notes = left("i.sqsh.hot.backup", "notes", 2);
  const std::string longer = left("i.sqsh.hot.of-monday", "robustrun-blocks 3\n", 2);
  fs::create_symlink(torn, place.folder / "i.sqsh.hot.dddddd");
  place.learn("a", 7);
  REQUIRE(leave_hot_blocks(place.image, place.cache("a"), true).has_value());
  CHECK_FALSE(fs::exists(torn));
  CHECK_FALSE(fs::exists(empty));
  for (const std::string& path : {fresh, others, notes, longer}) {
    CAPTURE(path);
    CHECK(fs::exists(path));
  }
  CHECK(fs::is_symlink(place.folder / "i.sqsh.hot.dddddd"));
}

TEST_CASE("an unusable profile in the cache is replaced by the one beside the image") {
  const Place place;
  place.learn("a", 7);
  REQUIRE(leave_hot_blocks(place.image, place.cache("a"), true).has_value());
  place.learn("b", 3);
  place.folder.write(place.own("b").substr(place.folder.path().size() + 1), "robustrun-blocks 0\n");
  REQUIRE(take_hot_blocks(place.image, place.cache("b")).has_value());
  CHECK(Place::block_of(place.own("b")) == 7);
}

}  // namespace robustrun::agent::image_profile_test
