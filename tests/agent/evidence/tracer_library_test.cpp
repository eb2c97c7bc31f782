#include "agent/evidence/tracer_library.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "agent/node/limits.h"
#include "tests/scratch_folder.h"

namespace tracer_library_test {

using namespace robustrun;
using agent::tracer_library;

namespace {

struct Installation {
  test::ScratchFolder folder;
  std::string library = folder.write("share/librobustrun_tracer.so", "");
  wire::WorkerTemplate workers;
  Installation() { workers.python_path = folder / "share/python"; }
};

}  // namespace

TEST_CASE("NCCL's plugin lies beside the Python package") {
  const Installation here;
  CHECK(tracer_library(here.workers) == here.library);
}

TEST_CASE("without tracing, injection or the library itself there is no plugin") {
  Installation here;
  SUBCASE("--trace=off") { here.workers.trace = false; }
  SUBCASE("--inject=off") { here.workers.python_path = ""; }
  SUBCASE("an odd path") { here.workers.python_path = "python"; }
  SUBCASE("not installed") { std::filesystem::remove(here.library); }
  CHECK(tracer_library(here.workers).empty());
}

TEST_CASE("a path that NCCL would truncate is not given to it") {
  Installation here;
  for (const std::size_t length : {agent::kTracerPathBytesMax, agent::kTracerPathBytesMax + 1}) {
    std::string name = here.folder / "";
    const std::size_t rest = std::string("/librobustrun_tracer.so").size();
    name.append(length - rest - name.size(), 'x');
    std::filesystem::create_directory(name);
    std::filesystem::copy_file(here.library, name + "/librobustrun_tracer.so");
    here.workers.python_path = name + "/python";
    CAPTURE(length);
    CHECK(tracer_library(here.workers).size() ==
          (length == agent::kTracerPathBytesMax ? length : 0));
  }
}

}  // namespace tracer_library_test
