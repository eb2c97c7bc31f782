// NCCL's profiler plugin as NCCL loads it, in all seven versions of the interface: what scenarios
// of tests/helpers/nccl_player.cpp leave in the progress record.

#include <doctest/doctest.h>

#include "tests/tracer/plugin_run.h"

namespace plugin_test {

using namespace robustrun;
using namespace robustrun::tracer;
using base::Nanos;
using test::kPlayedComm;
using test::play_each;
using test::PluginRun;

namespace {

constexpr std::initializer_list<int> kVersions = {1, 2, 3, 4, 5, 6, 7};
bool has_api(int version) { return version >= 5; }
bool has_kernels(int version) { return version >= 3; }

}  // namespace

TEST_CASE("a communicator is known with the first operation at the latest") {
  play_each(kVersions, "stuck", [](const PluginRun& run, int version) {
    const RecordedCollectives all = run.read();
    REQUIRE(all.comms.size() == 1);
    const Membership& member = all.comms[0];
    CHECK(member.comm == kPlayedComm);
    CHECK(member.rank == 1);
    CHECK(member.size == (version >= 4 ? 4 : 0));  // older versions do not pass it
    CHECK(member.name == (version >= 4 ? "comm 2748" : "named late"));
    CHECK(member.counts_completion == has_kernels(version));
    CHECK(all.calls_still);
    CHECK(all.proxy_still);
    CHECK(all.dropped == 0);
    CHECK(run.counters().ignored == 0);
    CHECK(run.counters().abi_version == static_cast<std::uint64_t>(version));
  });
}

TEST_CASE("a hang shows the operation and the progress of each channel") {
  play_each(kVersions, "stuck", [](const PluginRun& run, int version) {
    const Membership member = run.only();
    CHECK(member.entered == (has_api(version) ? 3 : 2));
    CHECK(member.started == 2);
    CHECK(member.done == 1);
    CHECK((member.in_launch > Nanos{}) == has_api(version));
    CHECK((member.in_call > Nanos{}) == has_api(version));
    REQUIRE(member.pending.size() == (has_api(version) ? 2 : 1));
    const Operation& head = member.pending[0];
    CHECK(head.ordinal == 2);
    CHECK(head.signature == Signature{OpKind::kAllReduce, DataType::kBfloat16, 2000, -1});
    CHECK(head.stage == Operation::Stage::kRunning);
    CHECK(head.age > Nanos{});
    CHECK(head.channels == 2);
    CHECK(head.channels_started == (has_kernels(version) ? 2 : 0));
    CHECK(head.channels_stopped == (has_kernels(version) ? 1 : 0));
    if (!has_api(version)) return;
    CHECK(member.pending[1].ordinal == 3);
    CHECK(member.pending[1].signature.count == 3000);
    CHECK(member.pending[1].stage == Operation::Stage::kLaunching);
  });
}

TEST_CASE("a flow counts its steps through each stage, repeated events once") {
  play_each(kVersions, "stuck", [](const PluginRun& run, int) {
    const Membership member = run.only();
    REQUIRE(member.flows.size() == 2);
    const Flow& out = member.flows[0];
    CHECK(out.ordinal == 2);
    CHECK(out.is_send);
    CHECK(out.peer == 2);
    CHECK(out.channel == 1);
    CHECK(out.steps == 10);
    CHECK(out.posted == 5);
    CHECK(out.ready == 4);
    CHECK(out.transmitted == 3);
    CHECK(out.done == 2);
    CHECK(out.peer_refuses);
    CHECK(out.bytes == 300);
    CHECK(out.net_wait > Nanos{});
    const Flow& in = member.flows[1];
    CHECK(!in.is_send);
    CHECK(in.peer == 0);
    CHECK(in.posted == 3);
    CHECK(in.ready == 2);
    CHECK(in.transmitted == 1);
    CHECK(in.done == 1);
    CHECK(!in.peer_refuses);
    CHECK(in.bytes == 200);
  });
}

TEST_CASE("finished operations leave signatures, times, durations and an edge") {
  play_each(kVersions, "stuck", [](const PluginRun& run, int version) {
    const RecordedCollectives all = run.read();
    const Membership& member = all.comms.at(0);
    REQUIRE(member.recent.size() == (has_api(version) ? 3 : 2));
    CHECK(member.recent[0].ordinal == 1);
    CHECK(member.recent[0].signature ==
          Signature{OpKind::kAllReduce, DataType::kBfloat16, 1000, -1});
    REQUIRE(member.timings.size() == 1);
    CHECK(member.timings[0].ordinal == 1);
    if (version >= 4) CHECK(member.timings[0].kernel == Nanos(4300));
    CHECK(member.timings[0].kernel > Nanos{});
    CHECK((member.timings[0].queued > Nanos{}) == has_kernels(version));
    REQUIRE(member.edges.size() == 1);
    CHECK(member.edges[0].peer == 2);
    CHECK(member.edges[0].bytes == (version >= 4 ? 400 : 0));
    CHECK(member.edges[0].net_wait > Nanos{});
    REQUIRE(all.durations.size() == 1);
    CHECK(all.durations[0].kind == OpKind::kAllReduce);
    CHECK(all.durations[0].size_bits == 11);  // 2000 bytes
    CHECK(all.durations[0].count == 1);
  });
}

TEST_CASE("many more operations than slots come and go without a trace") {
  play_each(kVersions, "many", [](const PluginRun& run, int) {
    const RecordedCollectives all = run.read();
    const Membership& member = all.comms.at(0);
    CHECK(member.entered == 5000);
    CHECK(member.started == 5000);
    CHECK(member.done == 5000);
    CHECK(member.pending.empty());
    CHECK(member.flows.empty());
    CHECK(member.recent.size() == kSignatureSlots);
    CHECK(member.recent.back().ordinal == 5000);
    CHECK(member.timings.size() == kTimingSlots);
    CHECK(member.timings.back().ordinal == 5000);
    CHECK(all.dropped == 0);
    std::uint64_t counted = 0;
    for (const DurationHistogram& durations : all.durations) counted += durations.count;
    CHECK(counted == 5000);
    CHECK(all.durations.size() == 16);
    CHECK(run.glance() == CommunicatorCount{kPlayedComm, 5000, 5000, true});
  });
}

TEST_CASE("when all slots are in use the newest operations are dropped, not the oldest") {
  play_each({3, 4, 5, 6, 7}, "overflow", [](const PluginRun& run, int) {
    const Membership member = run.only();
    CHECK(member.entered == 1500);
    CHECK(member.done == 0);
    REQUIRE(member.pending.size() == kOperationSlots);
    CHECK(member.pending.front().ordinal == 1);
    CHECK(member.flows.size() == kFlowSlots);
    CHECK(run.counters().operations_dropped == 1500 - kOperationSlots);
    CHECK(run.counters().flows_dropped == 3 * kOperationSlots - kFlowSlots);
    CHECK(run.glance().entered > run.glance().done);
  });
}

TEST_CASE("without kernel events, operations with flows are in flight and the others are not") {
  play_each({1, 2}, "overflow", [](const PluginRun& run, int) {
    const Membership member = run.only();
    CHECK(member.entered == 1500);
    CHECK(member.done == 0);
    CHECK(member.pending.size() == kFlowSlots / 3 + 1);
    CHECK(member.flows.size() == kFlowSlots);
  });
}

TEST_CASE("an operation whose end was not reported is over when a later one is") {
  play_each({3, 4, 5, 6, 7}, "disorder", [](const PluginRun& run, int) {
    const Membership member = run.only();
    CHECK(member.done == 4);
    CHECK(member.pending.empty());
    CHECK(run.glance() == CommunicatorCount{kPlayedComm, 4, 4, true});
  });
}

TEST_CASE("within a group operations may finish in any order") {
  play_each({3, 4, 5, 6, 7}, "together", [](const PluginRun& run, int) {
    const Membership member = run.only();
    CHECK(member.entered == 3);
    CHECK(member.started == 3);
    CHECK(member.done == 0);  // all up to it
    REQUIRE(member.pending.size() == 2);
    CHECK(member.pending[0].ordinal == 1);
    CHECK(member.pending[1].ordinal == 3);
    CHECK(run.glance().done == 1);
  });
}

TEST_CASE("stale, repeated and foreign handles change nothing") {
  play_each(kVersions, "stale", [](const PluginRun& run, int) {
    const Membership member = run.only();  // the other one was closed
    CHECK(member.comm == kPlayedComm);
    CHECK(member.entered == 2);
    CHECK(member.started == 2);
    CHECK(member.done == 2);
    CHECK(member.pending.empty());
    CHECK(run.counters().ignored > 20'000);
    CHECK(run.counters().operations_dropped == 0);
  });
}

TEST_CASE("a stale handle does not reach the slot's new owner") {
  play_each({3, 4, 5, 6, 7}, "reused", [](const PluginRun& run, int) {
    const Membership member = run.only();
    CHECK(member.comm == kPlayedComm);
    CHECK(member.entered == 1025);
    CHECK(member.done == 1024);
    REQUIRE(member.pending.size() == 1);
    CHECK(member.pending[0].channels_started == 0);
    REQUIRE(member.flows.size() == 1);
    CHECK(member.flows[0].peer == 3);
    CHECK(member.flows[0].posted == 0);
    CHECK(run.counters().ignored > 0);
  });
}

TEST_CASE("a forked child of the worker writes nothing") {
  play_each(kVersions, "fork", [](const PluginRun& run, int version) {
    const Membership member = run.only();
    CHECK(member.entered == 1);
    CHECK(member.done == (has_kernels(version) ? 0 : 1));
    CHECK(member.timings.empty());
    CHECK(run.counters().communicators_dropped == 0);
  });
}

TEST_CASE("point-to-point operations count per peer and direction") {
  play_each(kVersions, "peers", [](const PluginRun& run, int version) {
    const Membership member = run.only();
    CHECK(member.entered == 0);
    REQUIRE(member.peers.size() == 2);
    const bool sends_first = member.peers[0].is_send;
    const PeerCount& sends = member.peers[sends_first ? 0 : 1];
    const PeerCount& receives = member.peers[sends_first ? 1 : 0];
    CHECK(sends.peer == 2);
    CHECK(sends.entered == 3);
    CHECK(sends.done == (has_kernels(version) ? 2 : 3));
    CHECK(receives.peer == 3);
    CHECK(receives.entered == 2);
    CHECK(receives.done == 2);
    if (!has_kernels(version)) return;
    REQUIRE(member.pending.size() == 1);
    CHECK(member.pending[0].ordinal == 3);
    CHECK(member.pending[0].signature == Signature{OpKind::kSend, DataType::kFloat32, 10, 2});
  });
}

TEST_CASE("concurrent threads with repeated events lose no operation") {
  play_each(kVersions, "threads", [](const PluginRun& run, int) {
    const RecordedCollectives all = run.read();
    REQUIRE(all.comms.size() == 4);
    for (const Membership& member : all.comms) {
      CHECK(member.entered == 800);
      CHECK(member.started == 800);
      CHECK(member.done == 800);
      CHECK(member.pending.empty());
    }
    CHECK(run.counters().operations_dropped == 0);
    CHECK(run.counters().ignored > 0);
  });
}

}  // namespace plugin_test
