#include "agent/spawn/profiler_slot.h"

#include <doctest/doctest.h>

#include "tests/paths.h"
#include "tests/scratch_folder.h"

namespace profiler_slot_test {

using namespace robustrun;
using agent::ProfilerShare;
using agent::read_plugin;
using agent::versions_to_show;
using base::Errc;
using Slot = agent::ProfilerShare::Slot;

namespace {

std::string named(const std::string& value) {
  wire::WorkerTemplate workers;
  workers.working_directory = "/job";
  workers.environment = {"PATH=/bin", "NCCL_PROFILER_PLUGIN=" + value};
  return agent::plugin_named(workers);
}

}  // namespace

TEST_CASE("a plugin that another one can be called by is one with a file of its own") {
  CHECK(agent::plugin_named({}).empty());
  for (const char* none : {"", "none", "None", "STATIC_PLUGIN", "static_plugin", "two\nlines",
                           "/opt/share/robustrun/librobustrun_tracer.so"}) {
    CAPTURE(none);
    CHECK(named(none).empty());
  }
  CHECK(named("inspector") == "inspector");
  CHECK(named("/site/libnccl-profiler.so") == "/site/libnccl-profiler.so");
  CHECK(named("./mine.so") == "/job/./mine.so");
}

TEST_CASE("NCCL is shown the other's versions, and those below its oldest") {
  CHECK(versions_to_show({}).empty());
  CHECK(versions_to_show({1, 2, 3, 4, 5}) == "1 2 3 4 5");
  CHECK(versions_to_show({4, 6}) == "1 2 3 4 6");
  CHECK(versions_to_show({7}) == "1 2 3 4 5 6 7");
  CHECK(versions_to_show({6, 8}) == "1 2 3 4 5 6");
}

TEST_CASE("a helper's answer decides how the slot is shared") {
  const ProfilerShare shared =
      read_plugin(std::string("INSPECTOR: hello\npath /site/a b.so\nversions 4 6\n"));
  CHECK(shared.slot == Slot::kShared);
  CHECK(shared.behind == "/site/a b.so");
  CHECK(shared.versions == "1 2 3 4 6");
  struct Case {
    base::Result<std::string> answer;
    Slot slot;
    std::string reason;
  };
  const Case cases[] = {
      {std::string("error x.so: wrong ELF class: ELFCLASS32\n"), Slot::kAlone,
       "x.so: wrong ELF class: ELFCLASS32"},
      {std::string("path /x.so\nversions\n"), Slot::kAlone, "it is no profiler plugin of NCCL"},
      {std::string("path /x.so\nversions 8 9\n"), Slot::kLeft,
       "it has only versions of NCCL's interface that robustrun lacks"},
      {std::string("versions 4\n"), Slot::kLeft, "its place is not known"},
      {std::string(), Slot::kAlone, "it is no profiler plugin of NCCL"},
      {std::string("versions 77 x -1 0\n"), Slot::kAlone, "it is no profiler plugin of NCCL"},
      {base::fail(Errc::kUnavailable, "cannot run it: SIGSEGV"), Slot::kAlone,
       "a process that loaded it failed: cannot run it: SIGSEGV"},
      {base::fail(Errc::kTimeout, "cannot run it: 10 s"), Slot::kAlone,
       "loading it does not end: cannot run it: 10 s"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.reason);
    const ProfilerShare share = read_plugin(c.answer);
    CHECK(share.slot == c.slot);
    CHECK(share.reason == c.reason);
  }
}

TEST_CASE("the helper loads a plugin as NCCL would, and lists what it has") {
  const std::string path = test_helper("libnccl-profiler-recorder.so");
  CHECK(agent::try_plugin(path) == "path " + path + "\nversions 4 6\n");
  CHECK(agent::try_plugin("").starts_with("error "));
  CHECK(agent::try_plugin("/nowhere/x.so").starts_with("error /nowhere/x.so: cannot open"));
  // By its short name too, which the loader does not find here.
  CHECK(agent::try_plugin("nowhere").starts_with("error libnccl-profiler-nowhere.so: "));
  CHECK(agent::try_plugin("libnowhere.so").starts_with("error libnowhere.so: "));
  const test::ScratchFolder folder;
  // An ELF file of another kind of machine: 32 bits.
  const std::string other = folder.write("other.so", std::string("\x7f""ELF\1\1\1", 7) +
                                                         std::string(200, '\0'));
  CHECK(read_plugin(agent::try_plugin(other)).slot == Slot::kAlone);
  CHECK(read_plugin(agent::try_plugin(other)).reason.find("ELF") != std::string::npos);
}

}  // namespace profiler_slot_test
