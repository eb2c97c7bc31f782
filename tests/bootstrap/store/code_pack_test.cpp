// Code packed and unpacked, and what a pack from elsewhere must not do.
#include "bootstrap/store/code_pack.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <limits>
#include <string>

#include "base/core/clock.h"
#include "base/core/text.h"
#include "base/io/code_tree.h"
#include "base/io/fd.h"
#include "base/io/sha256.h"
#include "bootstrap/store/code_store.h"
#include "bootstrap/store/limits.h"
#include "tests/scratch_folder.h"

namespace robustrun::bootstrap::code_pack_test {
namespace {

namespace fs = std::filesystem;
using test::ScratchFolder;

std::string packed(const ScratchFolder& here, const std::string& copy) {
  const auto copied = base::copy_code(here / "src", here / copy, "");
  REQUIRE(copied);
  auto pack = pack_code(here / copy, copied->manifest);
  REQUIRE(pack);
  return *std::move(pack);
}

void write_project(const ScratchFolder& here) {
  here.write("src/train.py", "import lib.model\n");
  here.write("src/lib/model.py", std::string(70'000, 'm'));
  here.write("src/empty.txt", "");
  fs::create_symlink("../train.py", here / "src/lib/main.py");
  fs::permissions(here / "src/train.py", fs::perms(0755));
}

// A pack with one file of this name.
std::string pack_with(const std::string& manifest, std::size_t files) {
  std::string pack = "robustrun-code 1 " + std::to_string(manifest.size()) + "\n" + manifest;
  for (std::size_t i = 0; i < files; ++i) pack += std::string("\1\0\0\0\0\0\0\0x", 9);
  return pack;
}
const std::string kSum(64, '0');

struct Unpacking {
  Unpacking() {
    write_project(here);
    pack = packed(here, "copy");
    digest = base::to_hex(base::sha256(pack));
    file = here.write("pack", pack);
    fs::create_directory(cache);
  }
  base::Result<base::Fd> open(std::int64_t now_s = 1'000'000) {
    return open_code(cache, digest, file, now_s);
  }
  ScratchFolder here;
  std::string cache = here / "cache";
  std::string pack, digest, file;
};

}  // namespace

TEST_CASE("equal code gives equal packs, which unpack to the same folder") {
  ScratchFolder here;
  write_project(here);
  const std::string pack = packed(here, "one");
  CHECK(packed(here, "two") == pack);
  const auto files = parse_code_pack(pack);
  REQUIRE(files);
  CHECK(files->size() == 4);
  REQUIRE(unpack_code(*files, here / "out"));
  const auto manifest = code_manifest(pack);
  REQUIRE(manifest);
  CHECK(base::check_code(here / "out", *manifest));
  CHECK(fs::read_symlink(here / "out/lib/main.py") == "../train.py");
  struct stat status{};
  REQUIRE(::stat((here / "out/train.py").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
  CHECK_FALSE(unpack_code(*files, here / "out"));  // never over an existing folder
}

TEST_CASE("a pack that is cut anywhere, or longer, is refused") {
  ScratchFolder here;
  here.write("src/a.py", "a");
  here.write("src/b/c.py", "cc");
  const std::string pack = packed(here, "copy");
  REQUIRE(parse_code_pack(pack));
  for (std::size_t i = 0; i < pack.size(); ++i) {
    CHECK_FALSE(parse_code_pack(std::string_view(pack).substr(0, i)));
  }
  CHECK_FALSE(parse_code_pack(pack + "x"));
}

TEST_CASE("names that would be written elsewhere are refused") {
  const auto file = [](const std::string& path) { return "f 600 " + kSum + " " + path + "\n"; };
  const auto link = [](const std::string& target, const std::string& path) {
    return "l " + target + std::string(1, '\0') + path + "\n";
  };
  const auto is_taken = [](const std::string& manifest, std::size_t files) {
    return parse_code_pack(pack_with(manifest, files)).has_value();
  };
  CHECK(is_taken(file("a") + file("b/c") + link("../a", "b/d"), 2));
  for (const char* const path :
       {"/etc/passwd", "../a", "a/../../b", "a//b", "./a", "a/", "", "a\x01"}) {
    CAPTURE(path);
    CHECK_FALSE(is_taken(file(path), 1));
    CHECK_FALSE(is_taken(link("a", path), 0));
  }
  for (const char* const target : {"/etc", "../out", "b/../../..", ""}) {
    CAPTURE(target);
    CHECK_FALSE(is_taken(link(target, "a"), 0));
  }
  CHECK_FALSE(is_taken(link("../../out", "b/a"), 0));
  CHECK_FALSE(is_taken(link("..", "b/up") + link("b/up/../out", "c"), 0));
  CHECK_FALSE(is_taken(link("b", "a") + file("a/x"), 1));  // through a link
  CHECK_FALSE(is_taken(file("a") + file("a"), 2));
  CHECK_FALSE(is_taken(file("a") + file("a/b"), 2));
  CHECK_FALSE(is_taken("f 4755 " + kSum + " a\n", 1));
  CHECK_FALSE(is_taken("d a\n", 0));
}

TEST_CASE("code is unpacked once; a modified folder is moved aside and unpacked again") {
  Unpacking code;
  const std::string folder = code_folder(code.cache, code.digest);
  REQUIRE(code.open());
  CHECK(base::read_file(folder + "/train.py", 100).value() == "import lib.model\n");
  // Files that workers leave there do not matter.
  code.here.write("cache/code/" + code_key(code.digest) + "/lib/__pycache__/x.pyc", "x");
  REQUIRE(code.open());
  CHECK(fs::exists(folder + "/lib/__pycache__/x.pyc"));
  fs::remove(folder + "/train.py");
  REQUIRE(code.open());
  CHECK(base::read_file(folder + "/train.py", 100).value() == "import lib.model\n");
  CHECK_FALSE(fs::exists(folder + "/lib/__pycache__/x.pyc"));
}

TEST_CASE("code that is moved aside is kept for a while for its users, however old it is") {
  Unpacking code;
  const std::string folder = code_folder(code.cache, code.digest);
  REQUIRE(code.open());
  fs::remove(folder + "/train.py");
  const auto now = fs::file_time_type::clock::now();
  fs::last_write_time(folder, now - std::chrono::hours(48));
  const base::Nanos unix_time = base::SystemClock().wall_time();
  REQUIRE(code.open(std::chrono::floor<std::chrono::seconds>(unix_time).count()));
  std::size_t kept = 0;
  for (const auto& entry : fs::directory_iterator(code.cache + "/code")) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(code_key(code.digest) + ".old-")) continue;
    ++kept;
    CHECK(fs::exists(entry.path() / "lib/model.py"));
  }
  CHECK(kept == 1);
}

TEST_CASE("a pack other than the run's is refused") {
  Unpacking code;
  code.here.write("pack", code.pack + "x");
  const auto opened = code.open();
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == base::Errc::kCorrupt);
  CHECK_FALSE(fs::exists(code_folder(code.cache, code.digest)));
}

TEST_CASE("the longest unused code is removed, code in use stays") {
  Unpacking code;
  auto held = code.open();
  REQUIRE(held);
  REQUIRE(*held);
  const auto set_age = [&](const std::string& lock, std::int64_t used_s) {
    const timespec times[2] = {{used_s, 0}, {used_s, 0}};
    REQUIRE(::utimensat(AT_FDCWD, lock.c_str(), times, 0) == 0);
  };
  set_age(code_folder(code.cache, code.digest) + ".lock", 10);  // used, but long ago
  const auto other = [&](std::size_t i) {
    return code.cache + "/code/" + std::string(31, '0') + "0123456789abcdef"[i];
  };
  for (std::size_t i = 0; i <= kCodeFoldersKept; ++i) {
    fs::create_directory(other(i));
    code.here.write(other(i).substr(code.here.path().size() + 1) + ".lock", "");
    set_age(other(i) + ".lock", 100 + static_cast<std::int64_t>(i));
  }
  // Other code arrives.
  code.here.write("src/more.py", "more");
  const std::string pack = packed(code.here, "copy2");
  const std::string file = code.here.write("pack2", pack);
  REQUIRE(open_code(code.cache, base::to_hex(base::sha256(pack)), file, 1'000'000));
  CHECK_FALSE(fs::exists(other(0)));
  CHECK(fs::exists(other(1)));
  CHECK(fs::exists(other(kCodeFoldersKept)));
  CHECK(fs::exists(code_folder(code.cache, code.digest)));

  // Removed by age and by number.
  code.here.write(other(1).substr(code.here.path().size() + 1) + "/train.py", "1234");
  const auto listed = list_code(code.cache, 1'000'000);
  REQUIRE(listed.size() == kCodeFoldersKept + 2);
  CHECK(listed.back().in_use);  // long unused, but locked
  CHECK(listed[listed.size() - 2].bytes == 4);
  CHECK_FALSE(listed[listed.size() - 2].in_use);
  CHECK(collect_code(code.cache, 0, 1'000'000).empty());
  const auto removed = collect_code(code.cache, 1'000'000 - 102, 1'000'000);
  REQUIRE(removed.size() == 1);
  CHECK(removed[0].bytes == 4);
  CHECK_FALSE(fs::exists(other(1)));
  CHECK_FALSE(fs::exists(other(1) + ".lock"));
  CHECK(fs::exists(other(2)));
}

TEST_CASE("a foreign file in the place of code is left alone") {
  const ScratchFolder here;
  const std::string cache = here / "cache";
  const std::string key(32, 'a');
  here.write("theirs/file", "mine");
  here.write("cache/code/" + key + ".lock", "");
  fs::permissions(cache + "/code", fs::perms::owner_all);
  fs::create_directory_symlink(here / "theirs", cache + "/code/" + key);
  const std::int64_t later = std::numeric_limits<std::int32_t>::max();
  const auto listed = list_code(cache, later);
  REQUIRE(listed.size() == 1);
  CHECK_FALSE(listed[0].damage.empty());
  CHECK(listed[0].bytes == 0);
  CHECK(collect_code(cache, 1, later).empty());
  CHECK(fs::exists(here / "theirs/file"));
  fs::permissions(cache + "/code", fs::perms::all);
  CHECK(list_code(cache, later).empty());
}

}  // namespace robustrun::bootstrap::code_pack_test
