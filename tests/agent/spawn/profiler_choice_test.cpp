#include "agent/spawn/profiler_choice.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/scratch_folder.h"

namespace profiler_choice_test {

using namespace robustrun;
using agent::choose_profiler;
using agent::ProfilerChoice;
using Kind = agent::ProfilerChoice::Kind;

namespace {

struct Node {
  test::ScratchFolder folder;
  agent::ProfilerPlaces places{folder / "nccl.conf", folder / "ld.so.cache", {folder / "lib"}};
  std::vector<std::string> variables = {"PATH=/bin", "HOME=" + folder / "home"};
  bool has_files = true;

  Node() {
    for (const char* name : {"home", "lib", "site"}) ::mkdir((folder / name).c_str(), 0700);
  }
  std::string interpreter{};

  [[nodiscard]] ProfilerChoice choice() const {
    wire::WorkerTemplate workers;
    workers.interpreter = interpreter;
    workers.working_directory = "/job";
    workers.environment = variables;
    return choose_profiler(workers, has_files, places);
  }
};

ProfilerChoice named(const std::string& value) {
  Node node;
  node.variables.push_back("NCCL_PROFILER_PLUGIN=" + value);
  return node.choice();
}

}  // namespace

TEST_CASE("the variable names a plugin as NCCL takes it") {
  CHECK(Node().choice().kind == Kind::kNone);
  for (const char* name : {"inspector", "/site/libnccl-profiler.so", "/a folder/x y.so", "a,b"}) {
    CAPTURE(name);
    CHECK(named(name).kind == Kind::kNamed);
    CHECK(named(name).name == name);
    CHECK(named(name).source == std::string("NCCL_PROFILER_PLUGIN=") + name);
  }
  CHECK(named("./mine.so").name == "/job/./mine.so");
  CHECK(named("").kind == Kind::kNone);
}

TEST_CASE("none is the user's wish; what cannot be called by ours is named") {
  for (const char* none : {"none", "None", "NONE"}) CHECK(named(none).kind == Kind::kOff);
  for (const char* within : {"STATIC_PLUGIN", "static_plugin", "static"}) {
    CHECK(named(within).kind == Kind::kKept);
    CHECK(named(within).reason == "it is part of the program");
  }
  CHECK(named("two\nlines").kind == Kind::kKept);
  CHECK(named("nonesuch").kind == Kind::kNamed);
  CHECK(named("STATIC_PLUGIN_2").kind == Kind::kNamed);
}

TEST_CASE("our own plugin's path leaves the slot to us, with what another robustrun calls") {
  CHECK(named("/opt/share/robustrun/librobustrun_tracer.so").kind == Kind::kNone);
  Node node;
  node.variables.emplace_back("NCCL_PROFILER_PLUGIN=/opt/librobustrun_tracer.so");
  node.variables.emplace_back("ROBUSTRUN_NCCL_BEHIND=/site/x.so");
  CHECK(node.choice().kind == Kind::kNamed);
  CHECK(node.choice().name == "/site/x.so");
  node.variables[2] = "NCCL_PROFILER_PLUGIN=/other.so";
  CHECK(node.choice().name == "/other.so");
}

TEST_CASE("a plugin in NCCL's configuration files counts, the user's file before the node's") {
  Node node;
  node.folder.write("nccl.conf", "# ours\nNCCL_DEBUG=WARN\r\nNCCL_PROFILER_PLUGIN=site\r\n");
  CHECK(node.choice().name == "site");
  CHECK(node.choice().source == "NCCL_PROFILER_PLUGIN=site in " + node.folder / "nccl.conf");
  node.folder.write("home/.nccl.conf", "NCCL_PROFILER_PLUGIN=mine");
  CHECK(node.choice().name == "mine");
  node.variables.push_back("NCCL_CONF_FILE=" + node.folder / "third.conf");
  CHECK(node.choice().name == "site");
  node.folder.write("third.conf", "NCCL_PROFILER_PLUGIN=./third.so\nNCCL_PROFILER_PLUGIN=no\n");
  CHECK(node.choice().name == "/job/./third.so");
  SUBCASE("the variable is before all files") {
    node.variables.emplace_back("NCCL_PROFILER_PLUGIN=first");
    CHECK(node.choice().name == "first");
  }
  SUBCASE("so is an empty one") {
    node.variables.emplace_back("NCCL_PROFILER_PLUGIN=");
    CHECK(node.choice().kind == Kind::kNone);
  }
  SUBCASE("none in a file is a wish, too") {
    node.folder.write("third.conf", "NCCL_PROFILER_PLUGIN=none\n");
    CHECK(node.choice().kind == Kind::kOff);
  }
  SUBCASE("files of the node are not those of an image") {
    node.has_files = false;
    CHECK(node.choice().kind == Kind::kNone);
  }
  SUBCASE("a FIFO instead of a file") {
    REQUIRE(::remove((node.folder / "third.conf").c_str()) == 0);
    REQUIRE(::mkfifo((node.folder / "third.conf").c_str(), 0600) == 0);
    CHECK(node.choice().name == "site");
  }
}

TEST_CASE("lines of a configuration file are read as NCCL reads them") {
  const auto value = [](std::string_view text) { return agent::configured(text, "NCCL_X"); };
  CHECK(value("NCCL_X=a b=c \n") == "a b=c ");
  CHECK(value("NCCL_X=\nNCCL_X=late") == "");
  for (const char* other : {"", "NCCL_X", "#NCCL_X=1", " NCCL_X=1", "NCCL_XY=1", "NCCL_X =1"}) {
    CHECK(value(other).empty());
  }
}

TEST_CASE("a libnccl-profiler.so that the loader finds is loaded without being named") {
  Node node;
  const auto is_found = [&] { return node.choice().name == "libnccl-profiler.so"; };
  SUBCASE("in a folder of the loader's") { node.folder.write("lib/libnccl-profiler.so", "x"); }
  SUBCASE("in a folder of the user's") {
    node.folder.write("site/libnccl-profiler.so", "x");
    CHECK_FALSE(is_found());
    node.variables.push_back("LD_LIBRARY_PATH=/nowhere::" + node.folder / "site");
  }
  SUBCASE("beside the interpreter") {
    node.folder.write("conda/lib/libnccl-profiler.so", "x");
    node.folder.write("conda/bin/python3.11", "x");
    ::mkdir((node.folder / "venv").c_str(), 0700);
    node.interpreter = node.folder / "venv/python";
    CHECK_FALSE(is_found());
    REQUIRE(::symlink("../conda/bin/python3.11", node.interpreter.c_str()) == 0);
  }
  SUBCASE("in the loader's cache") {
    using namespace std::string_literals;
    node.folder.write("ld.so.cache", "glibc\0libnccl-profiler.so.2\0"s);
    CHECK_FALSE(is_found());
    node.folder.write("ld.so.cache", "glibc\0libnccl-profiler.so\0/a/libnccl-profiler.so\0"s);
  }
  CHECK(is_found());
  CHECK(node.choice().source == "libnccl-profiler.so, which NCCL loads by itself");
  node.has_files = false;
  CHECK(node.choice().kind == Kind::kNone);
}

}  // namespace profiler_choice_test
