// A plugin of the site's behind ours (tests/recorder/nccl_recorder.cpp): both see everything, as
// each does alone.

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "tests/tracer/plugin_run.h"

namespace plugin_behind_test {

using namespace robustrun;
using namespace robustrun::tracer;
using test::kPlugin;
using test::PluginRun;

namespace {

const std::string kRecorder = test_helper("libnccl-profiler-recorder.so");

struct SharedRun : PluginRun {
  std::string log = folder / "log";
  SharedRun() { settings = {"ROBUSTRUN_NCCL_BEHIND=" + kRecorder, "NCCL_RECORDER_LOG=" + log}; }
  [[nodiscard]] std::string seen() const {
    std::ifstream lines(log);
    return {std::istreambuf_iterator<char>(lines), {}};
  }
};

std::string seen_alone(const std::string& scenario, int version,
                       const std::string& versions = "4 6 7") {
  SharedRun run;
  run.settings.push_back("NCCL_RECORDER_VERSIONS=" + versions);
  REQUIRE(run.try_to_play(scenario, version, "ROBUSTRUN_NCCL_BEHIND=", kRecorder));
  return run.seen();
}

struct Ours {
  std::uint64_t entered = 0, started = 0, done = 0;
  std::size_t comms = 0, pending = 0, flows = 0, edges = 0;
  friend bool operator==(const Ours&, const Ours&) = default;
};
Ours ours_in(const PluginRun& run) {
  const RecordedCollectives all = run.read();
  REQUIRE_FALSE(all.comms.empty());
  const Membership& first = all.comms.front();
  return {first.entered,        first.started,      first.done,        all.comms.size(),
          first.pending.size(), first.flows.size(), first.edges.size()};
}
Ours ours_alone(const std::string& scenario, int version) {
  PluginRun run;
  run.play(scenario, version);
  return ours_in(run);
}

// The types of events that were begun.
std::set<std::uint64_t> types_in(const std::string& log) {
  std::set<std::uint64_t> types;
  for (std::size_t at = log.find("start "); at != std::string::npos; at = log.find("start ", at)) {
    at += 6;
    types.insert(std::stoull(log.substr(at, 8)));
  }
  return types;
}

}  // namespace

TEST_CASE("a plugin behind ours sees what it sees alone, and so do we") {
  for (const int version : {1, 2, 3, 4, 5, 6, 7}) {
    for (const std::string scenario : {"stuck", "disorder", "together", "peers", "late",
                                       "nonblocking", "graph", "phases", "tags"}) {
      CAPTURE(version);
      CAPTURE(scenario);
      const std::string only = std::to_string(version);
      const Ours alone = ours_alone(scenario, version);
      SharedRun run;
      run.settings.push_back("NCCL_RECORDER_VERSIONS=" + only);
      run.play(scenario, version);
      CHECK(ours_in(run) == alone);
      CHECK(run.counters().ignored == 0);
      const std::string log = run.seen();
      CHECK(log.size() > 100);
      CHECK(log.find("strange") == std::string::npos);
      CHECK(log == seen_alone(scenario, version, only));
    }
  }
}

TEST_CASE("with each set of versions that NCCL's example plugin has had, both see everything") {
  struct Release {
    const char* versions;
    const char* shown;  // by ours, as the agent tells it
    int nccl;           // the newest version that NCCL has
    int taken;
  };
  for (const Release& one : {Release{"1", "1", 1, 1},
                             {"2", "1 2", 3, 2},
                             {"4", "1 2 3 4", 4, 4},
                             {"5", "1 2 3 4 5", 5, 5},
                             {"5", "1 2 3 4 5", 7, 5},
                             {"5 6", "1 2 3 4 5 6", 6, 6},
                             {"5 6", "1 2 3 4 5 6", 7, 6}}) {
    CAPTURE(one.versions);
    SharedRun run;
    run.settings.push_back(std::string("NCCL_RECORDER_VERSIONS=") + one.versions);
    run.settings.push_back(std::string("ROBUSTRUN_NCCL_VERSIONS=") + one.shown);
    int version = one.nccl;  // NCCL tries its newest first
    while (!run.try_to_play("stuck", version)) REQUIRE(--version > 0);
    CHECK(version == one.taken);
    CHECK(ours_in(run) == ours_alone("stuck", version));
    CHECK(run.seen() == seen_alone("stuck", version, one.versions));
    CHECK(run.seen().find("strange") == std::string::npos);
  }
}

TEST_CASE("whatever handles it uses, it gets no others back, and we keep ours") {
  for (const std::string style : {"high", "reused", "null"}) {
    for (const std::string scenario : {"stuck", "many", "peers"}) {
      CAPTURE(style);
      CAPTURE(scenario);
      SharedRun run;
      run.settings.push_back("NCCL_RECORDER_HANDLES=" + style);
      run.play(scenario, 6);
      CHECK(ours_in(run) == ours_alone(scenario, 6));
      CHECK(run.seen().find("strange") == std::string::npos);
    }
  }
}

TEST_CASE("communicators that come and go, and many threads, confuse neither") {
  for (const std::string scenario : {"reinit", "threads"}) {
    CAPTURE(scenario);
    SharedRun run;
    run.play(scenario, 6);
    if (scenario == "reinit") CHECK(ours_in(run) == ours_alone(scenario, 6));
    for (const Membership& one : run.read().comms) CHECK(one.entered > 0);
    CHECK(run.counters().operations_dropped == 0);
    CHECK(run.seen().find("strange") == std::string::npos);
  }
}

TEST_CASE("it gets the events that its mask asks for, and those they are parts of") {
  SharedRun run;
  SUBCASE("collectives") {
    run.settings.push_back("NCCL_RECORDER_MASK=2");
    run.play("stuck", 6);
    CHECK(types_in(run.seen()) == std::set<std::uint64_t>{1, 2, 256, 512});
  }
  SUBCASE("steps of the network") {
    run.settings.push_back("NCCL_RECORDER_MASK=10");
    run.play("stuck", 6);
    CHECK(types_in(run.seen()) == std::set<std::uint64_t>{1, 2, 8, 16, 256, 512});
  }
  SUBCASE("none") {
    run.settings.push_back("NCCL_RECORDER_MASK=0");
    run.play("stuck", 6);
    CHECK(types_in(run.seen()).empty());
  }
  CHECK(ours_in(run) == ours_alone("stuck", 6));
}

TEST_CASE("NCCL reports what either of us asks for") {
  SharedRun run;
  run.settings.push_back("NCCL_RECORDER_MASK=80");
  run.play("wish", 6);
  CHECK(run.out == "ed6 6ce 6c6 ed6\n");
}

TEST_CASE("without a record of ours it works as it does alone") {
  SharedRun run;
  run.settings.push_back("ROBUSTRUN_RECORD=");
  run.play("stuck", 6);
  CHECK(run.seen() == seen_alone("stuck", 6));
}

TEST_CASE("it may ask for events at any time, with a record of ours and without") {
  SharedRun run;
  run.settings.push_back("NCCL_RECORDER_LATE=1");  // when the other communicator is closed
  SUBCASE("with one") {
    run.play("waking", 6);
    CHECK(run.out == "e56 ffff\n");
    CHECK(ours_in(run) == ours_alone("waking", 6));
  }
  SUBCASE("without") {
    run.settings.push_back("ROBUSTRUN_RECORD=");
    run.play("waking", 6);
    CHECK(run.out == "0 ffff\n");
  }
  const std::string log = run.seen();
  const std::size_t closed = log.find("finalize");
  REQUIRE(closed != std::string::npos);
  CHECK(types_in(log.substr(0, closed)).empty());
  CHECK(types_in(log.substr(closed)) == std::set<std::uint64_t>{1, 2, 8, 16, 64, 256, 512, 2048});
  CHECK(log.find("strange") == std::string::npos);
}

TEST_CASE("NCCL finds only the versions that are to be shown") {
  for (const int version : {1, 2, 3, 4, 5, 6, 7}) {
    CAPTURE(version);
    PluginRun run;
    run.settings = {"ROBUSTRUN_NCCL_VERSIONS=1 2 3 4 6"};
    CHECK(run.try_to_play("peers", version) == (version != 5 && version != 7));
  }
}

TEST_CASE("in a version that it lacks ours works alone") {
  for (const int version : {3, 5}) {
    SharedRun run;
    run.play("stuck", version);
    CHECK(ours_in(run) == ours_alone("stuck", version));
    CHECK(run.seen().empty());
  }
}

TEST_CASE("one that cannot open some communicators sees the others") {
  SharedRun run;
  run.settings.push_back("NCCL_RECORDER_FAILS=2");
  run.play("reinit", 6);
  CHECK(ours_in(run) == ours_alone("reinit", 6));
  const std::string log = run.seen();
  CHECK(log.find("finalize ") != std::string::npos);
  CHECK(log.find("nothing 0") == std::string::npos);  // an event without its context
  CHECK(log.find("strange") == std::string::npos);
}

TEST_CASE("one that cannot be loaded, or cannot work, leaves ours alone") {
  SharedRun run;
  SUBCASE("it is not there") {
    run.settings.push_back("ROBUSTRUN_NCCL_BEHIND=" + run.folder / "missing.so");
    run.play("stuck", 6);
    CHECK(run.err == "robustrun: cannot load NCCL's profiler plugin " + run.folder / "missing.so" +
                         "; only robustrun's own is used\n");
  }
  SUBCASE("it is no library") {
    run.settings.push_back("ROBUSTRUN_NCCL_BEHIND=" + run.folder.write("text.so", "#!/bin/sh\n"));
    run.play("stuck", 6);
    CHECK(run.err.find("text.so; only robustrun's") != std::string::npos);
  }
  SUBCASE("it is ours, under another name") {
    const std::string other = run.folder / "libother.so";
    REQUIRE(::symlink(kPlugin.c_str(), other.c_str()) == 0);
    run.settings.push_back("ROBUSTRUN_NCCL_BEHIND=" + other);
    run.play("stuck", 6);
    CHECK(run.err.empty());
  }
  SUBCASE("it is a copy of ours") {
    const std::string copy = run.folder / "libcopy.so";
    std::filesystem::copy_file(kPlugin, copy);
    run.settings.push_back("ROBUSTRUN_NCCL_BEHIND=" + copy);
    run.play("stuck", 6);
    CHECK(run.err.empty());
  }
  SUBCASE("its init() fails") {
    run.settings.push_back("NCCL_RECORDER_FAILS=1");
    run.play("stuck", 6);
    CHECK(run.seen().empty());
  }
  CHECK(ours_in(run) == ours_alone("stuck", 6));
}

}  // namespace plugin_behind_test
