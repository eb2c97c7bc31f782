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
  CHECK(installed_files(prefix / "bin/robustrun") == wanted);
}

TEST_CASE("an empty prefix has no files to install") {
  const test::ScratchFolder prefix;
  CHECK(installed_files(prefix / "bin/robustrun").empty());
}

}  // namespace robustrun::cli::installed_files_test
