#include "cli/host/installed_files.h"

#include <doctest/doctest.h>

#include "tests/scratch_folder.h"

namespace robustrun::cli::installed_files_test {

TEST_CASE("the Python package is installed with its sub-packages, without compiled files") {
  const test::ScratchFolder prefix;
  const std::string package = "share/robustrun/python/robustrun/";
  const auto write = [&](const std::string& name) {
    return prefix.write(package + name, "pass\n");
  };
  const std::vector<std::string> wanted = {write("_boot/__init__.py"), write("_boot/run.py"),
                                           write("boot.py")};
  write("_boot/__pycache__/run.cpython-311.pyc");
  CHECK(installed_files(prefix / "bin/robustrun", true) == wanted);
}

TEST_CASE("hosts get the server of image blocks if the run has an image") {
  const test::ScratchFolder prefix;
  const std::vector<std::string> wanted = {prefix.write("bin/robustrun-blocks", ""),
                                           prefix.write("bin/robustrun-shim", "")};
  CHECK(installed_files(prefix / "bin/robustrun", true) == wanted);
  CHECK(installed_files(prefix / "bin/robustrun", false) == std::vector{wanted[1]});
}

TEST_CASE("an empty prefix has no files to install") {
  const test::ScratchFolder prefix;
  CHECK(installed_files(prefix / "bin/robustrun", true).empty());
}

}  // namespace robustrun::cli::installed_files_test
