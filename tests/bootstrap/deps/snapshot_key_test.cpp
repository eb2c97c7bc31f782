#include "bootstrap/deps/key.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>

#include "bootstrap/store/limits.h"
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

TEST_CASE("version 2 of the key does not change") {
  CHECK(encode_facts(example()) ==
        "robustrun-snapshot 2\n"
        "kind 12\nrequirements\n"
        "inputs 4\n00ff\n"
        "directory 0\n\n"
        "interpreter 16\n/usr/bin/python3\n"
        "abi 74\ncpython\n3.11.2\ncpython-311-x86_64-linux-gnu\nlinux-x86_64 x86_64\nglibc 2.36\n"
        "image 0\n\n"
        "root 0\n\n"
        "driver 3\n550\n"
        "index 33\nPIP_INDEX_URL=https://host/simple\n");
  CHECK(snapshot_key(example()) == "77f7f0756f6c59b28d33e4b334a9af54");
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
  with([](SnapshotFacts& f) { f.directory = "/job"; });
  with([](SnapshotFacts& f) { f.interpreter = "/usr/bin/python3.11"; });
  with([](SnapshotFacts& f) { f.abi += "x"; });
  with([](SnapshotFacts& f) { f.image = "1"; });
  with([](SnapshotFacts& f) { f.is_container = true; });
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

TEST_CASE("index variables count without passwords, others do not count") {
  CHECK(index_variables({"PIP_INDEX_URL=https://me:one@host/simple", "HOME=/root",
                         "PIP_CACHE_DIR=/c", "UV_INDEX="}) ==
        std::vector<std::string>{"PIP_INDEX_URL=https://host/simple"});
  CHECK(index_variables({"PIP_EXTRA_INDEX_URL=https://a:b@x/ https://c@y/z@1"}) ==
        std::vector<std::string>{"PIP_EXTRA_INDEX_URL=https://x/ https://y/z@1"});
}

TEST_CASE("the driver's major version is read from the kernel module's text") {
  CHECK(driver_major("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19\n"
                     "GCC version:  gcc version 12.3.0\n") == "535");
  CHECK(driver_major("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  R\n") ==
        "550");
  CHECK(driver_major("GCC version: 12\n").empty());
}

TEST_CASE("the content of all named files changes the key, their location does not") {
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

TEST_CASE("options of a list in a folder with a blank in its name stay one value each") {
  const test::ScratchFolder folder;
  folder.write("my dir/requirements.txt", "-c limits.txt\n--find-links wheels\nnumpy==1.0\n");
  folder.write("my dir/limits.txt", "");
  folder.write("my dir/wheels/b-1-py3-none-any.whl", "");
  const auto inputs =
      gather_inputs(DepsKind::kRequirements, folder / "my dir/requirements.txt", folder / "my dir");
  REQUIRE(inputs.has_value());
  CHECK(inputs->requirements == "-c \"" + (folder / "my dir/limits.txt") + "\"\n--find-links \"" +
                                    (folder / "my dir/wheels") + "\"\nnumpy==1.0\n");
}

TEST_CASE("one requirement without a version makes everything unpinned, wherever it is") {
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

TEST_CASE("a FIFO in place of a named package's project is refused, not waited for") {
  const test::ScratchFolder folder;
  folder.write("package/setup.py", "");
  folder.write("requirements.txt", "./package\n");
  REQUIRE(::mkfifo((folder / "package/pyproject.toml").c_str(), 0600) == 0);
  const auto inputs =
      gather_inputs(DepsKind::kRequirements, folder / "requirements.txt", folder.path());
  REQUIRE_FALSE(inputs.has_value());
  CHECK(inputs.error().what ==
        "cannot use the dependencies of " + (folder / "package/pyproject.toml") + ": cannot read " +
            (folder / "package/pyproject.toml") + ": it is not a regular file");
}

TEST_CASE("a missing, endless or binary file is an error that names it") {
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

using Words = std::vector<std::string>;

SnapshotInputs inputs_of(const test::ScratchFolder& folder, const Words& command) {
  auto inputs = gather_inputs(DepsKind::kCommand, "", folder.path(), command);
  REQUIRE_MESSAGE(inputs.has_value(), inputs.error().what);
  return *std::move(inputs);
}

TEST_CASE("files that a pip command names count, and it need not run in the same folder") {
  const test::ScratchFolder folder, elsewhere;
  for (const test::ScratchFolder* each : {&folder, &elsewhere}) {
    each->write("requirements.txt", "-r base.txt\n./package\n");
    each->write("base.txt", "torch\n");
    each->write("limits.txt", "numpy<2\n");
    each->write("package/setup.py", "1");
    each->write("a-1-py3-none-any.whl", "1");
  }
  const Words command = {"/env/bin/python3.11",
                         "-m",
                         "pip",
                         "install",
                         "-r",
                         "requirements.txt",
                         "--constraint=limits.txt",
                         "./a-1-py3-none-any.whl",
                         "--quiet",
                         "numpy"};
  const auto inputs = inputs_of(folder, command);
  CHECK_FALSE(inputs.needs_directory);
  CHECK(inputs.digest == inputs_of(elsewhere, command).digest);
  std::set<std::string> digests = {inputs.digest};
  for (const char* name :
       {"requirements.txt", "base.txt", "limits.txt", "package/setup.py", "a-1-py3-none-any.whl"}) {
    CAPTURE(name);
    folder.write(name, "x==1 # another");
    CHECK(digests.insert(inputs_of(folder, command).digest).second);
    if (std::string_view(name) == "requirements.txt") folder.write(name, "-r base.txt\n./package");
  }
  const Words with_uv = {"uv", "pip", "install", "-r", "limits.txt"};
  CHECK_FALSE(inputs_of(folder, with_uv).needs_directory);
  // Editable packages are used in place.
  const Words editable = {"pip", "install", "-e", "./package"};
  elsewhere.write("package/setup.py", "x==1 # another");
  CHECK(inputs_of(folder, editable).digest != inputs_of(elsewhere, editable).digest);
  CHECK(inputs_of(folder, {"pip", "install", "-r", "none.txt"}).needs_directory);
}

TEST_CASE("files and folders that any other command names count, and so does its folder") {
  const test::ScratchFolder folder;
  folder.write("build.py", "1");
  folder.write("native/Makefile", "1");
  folder.write("requirements.txt", "./package\n");
  folder.write("package/setup.py", "1");
  const Words build = {"python", "build.py", "--out=${ROBUSTRUN_PREFIX}"};
  const Words make = {"make", "-C", "native", "install"};
  const Words shell = {"sh", "-c", "umask 022; pip install -r requirements.txt"};
  const auto digests = [&] {
    return Words{inputs_of(folder, build).digest, inputs_of(folder, make).digest,
                 inputs_of(folder, shell).digest};
  };
  CHECK(inputs_of(folder, build).needs_directory);
  CHECK(inputs_of(folder, make).needs_directory);
  CHECK(inputs_of(folder, shell).needs_directory);
  const Words before = digests();
  CHECK(digests() == before);
  folder.write("build.py", "2");
  CHECK(digests()[0] != before[0]);
  CHECK(digests()[1] == before[1]);
  folder.write("native/Makefile", "2");
  CHECK(digests()[1] != before[1]);
  const Words then = digests();
  folder.write("package/setup.py", "2");
  CHECK(digests()[2] != then[2]);
  // Too much to read: its path counts.
  std::string deep = "deep";
  for (int i = 0; i <= kLocalDepthMax; ++i) deep += "/d";
  folder.write(deep + "/f", "");
  CHECK(inputs_of(folder, {"cp", "-r", "deep"}).digest !=
        inputs_of(folder, {"cp", "-r", "none"}).digest);
}

TEST_CASE("local sources of a project count, and theirs in turn") {
  const test::ScratchFolder folder;
  folder.write("job/pyproject.toml",
               "# [tool.uv.sources]\n[project]\nname = 'job'\n"
               "summary = 'a; b @ file:none'\ndescription = \"\"\"path = \"none\"\n\"\"\"\n"
               "dependencies = [\n  'a', \"b @ file:../b-1.whl ; python_version > '3'\", 'c',\n]\n"
               "[tool.other]\npath = 'none'\n"
               "[tool.uv]\nsources.a = { path = \"../a\", editable = true }\n"
               "[tool.uv.sources]\nc = { workspace = true }\n"
               "[tool.uv.workspace]\nmembers = [\n  'packages/*', # some\n]\n");
  folder.write("a/pyproject.toml", "[tool.uv.sources.d]\npath = '../d'\n");
  folder.write("d/d.py", "1");
  folder.write("b-1.whl", "1");
  folder.write("job/packages/c/c.py", "1");
  folder.write("job/other.py", "1");
  const auto digest = [&] {
    const auto inputs =
        gather_inputs(DepsKind::kPyproject, folder / "job/pyproject.toml", "/elsewhere");
    REQUIRE_MESSAGE(inputs.has_value(), inputs.error().what);
    CHECK(inputs->has_local);
    return inputs->digest;
  };
  std::set<std::string> digests = {digest()};
  folder.write("job/other.py", "2");
  CHECK(digests.contains(digest()));
  for (const char* name : {"a/a.py", "d/d.py", "b-1.whl", "job/packages/c/c.py"}) {
    CAPTURE(name);
    folder.write(name, "2");
    CHECK(digests.insert(digest()).second);
  }
}

TEST_CASE("pip requirements in a conda file count, relative to that file") {
  const test::ScratchFolder folder, elsewhere;
  for (const test::ScratchFolder* each : {&folder, &elsewhere}) {
    each->write("job/environment.yml",
                "channels:\n- conda-forge/linux-64\ndependencies:\n- numpy\n- pip\n- pip:\n"
                "  - \"./pkg\"\n  - tiny @ file:../tiny.whl # ours\n  - -c limits.txt\n"
                "  - -r more.txt\n- ./no/package\n");
    for (const char* name : {"job/pkg/a.py", "tiny.whl", "job/limits.txt", "job/more.txt"}) {
      each->write(name, "x==1");
    }
  }
  const auto digest = [](const test::ScratchFolder& each) {
    const auto inputs = gather_inputs(DepsKind::kConda, each / "job/environment.yml", "/");
    REQUIRE_MESSAGE(inputs.has_value(), inputs.error().what);
    return inputs->digest;
  };
  std::set<std::string> digests = {digest(folder)};
  CHECK(digests.contains(digest(elsewhere)));
  for (const char* name : {"job/pkg/a.py", "tiny.whl", "job/limits.txt", "job/more.txt"}) {
    CAPTURE(name);
    folder.write(name, "x==2");
    CHECK(digests.insert(digest(folder)).second);
  }
  // Editable packages are used in place.
  for (const test::ScratchFolder* each : {&folder, &elsewhere}) {
    each->write("job/pkg/a.py", "");
    each->write("job/environment.yml", "dependencies:\n  - pip: [-e ./pkg]\n");
  }
  CHECK(digest(folder) != digest(elsewhere));
}

TEST_CASE("sources in a lock are relative to it, wherever the job runs") {
  const test::ScratchFolder folder;
  folder.write("job/uv.lock", "source = { directory = \"package\" }\n");
  folder.write("job/pyproject.toml", "");
  folder.write("job/package/a.py", "1");
  folder.write("package/a.py", "1");
  const auto digest = [&] {
    return gather_inputs(DepsKind::kUvLock, folder / "job/uv.lock", folder.path()).value().digest;
  };
  const std::string before = digest();
  folder.write("package/a.py", "2");
  CHECK(digest() == before);
  folder.write("job/package/a.py", "2");
  CHECK(digest() != before);
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

TEST_CASE("a FIFO that a project names, or that is above it, neither fails nor stalls a start") {
  const test::ScratchFolder folder;
  fs::create_directories(folder / "job");
  folder.write("job/pyproject.toml",
               "[tool.uv.sources]\na = { path = \"../a\" }\nb = { workspace = true }\n");
  REQUIRE(::mkfifo((folder / "a").c_str(), 0600) == 0);
  REQUIRE(::mkfifo((folder / "pyproject.toml").c_str(), 0600) == 0);
  const auto inputs = gather_inputs(DepsKind::kPyproject, folder / "job/pyproject.toml", "/");
  CHECK(inputs.has_value());
}

}  // namespace snapshot_key_test
