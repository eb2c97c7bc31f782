// NCCL's profiler plugin over the life of a process: communicators that come and go, CUDA graphs,
// unreported operations, masks, and unusable records.

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include "tests/tracer/plugin_run.h"
#include "tests/tracer/record_image.h"

namespace plugin_life_test {

using namespace robustrun;
using namespace robustrun::tracer;
using test::kPlayedComm;
using test::play_each;
using test::PluginRun;

namespace {

void store(const PluginRun& run, std::size_t at, const void* data, std::size_t size) {
  std::fstream file(run.path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(at));
  file.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
  REQUIRE(file.good());
}

}  // namespace

TEST_CASE("slots of communicators are reused, however often they come and go") {
  play_each({1, 4, 7}, "reinit", [](const PluginRun& run, int) {
    const RecordedCollectives all = run.read();
    CHECK(all.comms.size() == kCommunicatorSlots - 1);
    CHECK(all.comms.front().comm == kPlayedComm + 5000);
    for (const Membership& member : all.comms) {
      CHECK(member.entered == 1);
      CHECK(member.edges.empty());  // left by earlier ones
    }
    CHECK(run.counters().communicators_dropped == 200 - (kCommunicatorSlots - 1));
    CHECK(run.counters().operations_dropped == 0);
  });
}

TEST_CASE("Python's rows and the last free one below them are left alone") {
  PluginRun run;
  auto row = test::communicator(99, 0, 0, 0);
  row.source = static_cast<std::uint32_t>(RecordSource::kTorchGroup);
  for (std::size_t slot = 100; slot < kCommunicatorSlots; ++slot) {
    store(run, kCommunicatorsAt + slot * sizeof row, &row, sizeof row);
  }
  run.play("crowded", 5);
  CHECK(run.read().comms.size() == 99);
  CHECK(run.counters().communicators_dropped == 140 - 99);
  const std::string table = *run.file->read_communicators();
  std::uint64_t in_use = 1;
  std::memcpy(&in_use, table.data() + 99 * sizeof row, sizeof in_use);
  CHECK(in_use == 0);
  CHECK(table.substr(100 * sizeof row, sizeof row) ==
        std::string(reinterpret_cast<const char*>(&row), sizeof row));
}

TEST_CASE("each replay of a CUDA graph is an operation, its capture is not") {
  play_each({5, 6, 7}, "graph", [](const PluginRun& run, int) {
    const Membership member = run.only();
    CHECK(member.entered == 3);
    CHECK(member.done == 2);
    REQUIRE(member.pending.size() == 1);
    CHECK(member.pending[0].ordinal == 3);
    CHECK(member.in_call == base::Nanos{});
  });
}

TEST_CASE("an operation of which NCCL reports only the call ends with the call") {
  play_each({5, 6, 7}, "unreported", [](const PluginRun& run, int) {
    const Membership member = run.only();
    CHECK(member.entered == 4001);
    CHECK(member.done == 4001);
    CHECK(member.pending.empty());
    CHECK(run.counters().operations_dropped == 0);
    CHECK(run.glance().entered == run.glance().done);
  });
}

TEST_CASE("a call that returns before its operation is handed over is waited for") {
  play_each({5, 6, 7}, "nonblocking", [](const PluginRun& run, int) {
    const Membership member = run.only();
    CHECK(member.entered == 10);
    CHECK(member.started == 10);
    CHECK(member.done == 9);
    CHECK(member.pending.size() == 1);
    CHECK(run.glance() == CommunicatorCount{kPlayedComm, 10, 9, true});
  });
}

TEST_CASE("operations that are reported late are counted once") {
  play_each({5, 6, 7}, "late", [](const PluginRun& run, int) {
    const Membership member = run.only();
    CHECK(member.entered == 21);
    CHECK(member.started == 20);
    CHECK(member.done == 20);
    CHECK(member.pending.size() == 1);
    CHECK(run.glance() == CommunicatorCount{kPlayedComm, 21, 20, true});
  });
}

TEST_CASE("the mask is the version's own, the environment's, or the agent's within limits") {
  const auto masks = [](int version, const std::string& setting = "UNUSED=1") {
    PluginRun run;
    run.play("wish", version, setting);
    std::istringstream words(run.out);
    return std::vector<std::string>(std::istream_iterator<std::string>(words), {});
  };
  using Masks = std::vector<std::string>;
  // Initially; with 0x8f requested; with an unknown bit; without a request again.
  // Without kernel events only flows show the end, so they stay.
  CHECK(masks(1) == Masks{"16", "16", "16", "16"});
  CHECK(masks(2) == Masks{"16", "16", "16", "16"});
  CHECK(masks(3) == Masks{"56", "4e", "46", "56"});
  CHECK(masks(4) == Masks{"56", "4e", "46", "56"});
  CHECK(masks(5) == Masks{"e56", "64e", "646", "e56"});
  CHECK(masks(6) == Masks{"e56", "64e", "646", "e56"});
  CHECK(masks(7) == Masks{"8e56", "864e", "8646", "8e56"});
  CHECK(masks(5, "ROBUSTRUN_NCCL_MASK=0xE46").front() == "e46");
  CHECK(masks(5, "ROBUSTRUN_NCCL_MASK=70").front() == "46");
  CHECK(masks(4, "ROBUSTRUN_NCCL_MASK=0xE46").front() == "46");  // the bits that it knows
  for (const char* nothing : {"", "0", "x", "0x", "-1", "0xfffffffff", "4096"}) {
    CAPTURE(nothing);
    CHECK(masks(5, std::string("ROBUSTRUN_NCCL_MASK=") + nothing).front() == "e56");
  }
  CHECK(masks(5, "ROBUSTRUN_NCCL_MASK=16") == Masks{"10", "10", "10", "10"});
  // Never 0, because no callback would be left to switch anything on again.
  CHECK(masks(5, "ROBUSTRUN_NCCL_MASK=2048") == Masks{"800", "800", "800", "800"});
}

TEST_CASE("a worker asked not to report steps reports everything else") {
  for (const int version : {1, 2, 3, 4, 5, 6, 7}) {
    CAPTURE(version);
    PluginRun run;
    REQUIRE(run.file->set_event_mask(kEventsWithoutSteps));
    run.play("masked", version);
    const RecordedCollectives all = run.read();
    const bool has_kernels = version >= 3;
    const Membership& member = all.comms.at(0);
    CHECK(member.entered == 3);
    CHECK(member.done == 2);
    CHECK(member.counts_completion == has_kernels);
    REQUIRE(member.pending.size() == 1);
    CHECK(member.pending[0].ordinal == 3);
    CHECK(member.flows.size() == (has_kernels ? 0 : 1));
    CHECK(member.edges.size() == (has_kernels ? 0 : 1));
    CHECK(member.tells_flows == !has_kernels);
    CHECK(run.glance().done ==
          (has_kernels ? 2 : 3));  // operations without flows yet count as done
  }
}

TEST_CASE("steps come and go while operations are in flight") {
  for (const int version : {3, 4, 5, 6, 7}) {
    CAPTURE(version);
    PluginRun run;
    REQUIRE(run.file->set_event_mask(kEventsWithoutSteps));
    SUBCASE("what was begun before they came has none, whatever comes later") {
      run.play("suspected", version);
      const Membership member = run.only();
      CHECK(member.entered == 4);
      CHECK(member.done == 1);
      REQUIRE(member.pending.size() == 3);
      CHECK(member.flows.size() == 1);  // of the last one
      CHECK(member.flows.at(0).ordinal == 4);
      CHECK_FALSE(member.tells_flows);
      CHECK(member.counts_completion);
    }
    SUBCASE("what begins a while after is told whole") {
      run.play("settled", version);
      const Membership member = run.only();
      CHECK(member.done == 3);
      REQUIRE(member.pending.size() == 1);
      CHECK(member.flows.size() == 1);
      CHECK(member.tells_flows);
    }
  }
}

TEST_CASE("another minor version, a foreign process and a broken record get no events") {
  PluginRun run;
  const std::string before = *run.file->read_all();
  std::string changed = before;
  SUBCASE("older") { changed[offsetof(ProgressRecord, minor)] = 0; }
  SUBCASE("another layout") { changed[offsetof(ProgressRecord, major)] = 2; }
  SUBCASE("no record") { changed[0] = 'x'; }
  SUBCASE("too short") { changed.resize(kCollectivesEnd - 1); }
  SUBCASE("empty") { changed.clear(); }
  SUBCASE("the worker is another process") { changed[offsetof(ProgressRecord, worker_pid)] = 1; }
  SUBCASE("another process writes into it") { changed[kCountersAt] = 1; }
  std::ofstream(run.path, std::ios::binary | std::ios::trunc) << changed;
  for (const char* scenario : {"many", "stale", "threads"}) run.play(scenario, 5);
  run.play("wish", 5);
  CHECK(run.out.starts_with("0 0 0"));
  std::string after = *run.file->read_all();
  if (after.size() >= kWantedMaskAt + 8) after.replace(kWantedMaskAt, 8, 8, '\0');  // by "wish"
  CHECK(after.substr(0, changed.size()) == changed);
}

TEST_CASE("without a record at all nothing happens") {
  PluginRun run;
  run.path = "";
  run.play("many", 5);
  run.path = run.folder / "missing";
  run.play("threads", 4);
  run.play("fork", 1);
}

TEST_CASE("a process that takes over a record begins with empty tables") {
  PluginRun run;
  SUBCASE("the same process, another program") { run.play("again", 5); }
  SUBCASE("the worker, from one before it") {
    run.play("stuck", 5);
    REQUIRE(run.only().pending.size() == 2);
    run.play("boot", 5);
  }
  const Membership member = run.only();
  CHECK(member.done == 5000);
  CHECK(member.pending.empty());
  CHECK(member.recent.front().ordinal == 5000 - kSignatureSlots + 1);
}

TEST_CASE("the record's counters say which process writes") {
  PluginRun run;
  run.play("stuck", 6);
  CHECK(run.counters().writer_pid > 1);
  CHECK(run.counters().event_mask == 0xe56);
}

}  // namespace plugin_life_test
