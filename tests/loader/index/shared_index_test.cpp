#include "loader/index/shared_index.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/loader/read/token_folder.h"
#include "tests/scratch_folder.h"

namespace shared_index_test {

using namespace robustrun;
using namespace robustrun::loader;
using loader_test::Folder;

// Two data sets in two sources, one of which has both of them.
Spec spec_of(const Folder& first, const Folder& second) {
  Spec spec = loader_test::spec_of(8, 8);
  spec.sources[0].paths = {first.path() + "/set", second.path() + "/set"};
  spec.sources.push_back({"other", Format::kMegatron, {second.path() + "/set"}, 4, {}});
  return spec;
}

bool are_equal(const std::vector<SourceIndex>& some, const std::vector<SourceIndex>& others) {
  return std::ranges::equal(some, others, [](const SourceIndex& a, const SourceIndex& b) {
    return std::ranges::equal(a.lengths, b.lengths) && fingerprint(a) == fingerprint(b) &&
           std::ranges::equal(a.files, b.files, [](const IndexedFile& x, const IndexedFile& y) {
             return x.path == y.path && x.first == y.first && x.type == y.type &&
                    std::ranges::equal(x.offsets, y.offsets);
           });
  });
}

std::vector<std::filesystem::path> files_in(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".lock") files.push_back(entry.path());
  }
  return files;
}

TEST_CASE("ranks map one copy of the indices, which is that of the files") {
  const Folder first(40, 20);
  const Folder second(31, 7);  // an odd number of lengths: there is padding
  const Spec spec = spec_of(first, second);
  const test::ScratchFolder shared;
  const auto own = read_indices(spec, "/", "");
  REQUIRE(own);
  std::array<std::vector<SourceIndex>, 4> ranks;
  {
    std::vector<std::jthread> threads;
    for (auto& rank : ranks) {
      threads.emplace_back([&] { rank = *read_indices(spec, "/", shared.path()); });
    }
  }
  for (const auto& rank : ranks) CHECK(are_equal(rank, *own));
  REQUIRE(files_in(shared.path()).size() == 1);
  struct stat status{};
  REQUIRE(::stat(files_in(shared.path())[0].c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  CHECK(status.st_size < 12 * 102 + 200);
  std::filesystem::remove_all(shared.path());  // what is mapped stays
  CHECK(are_equal(ranks[3], *own));
}

TEST_CASE("data that has changed has an index of its own") {
  const Folder first(40, 20);
  const Folder second(31, 7);
  const Spec spec = spec_of(first, second);
  const test::ScratchFolder shared;
  const auto before = *read_indices(spec, "/", shared.path());
  {
    const Folder longer(50, 20);
    for (const char* name : {"set.idx", "set.bin"}) {
      std::filesystem::copy_file(longer.path() + "/" + name, first.path() + "/" + name,
                                 std::filesystem::copy_options::overwrite_existing);
    }
  }
  const auto after = *read_indices(spec, "/", shared.path());
  CHECK(before[0].lengths.size() == 71);
  CHECK(after[0].lengths.size() == 81);
  CHECK(files_in(shared.path()).size() == 2);
}

TEST_CASE("without a file that can be used each rank has a copy of its own") {
  const Folder first(40, 20);
  const Folder second(31, 7);
  const Spec spec = spec_of(first, second);
  const auto own = *read_indices(spec, "/", "");
  CHECK(are_equal(*read_indices(spec, "/", "/nowhere"), own));
  CHECK(are_equal(*read_indices(spec, "/", "/proc"), own));
  const test::ScratchFolder shared;
  REQUIRE(read_indices(spec, "/", shared.path()));
  const std::filesystem::path file = files_in(shared.path())[0];
  const std::string whole = loader_test::contents(file);
  for (std::size_t at = 0; at < whole.size(); at += 5) {
    loader_test::write(file, whole.substr(0, at));
    CHECK(are_equal(*read_indices(spec, "/", shared.path()), own));
    CHECK(loader_test::contents(file) == whole);  // written anew
  }
}

TEST_CASE("a file with damaged contents, or with holes, is written anew") {
  const Folder first(40, 20);
  const Folder second(31, 7);
  const Spec spec = spec_of(first, second);
  const auto own = read_indices(spec, "/", "");
  const test::ScratchFolder shared;
  REQUIRE(read_indices(spec, "/", shared.path()));
  const std::filesystem::path file = files_in(shared.path())[0];
  const std::string whole = loader_test::contents(file);
  for (std::size_t at = 0; at < whole.size(); at += 11) {
    std::string damaged = whole;
    damaged[at] ^= '\x55';
    loader_test::write(file, damaged);
    CHECK(are_equal(*read_indices(spec, "/", shared.path()), *own));
  }
  loader_test::write(file, whole.substr(0, 64) + std::string(whole.size() - 64, '\0'));
  CHECK(are_equal(*read_indices(spec, "/", shared.path()), *own));
  CHECK(loader_test::contents(file) == whole);
}

TEST_CASE("an error is that of the files") {
  const Folder first(40, 20);
  const Folder second(31, 7);
  const Spec spec = spec_of(first, second);
  const test::ScratchFolder shared;
  std::filesystem::resize_file(second.path() + "/set.bin", 100);
  const auto own = read_indices(spec, "/", "");
  const auto of_shared = read_indices(spec, "/", shared.path());
  REQUIRE_FALSE(own);
  REQUIRE_FALSE(of_shared);
  CHECK(of_shared.error().what == own.error().what);
  CHECK(files_in(shared.path()).empty());
  std::filesystem::remove(second.path() + "/set.bin");
  CHECK(read_indices(spec, "/", shared.path()).error().what ==
        read_indices(spec, "/", "").error().what);
}

}  // namespace shared_index_test
