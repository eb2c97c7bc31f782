#include "base/io/code_tree.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/io/fd.h"
#include "base/io/limits.h"
#include "tests/scratch_folder.h"

namespace robustrun::base::code_tree_test {
namespace {

namespace fs = std::filesystem;

// Some code, and files that are not code.
struct Project {
  Project() {
    here.write("src/train.py", "import model\n");
    here.write("src/lib/model.py", "x = 1\n");
    here.write("src/.git/config", "x");
    here.write("src/lib/__pycache__/model.pyc", "x");
    here.write("src/robustrun-runs/one/journal", "x");
    here.write("src/out/run/versions/1/code/old.py", "x");
    fs::create_symlink("lib/model.py", here / "src/model.py");
    fs::create_symlink("nowhere", here / "src/.#train.py");
    fs::permissions(here / "src/train.py", fs::perms(0755));
  }
  Result<CodeCopy> copy() { return copy_code(here / "src", here / "copy", here / "src/out/run"); }
  test::ScratchFolder here;
};

TEST_CASE("a copy has only the code, and is recognised") {
  Project project;
  const auto copy = project.copy();
  REQUIRE(copy);
  CHECK(copy->files == 3);
  CHECK(copy->bytes == 19);
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(project.here / "copy")) {
    if (!entry.is_directory() || entry.is_symlink()) {
      names.push_back(entry.path().lexically_relative(project.here / "copy"));
    }
  }
  std::ranges::sort(names);
  CHECK(names == std::vector<std::string>{"lib/model.py", "model.py", "train.py"});
  CHECK(fs::read_symlink(project.here / "copy/model.py") == "lib/model.py");
  struct stat status{};
  REQUIRE(::stat((project.here / "copy/train.py").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
  CHECK(check_code(project.here / "copy", copy->manifest));
  // The same code elsewhere has the same manifest.
  const auto again = copy_code(project.here / "copy", project.here / "again", "");
  REQUIRE(again);
  CHECK(again->manifest == copy->manifest);
}

TEST_CASE("virtual environments and folders that the caller names are left out") {
  Project project;
  project.here.write("src/env/pyvenv.cfg", "home = /usr/bin\n");
  fs::create_symlink("/usr/bin/python3", project.here / "src/env/python");
  project.here.write("src/lib/notes.log", "x");
  project.here.write("src/data/big.bin", "x");
  const auto copy = copy_code(project.here / "src", project.here / "copy",
                              project.here / "src/out/run", {"lib/notes.log", "data"});
  REQUIRE(copy);
  CHECK(copy->files == 3);
  CHECK_FALSE(fs::exists(project.here / "copy/env"));
  CHECK_FALSE(fs::exists(project.here / "copy/data"));
}

TEST_CASE("changed and removed files are detected, added ones are ignored") {
  Project project;
  const auto copy = project.copy();
  REQUIRE(copy);
  const std::string at = project.here / "copy";
  project.here.write("copy/lib/__pycache__/model.pyc", "bytecode");
  project.here.write("copy/notes.txt", "mine");
  CHECK(check_code(at, copy->manifest));
  project.here.write("copy/lib/model.py", "x = 2\n");
  CHECK(check_code(at, copy->manifest).error().code == Errc::kConflict);
  fs::remove(project.here / "copy/lib/model.py");
  CHECK(check_code(at, copy->manifest).error().code == Errc::kNotFound);
  project.here.write("copy/lib/model.py", "x = 1\n");
  CHECK(check_code(at, copy->manifest));
  fs::remove(project.here / "copy/model.py");
  fs::create_symlink("train.py", project.here / "copy/model.py");
  CHECK(check_code(at, copy->manifest).error().code == Errc::kConflict);
  CHECK(check_code(at, "nonsense\n").error().code == Errc::kCorrupt);
  CHECK(check_code(at, "f 700\n").error().code == Errc::kCorrupt);
}

TEST_CASE("a link out of the folder is refused") {
  for (const auto& [link, target] :
       {std::pair("src/lib/link", "/etc/passwd"), std::pair("src/link", "../secret"),
        std::pair("src/link", "lib/../../secret")}) {
    Project project;
    project.here.write("secret", "x");
    fs::create_symlink(target, project.here / link);
    const auto copy = project.copy();
    CAPTURE(target);
    REQUIRE_FALSE(copy);
    CHECK(copy.error().code == Errc::kPermission);
    CHECK(copy.error().what.find("link") != std::string::npos);
  }
}

TEST_CASE("a folder of data is refused before it is copied completely") {
  Project project;
  const std::string big = project.here.write("src/data.bin", "");
  REQUIRE(::truncate(big.c_str(), static_cast<off_t>(kCodeBytesMax) + 1) == 0);
  const auto copy = project.copy();
  REQUIRE_FALSE(copy);
  CHECK(copy.error().code == Errc::kLimit);
  CHECK(copy.error().what.find("256 MiB") != std::string::npos);
}

TEST_CASE(
    "a folder that is too deep, a name with control characters and a missing folder are refused") {
  Project project;
  std::string deep = "src";
  for (int i = 0; i <= kCodeDepthMax; ++i) deep += "/d";
  project.here.write(deep + "/x.py", "");
  CHECK(project.copy().error().code == Errc::kLimit);
  const test::ScratchFolder other;
  other.write("src/a\nb.py", "");
  CHECK(copy_code(other / "src", other / "copy", "").error().code == Errc::kInvalidArgument);
  CHECK_FALSE(copy_code(other / "none", other / "copy2", "").has_value());
}

}  // namespace
}  // namespace robustrun::base::code_tree_test
