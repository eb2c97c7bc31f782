// What nodes tell each other about a staged file, and its blocks.
#include "bootstrap/store/staged_about.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "tests/scratch_folder.h"

namespace staged_about_test {

using namespace robustrun;
using namespace robustrun::bootstrap;

TEST_CASE("the description of a staged file is read back, and nonsense is refused") {
  const test::ScratchFolder folder;
  const std::string path = folder.write("file", std::string(3000, 'x'));
  const StagedAbout about{blob_of_file(path).value(), base::NodeId{7}};
  const auto read = parse_staged_about(to_text(about)).value();
  CHECK(read.blob.key == about.blob.key);
  CHECK(read.blob.length == 3000);
  CHECK(read.blob.validator == about.blob.validator);
  CHECK(read.reader == base::NodeId{7});
  for (const char* text :
       {"", "robustrun-staged-1", "robustrun-staged-2 0123456789abcdef0123456789abcdef 1 2 3",
        "robustrun-staged-1 0123456789abcdef0123456789abcdeX 1 2 3",
        "robustrun-staged-1 0123456789abcdef0123456789abcdef 0 2 3",
        "robustrun-staged-1 0123456789abcdef0123456789abcdef -1 2 3",
        "robustrun-staged-1 0123456789abcdef0123456789abcdef 99999999999999 2 3",
        "robustrun-staged-1 0123456789abcdef0123456789abcdef 1 2 "}) {
    INFO(text);
    CHECK_FALSE(parse_staged_about(text));
  }
  CHECK(staged_name("/a") != staged_name("/b"));
  CHECK(is_blob_key(staged_name("/a")));
}

TEST_CASE("a block of a file that has changed is refused") {
  const test::ScratchFolder folder;
  std::string bytes(kBlockBytes + 3, 'a');
  bytes.back() = 'z';
  const std::string path = folder.write("file", bytes);
  const Blob blob = blob_of_file(path).value();
  CHECK(read_staged_block(path, blob, 0).value() == bytes.substr(0, kBlockBytes));
  CHECK(read_staged_block(path, blob, 1).value() == "aaz");
  const auto time = std::filesystem::last_write_time(path);
  std::filesystem::last_write_time(path, time + std::chrono::seconds(1));
  CHECK(read_staged_block(path, blob, 0).error().code == base::Errc::kConflict);
  std::filesystem::remove(path);
  CHECK_FALSE(read_staged_block(path, blob, 0));
}

}  // namespace staged_about_test
