#include "bootstrap/snapshot_key.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>

#include "bootstrap/limits.h"
#include "tests/scratch_folder.h"

using namespace robustrun;
using namespace robustrun::bootstrap;

namespace snapshot_key_test {

namespace fs = std::filesystem;

constexpr std::string_view kAbi =
    "robustrun-abi 1\ncpython\n3.11.2\ncpython-311-x86_64-linux-gnu\nlinux-x86_64 x86_64\n"
    "glibc 2.36\n";

SnapshotFacts example() {
  SnapshotFacts facts;
  facts.kind = DepsKind::kRequirements;
  facts.digest = "00ff";
  facts.interpreter = "/usr/bin/python3";
  facts.abi = parse_abi(kAbi).value();
  facts.driver = "550";
  facts.index = {"PIP_INDEX_URL=https://host/simple"};
  return facts;
}

std::string digest_of(const test::ScratchFolder& folder, const std::string& name) {
  auto inputs = gather_inputs(DepsKind::kRequirements, folder / name, folder.path());
  REQUIRE_MESSAGE(inputs.has_value(), inputs.error().what);
  return inputs->digest;
}

TEST_CASE("version 1 of the key stays what it was") {
  CHECK(encode_facts(example()) ==
        "robustrun-snapshot 1\n"
        "kind 12\nrequirements\n"
        "inputs 4\n00ff\n"
        "interpreter 16\n/usr/bin/python3\n"
        "abi 74\ncpython\n3.11.2\ncpython-311-x86_64-linux-gnu\nlinux-x86_64 x86_64\nglibc 2.36\n"
        "image 0\n\n"
        "driver 3\n550\n"
        "index 33\nPIP_INDEX_URL=https://host/simple\n");
  CHECK(snapshot_key(example()) == "19871fb6f77f2b534b14d29156fbfd4a");
}

TEST_CASE("each fact changes the key") {
  std::set<std::string> keys = {snapshot_key(example())};
  const auto with = [&](const std::function<void(SnapshotFacts&)>& change) {
    SnapshotFacts facts = example();
    change(facts);
    CHECK(keys.insert(snapshot_key(facts)).second);
  };
  with([](SnapshotFacts& f) { f.kind = DepsKind::kPyproject; });
  with([](SnapshotFacts& f) { f.digest = "00fe"; });
  with([](SnapshotFacts& f) { f.command = {"pip", "install"}; });
  with([](SnapshotFacts& f) { f.command = {"pip install"}; });
  with([](SnapshotFacts& f) { f.command = {"pip install", ""}; });
  with([](SnapshotFacts& f) { f.interpreter = "/usr/bin/python3.11"; });
  with([](SnapshotFacts& f) { f.abi += "x"; });
  with([](SnapshotFacts& f) { f.image = "1"; });
  with([](SnapshotFacts& f) { f.driver = "560"; });
  with([](SnapshotFacts& f) { f.index.clear(); });
}

TEST_CASE("an interpreter's answer is six lines or none") {
  CHECK(minor_version(parse_abi(kAbi).value()) == "3.11");
  CHECK_FALSE(parse_abi("").has_value());
  CHECK_FALSE(parse_abi("Traceback (most recent call last)").has_value());
  CHECK_FALSE(parse_abi(std::string(kAbi) + "more\n").has_value());
  CHECK_FALSE(parse_abi("robustrun-abi 1\na\n\nb\nc\nd\n").has_value());
}

TEST_CASE("variables of an index count without passwords, others do not") {
  CHECK(index_variables({"PIP_INDEX_URL=https://me:one@host/simple", "HOME=/root",
                         "PIP_CACHE_DIR=/c", "UV_INDEX="}) ==
        std::vector<std::string>{"PIP_INDEX_URL=https://host/simple"});
  CHECK(index_variables({"PIP_EXTRA_INDEX_URL=https://a:b@x/ https://c@y/z@1"}) ==
        std::vector<std::string>{"PIP_EXTRA_INDEX_URL=https://x/ https://y/z@1"});
}

TEST_CASE("the driver's major version is read from what the kernel module says") {
  CHECK(driver_major("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19\n"
                     "GCC version:  gcc version 12.3.0\n") == "535");
  CHECK(driver_major("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  R\n") ==
        "550");
  CHECK(driver_major("GCC version: 12\n").empty());
}

TEST_CASE("the content of all files that are named changes the key, their place does not") {
  const auto fill = [](const test::ScratchFolder& folder) {
    folder.write("requirements.txt",
                 "-r base.txt\n-c limits.txt\n-e ./package\n./a-1-py3-none-any.whl\n"
                 "--find-links wheels\nnumpy==1.0\n");
    folder.write("base.txt", "torch==2.0\n");
    folder.write("limits.txt", "numpy<2\n");
    folder.write("package/setup.py", "version = 1");
    folder.write("package/__pycache__/setup.cpython-311.pyc", "bytecode");
    folder.write("a-1-py3-none-any.whl", "wheel");
    folder.write("wheels/b-1-py3-none-any.whl", "wheel");
  };
  const test::ScratchFolder folder, elsewhere;
  fill(folder);
  fill(elsewhere);
  const std::string digest = digest_of(folder, "requirements.txt");
  CHECK(digest == digest_of(elsewhere, "requirements.txt"));
  folder.write("package/__pycache__/setup.cpython-311.pyc", "other bytecode");
  folder.write("notes.txt", "numpy");
  CHECK(digest == digest_of(folder, "requirements.txt"));
  std::set<std::string> digests = {digest};
  for (const char* name : {"base.txt", "limits.txt", "package/setup.py", "a-1-py3-none-any.whl",
                           "package/new.py", "wheels/b-2-py3-none-any.whl"}) {
    CAPTURE(name);
    folder.write(name, "x==1 # another");
    CHECK(digests.insert(digest_of(folder, "requirements.txt")).second);
  }
  fs::rename(folder / "package/new.py", folder / "package/other.py");
  CHECK(digests.insert(digest_of(folder, "requirements.txt")).second);
}

TEST_CASE("a list becomes one with absolute paths and nothing editable") {
  const test::ScratchFolder folder;
  folder.write("deps/requirements.txt", "-r more.txt\n-e ./package[x]\nnumpy==1.0\n");
  folder.write("deps/more.txt", "torch==2.0\n-c limits.txt\n");
  folder.write("deps/limits.txt", "");
  folder.write("package/setup.py", "");
  const auto inputs =
      gather_inputs(DepsKind::kRequirements, folder / "deps/requirements.txt", folder.path());
  REQUIRE(inputs.has_value());
  CHECK(inputs->requirements == "torch==2.0\n-c " + (folder / "deps/limits.txt") + "\n" +
                                    (folder / "package") + "[x]\nnumpy==1.0\n");
  CHECK(inputs->pinned);
  CHECK(inputs->has_local);
}

TEST_CASE("one requirement without a version makes all of it unpinned, wherever it stands") {
  const test::ScratchFolder folder;
  folder.write("requirements.txt", "-r base.txt\nnumpy==1.0\n");
  folder.write("base.txt", "torch\n");
  CHECK_FALSE(
      gather_inputs(DepsKind::kRequirements, folder / "requirements.txt", folder.path())->pinned);
  folder.write("pyproject.toml", "[project]\n");
  CHECK_FALSE(gather_inputs(DepsKind::kPyproject, folder / "pyproject.toml", "/")->pinned);
  folder.write("uv.lock", "source = { directory = \"package\" }\n");
  folder.write("package/a.py", "1");
  const auto lock = gather_inputs(DepsKind::kUvLock, folder / "uv.lock", "/");
  REQUIRE(lock.has_value());
  CHECK(lock->pinned);
  folder.write("package/a.py", "2");
  CHECK(gather_inputs(DepsKind::kUvLock, folder / "uv.lock", "/")->digest != lock->digest);
}

TEST_CASE("what is missing, endless or no text is an error that names the file") {
  const test::ScratchFolder folder;
  const auto error_of = [&](const std::string& text) {
    folder.write("requirements.txt", text);
    const auto inputs =
        gather_inputs(DepsKind::kRequirements, folder / "requirements.txt", folder.path());
    return inputs ? std::string() : inputs.error().what;
  };
  CHECK(error_of("-r none.txt\n").find("none.txt") != std::string::npos);
  CHECK(error_of("-e ./none\n").find("/none") != std::string::npos);
  CHECK(error_of("-r requirements.txt\n").find("circle") != std::string::npos);
  CHECK(error_of("-f none\n").find("none") != std::string::npos);
  CHECK(deps_kind("a/setup.cfg").error().what.find("requirements.txt") != std::string::npos);
  CHECK(deps_kind("/a/requirements-gpu.txt").value() == DepsKind::kRequirements);
  CHECK(deps_kind("environment.yml").value() == DepsKind::kConda);
  CHECK(deps_kind("uv.lock").value() == DepsKind::kUvLock);
}

TEST_CASE("local packages are bounded") {
  const test::ScratchFolder folder;
  std::string deep = "package";
  for (int i = 0; i <= kLocalDepthMax; ++i) deep += "/d";
  folder.write(deep + "/f", "");
  folder.write("requirements.txt", "./package\n");
  const auto inputs =
      gather_inputs(DepsKind::kRequirements, folder / "requirements.txt", folder.path());
  REQUIRE_FALSE(inputs.has_value());
  CHECK(inputs.error().code == base::Errc::kLimit);
}

}  // namespace snapshot_key_test
