#include "tests/paths.h"
#include "tracer/flight_memberships.h"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <random>

#include "tracer/limits.h"

namespace flight_recorder_test {

using namespace robustrun;
using base::Errc;
using base::Nanos;
using tracer::DataType;
using tracer::FlightRecording;
using tracer::KnownGroup;
using tracer::Membership;
using tracer::Operation;
using tracer::OpKind;
using tracer::RecordedEntry;

namespace {

std::string bytes_of(const std::string& fixture) {
  std::ifstream file(in_source("tests/fixtures/flight_recorder/") + fixture, std::ios::binary);
  REQUIRE_MESSAGE(file, fixture);
  return {std::istreambuf_iterator<char>(file), {}};
}

FlightRecording recording_of(const std::string& fixture) {
  auto read = tracer::read_flight_recording(bytes_of(fixture));
  REQUIRE_MESSAGE(read, fixture);
  return *std::move(read);
}

const Membership& named(const std::vector<Membership>& all, const std::string& name) {
  for (const Membership& membership : all) {
    if (membership.name == name) return membership;
  }
  FAIL("no membership " << name);
  return all.front();
}

// A recording of two entries of one group, made by hand.
std::string json_of(const std::string& entries, const std::string& rest = "") {
  return R"({"version":"2.10","pg_config":{})" + rest + R"(,"entries":[)" + entries + "]}";
}

}  // namespace

TEST_CASE("a gloo job's dump is the same in both forms") {
  for (const std::string rank : {"0", "1", "2", "3"}) {
    CAPTURE(rank);
    const FlightRecording json = recording_of("gloo.json." + rank);
    const FlightRecording pickle = recording_of("gloo.pickle." + rank);
    CHECK(json.version == "2.10");
    CHECK(json.complete);
    CHECK(pickle.complete);
    CHECK(json.library.empty());
    REQUIRE(json.entries.size() == pickle.entries.size());
    for (std::size_t i = 0; i < json.entries.size(); ++i) {
      const RecordedEntry& a = json.entries[i];
      const RecordedEntry& b = pickle.entries[i];
      CHECK(a.group_name == b.group_name);
      CHECK(a.group_description == b.group_description);
      CHECK(a.operation == b.operation);
      CHECK(a.collective == b.collective);
      CHECK(a.input_sizes == b.input_sizes);
      CHECK(a.output_types == b.output_types);
      CHECK(a.retired == b.retired);
      CHECK(a.created_ns == b.created_ns);
    }
    CHECK(json.status.at(0).enqueued == pickle.status.at(0).enqueued);
    CHECK(json.status.at(1).completed == 2);
  }
}

TEST_CASE("a gloo job's dump shows which rank waits and which has not entered") {
  const FlightRecording waiting = recording_of("gloo.pickle.0");
  const std::int64_t now = waiting.entries.back().created_ns + 3'000'000'000;
  const auto groups = tracer::memberships(waiting, {}, 0, now);
  REQUIRE(groups.size() == 2);
  const Membership& world = named(groups, "default_pg");
  CHECK(world.entered == 7);  // not 8, as pg_status has it
  CHECK(world.done == 6);
  CHECK(world.started == 7);
  CHECK(world.counts_completion);
  CHECK(world.size == 0);
  CHECK(world.comm == tracer::group_key("0", {}));
  REQUIRE(world.pending.size() == 1);
  CHECK(world.pending[0].ordinal == 7);
  CHECK(world.pending[0].signature.kind == OpKind::kAllReduce);
  CHECK(world.pending[0].signature.type == DataType::kFloat32);
  CHECK(world.pending[0].signature.count == 1200);
  CHECK(world.pending[0].stage == Operation::Stage::kRunning);
  CHECK(world.pending[0].age == Nanos(3'000'000'000));
  CHECK(world.idle == Nanos(3'000'000'000));
  CHECK(world.recent.size() == 7);
  const Membership& pair = named(groups, "1");
  CHECK(pair.entered == 2);
  CHECK(pair.done == 2);
  CHECK(pair.pending.empty());
  CHECK(pair.recent[0].signature.type == DataType::kFloat64);

  const auto absent = tracer::memberships(recording_of("gloo.json.2"), {}, 2, now);
  CHECK(named(absent, "default_pg").entered == 6);
  CHECK(named(absent, "default_pg").done == 6);
  CHECK(named(absent, "default_pg").pending.empty());
  CHECK(named(absent, "dp_1").comm == tracer::group_key("2", {}));
}

TEST_CASE("gather and similar operations are compared by every rank's input") {
  const auto groups = tracer::memberships(recording_of("gloo.pickle.3"), {}, 3, 0);
  const auto& recent = named(groups, "default_pg").recent;
  REQUIRE(recent.size() == 7);
  CHECK(recent[2].signature.kind == OpKind::kBroadcast);
  CHECK(recent[2].signature.count == 7);
  CHECK(recent[2].signature.type == DataType::kInt64);
  CHECK(recent[3].signature.kind == OpKind::kBarrier);
  CHECK(recent[3].signature.count == 0);
  CHECK(recent[4].signature.kind == OpKind::kAllGather);
  CHECK(recent[4].signature.count == 3);
  CHECK(recent[5].signature.kind == OpKind::kScatter);
  CHECK(recent[5].signature.count == 2);  // only the root has an input
}

TEST_CASE("known groups are used, including those without operations") {
  const std::vector<KnownGroup> known = {
      {"0", "world", 77, 4, 3}, {"2", "", 78, 2, 1}, {"5", "unused", 79, 3, 2}};
  const auto groups = tracer::memberships(recording_of("gloo.pickle.3"), known, 3, 0);
  REQUIRE(groups.size() == 3);
  CHECK(named(groups, "world").comm == 77);
  CHECK(named(groups, "world").size == 4);
  CHECK(named(groups, "world").rank == 3);
  CHECK(named(groups, "dp_1").comm == 78);
  CHECK(named(groups, "unused").entered == 0);
  CHECK(named(groups, "unused").comm == 79);
}

TEST_CASE("the counts of an overwritten ring still hold") {
  const FlightRecording ring = recording_of("gloo-ring.pickle.1");
  CHECK_FALSE(ring.complete);
  REQUIRE(ring.entries.size() == 4);
  const std::vector<KnownGroup> pair = {{"1", "", 5, 2, 1}};
  const auto groups = tracer::memberships(ring, pair, 1, 0);
  CHECK(named(groups, "default_pg").entered == 7);
  CHECK(named(groups, "default_pg").done == 6);
  CHECK(named(groups, "default_pg").recent.front().ordinal == 4);
  // The pair has no entry left; the only pg_status without a group must be its own.
  CHECK(named(groups, "1").entered == 2);
  CHECK(named(groups, "1").done == 2);

  // With two such groups it is ambiguous; a group that may have been used is not listed as unused.
  const std::vector<KnownGroup> two = {{"1", "", 5, 2, 1}, {"9", "", 6, 2, 1}};
  CHECK(tracer::memberships(ring, two, 1, 0).size() == 1);
}

TEST_CASE("an operation that left the ring unfinished is not done") {
  const auto read = tracer::read_flight_recording(json_of(
      R"({"record_id":9,"pg_id":0,"process_group":["0","a"],"collective_seq_id":10,
          "profiling_name":"nccl:all_reduce","state":"scheduled","is_p2p":false})",
      R"(,"pg_status":{"0":{"last_enqueued_collective":"10","last_completed_collective":"3"}})"));
  REQUIRE(read);
  const auto groups = tracer::memberships(*read, {}, 0, 0);
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].entered == 10);
  CHECK(groups[0].done == 3);
  CHECK(groups[0].pending.size() == 1);
  // At rest the rank is inside it, and its GPU has reached no later one.
  const tracer::RestingJob job;
  const auto resting = tracer::memberships(*read, {}, 0, 0, &job);
  REQUIRE(resting.size() == 1);
  REQUIRE(resting[0].pending.size() == 2);
  CHECK(resting[0].pending[0].ordinal == 4);
  CHECK(resting[0].pending[0].stage == Operation::Stage::kRunning);
  CHECK(resting[0].pending[1].stage == Operation::Stage::kQueued);
}

TEST_CASE("a group that has finished nothing is inside its first operation, recorded or not") {
  const auto read = tracer::read_flight_recording(json_of(
      R"({"record_id":9,"pg_id":0,"process_group":["0","a"],"collective_seq_id":10,
          "profiling_name":"nccl:all_reduce","state":"scheduled","is_p2p":false})",
      R"(,"pg_status":{"0":{"last_enqueued_collective":10,"last_completed_collective":-1}})"));
  REQUIRE(read);
  const auto groups = tracer::memberships(*read, {}, 0, 0);
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].done == 0);
}

TEST_CASE("the states alone show that starts are seen, for all ranks of a job at rest") {
  const auto entry = [](int number, const std::string& state) {
    return R"({"record_id":)" + std::to_string(number - 1) +
           R"(,"pg_id":0,"process_group":["0","a"],"collective_seq_id":)" + std::to_string(number) +
           R"(,"profiling_name":"nccl:all_reduce","state":")" + state + R"(","is_p2p":false})";
  };
  const auto stage_of = [](const FlightRecording& recording, const tracer::RestingJob& job) {
    const auto groups = tracer::memberships(recording, {}, 0, 0, &job);
    REQUIRE(groups.size() == 1);
    REQUIRE(groups[0].pending.size() == 1);
    return groups[0].pending[0].stage;
  };
  const auto started =
      tracer::read_flight_recording(json_of(entry(1, "completed") + "," + entry(2, "started")));
  const auto waiting =
      tracer::read_flight_recording(json_of(entry(1, "completed") + "," + entry(2, "scheduled")));
  REQUIRE(started);
  REQUIRE(waiting);
  CHECK(tracer::tells_starts(*started));
  CHECK(!tracer::tells_starts(*waiting));
  CHECK(stage_of(*started, {}) == Operation::Stage::kRunning);
  CHECK(stage_of(*waiting, {}) == Operation::Stage::kRunning);
  CHECK(stage_of(*waiting, {.beside = {}, .tells_starts = true}) == Operation::Stage::kQueued);
}

TEST_CASE("at rest, an operation of gloo does not queue behind an unfinished one of NCCL") {
  const auto entry = [](int record, int group, const std::string& operation) {
    return R"({"record_id":)" + std::to_string(record) + R"(,"pg_id":)" + std::to_string(group) +
           R"(,"process_group":[")" + std::to_string(group) +
           R"(","a"],"collective_seq_id":1,"profiling_name":")" + operation +
           R"(","state":"scheduled","is_p2p":false})";
  };
  const auto read = tracer::read_flight_recording(json_of(entry(0, 0, "nccl:all_reduce") + "," +
                                                          entry(1, 1, "gloo:all_reduce") + "," +
                                                          entry(2, 2, "nccl:all_reduce")));
  REQUIRE(read);
  const tracer::RestingJob job;
  const auto groups = tracer::memberships(*read, {}, 0, 0, &job);
  REQUIRE(groups.size() == 3);
  CHECK(groups[0].pending.at(0).stage == Operation::Stage::kRunning);
  CHECK(groups[1].pending.at(0).stage == Operation::Stage::kRunning);
  CHECK(groups[2].pending.at(0).stage == Operation::Stage::kQueued);
}

TEST_CASE("dumps of NCCL jobs in three formats agree") {
  for (const std::string name : {"nccl-2.4.pickle.", "nccl-2.9.pickle.", "nccl-2.10.json."}) {
    CAPTURE(name);
    const FlightRecording waiting = recording_of(name + "0");
    CHECK(waiting.complete);
    const auto groups = tracer::memberships(waiting, {}, 0, 1'767'225'700'000'000'000);
    REQUIRE(groups.size() == 2);
    const Membership& world = named(groups, "default_pg");
    CHECK(world.comm == tracer::group_key("0", {0, 1, 2, 3}));
    CHECK(world.size == 4);
    CHECK(world.entered == 3);
    CHECK(world.done == 2);
    REQUIRE(world.pending.size() == 1);
    CHECK(world.pending[0].signature.count == 4096 * 4096);
    CHECK(world.pending[0].signature.type == DataType::kBfloat16);
    REQUIRE(world.peers.size() == 1);
    CHECK(world.peers[0].peer == 1);
    CHECK(world.peers[0].is_send);
    CHECK(world.peers[0].entered == 1);
    CHECK(world.peers[0].done == 1);
    const Membership& pair = named(groups, "tp");
    CHECK(pair.size == 2);
    CHECK(pair.entered == 4);
    CHECK(pair.done == 4);
    CHECK(pair.pending.empty());  // coalesced operations are done when the last of them is
    CHECK(pair.recent[1].signature.kind == OpKind::kAllReduce);
    CHECK(pair.recent[1].signature.count == 128);
    const auto absent = tracer::memberships(recording_of(name + "1"), {}, 1, 0);
    CHECK(named(absent, "default_pg").entered == 2);
    CHECK(named(absent, "default_pg").rank == 1);
    CHECK_FALSE(named(absent, "default_pg").peers[0].is_send);
  }
}

TEST_CASE("a dump of nccl2 shows the waiting and the absent rank, and whose it is") {
  for (const bool knows_ends : {true, false}) {
    CAPTURE(knows_ends);
    const std::string name = knows_ends ? "nccl2.comm_lib_trace_rank_" : "nccl2-called.json.";
    const FlightRecording waiting = recording_of(name + "0");
    CHECK(waiting.back_end == "nccl2");
    CHECK(waiting.complete);
    // As in a job with groups over gloo as well, of which this recorder says nothing.
    const std::vector<KnownGroup> known = {{"0", "default_pg", 77, 4, 0}, {"9", "other", 78, 2, 0}};
    const auto groups = tracer::memberships(waiting, known, 0, 1'767'225'700'000'000'000);
    REQUIRE(groups.size() == 2);
    const Membership& world = named(groups, "default_pg (nccl2)");
    CHECK(world.comm == 77);
    CHECK(world.entered == 3);  // not by pg_status, which counts calls of all groups
    CHECK(world.done == (knows_ends ? 2 : 3));
    CHECK(world.pending.size() == (knows_ends ? 1 : 0));
    REQUIRE(world.peers.size() == 1);
    CHECK(world.peers[0].done == 1);
    const Membership& pair = named(groups, "tp (nccl2)");
    CHECK(pair.comm == tracer::group_key("1", {0, 1}));
    CHECK(pair.entered == 2);
    CHECK(pair.done == 2);
    CHECK(pair.recent[0].signature.kind == OpKind::kAllGather);
    const auto absent = tracer::memberships(recording_of(name + "1"), {}, 1, 0);
    CHECK(named(absent, "default_pg (nccl2)").entered == 2);
    CHECK(named(absent, "default_pg (nccl2)").done == 2);
  }
}

TEST_CASE("an empty recorder of nccl2 shows the groups that it lists as unused") {
  auto read = tracer::read_flight_recording(
      R"({"version":"2.10","pg_config":{"0":{"name":"0","desc":"default_pg","ranks":"[0, 1]"}}})");
  REQUIRE(read);
  CHECK(read->back_end.empty());
  read->back_end = "nccl2";  // by the question
  read->complete = true;
  const auto groups = tracer::memberships(*read, {{"9", "other", 78, 2, 0}}, 1, 0);
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].name == "default_pg (nccl2)");
  CHECK(groups[0].rank == 1);
  CHECK(groups[0].entered == 0);
}

TEST_CASE("one group over two back ends has two communicators") {
  const std::vector<KnownGroup> known = {{"0", "default_pg", 77, 4, 0}};
  auto over_gloo = tracer::memberships(recording_of("gloo.json.0"), known, 0, 0);
  auto over_nccl2 = tracer::memberships(recording_of("nccl2.comm_lib_trace_rank_0"), known, 0, 0);
  const auto key_in = [](const std::vector<Membership>& all, const std::string& name) {
    return named(all, name).comm;
  };
  CHECK(key_in(over_gloo, "default_pg") == key_in(over_nccl2, "default_pg (nccl2)"));
  auto of_another_rank = over_nccl2;
  tracer::set_apart(over_nccl2, "nccl2");
  tracer::set_apart(of_another_rank, "nccl2");
  CHECK(key_in(over_gloo, "default_pg") != key_in(over_nccl2, "default_pg (nccl2)"));
  CHECK(key_in(of_another_rank, "default_pg (nccl2)") == key_in(over_nccl2, "default_pg (nccl2)"));
}

TEST_CASE("times and stacks are read where a dump has them") {
  const FlightRecording timed = recording_of("nccl-2.9.pickle.2");
  CHECK(timed.library == "2.28.9");
  CHECK(timed.entries.front().duration_ns == 2'500'000);
  const auto groups = tracer::memberships(timed, {}, 2, 0);
  const Membership& world = named(groups, "default_pg");
  REQUIRE(world.timings.size() == 2);
  CHECK(world.timings[0].kernel == Nanos(2'500'000));
  CHECK(world.started == 3);
  CHECK(world.pending[0].stage == Operation::Stage::kRunning);

  const FlightRecording stacks = recording_of("nccl-2.4.pickle.2");
  REQUIRE(stacks.entries.front().frames.size() == 2);
  CHECK(stacks.entries.front().frames[0].function == "train");
  CHECK(stacks.entries.front().frames[0].line == 87);
}

TEST_CASE("a kernel that is timed and has not started waits in the GPU's queue") {
  const auto read = tracer::read_flight_recording(json_of(
      R"({"record_id":0,"pg_id":0,"process_group":["0","a"],"collective_seq_id":1,
          "profiling_name":"nccl:all_reduce","state":"completed","time_discovered_started_ns":5},
         {"record_id":1,"pg_id":0,"process_group":["0","a"],"collective_seq_id":2,
          "profiling_name":"nccl:all_reduce","state":"scheduled"})"));
  REQUIRE(read);
  const auto groups = tracer::memberships(*read, {}, 0, 0);
  CHECK(groups[0].started == 1);
  CHECK(groups[0].entered == 2);
  REQUIRE(groups[0].pending.size() == 1);
  CHECK(groups[0].pending[0].stage == Operation::Stage::kQueued);
}

TEST_CASE("an operation of NCCL that is retired without being completed has timed out") {
  const std::string entry =
      R"({"record_id":0,"pg_id":0,"process_group":["0","a"],"collective_seq_id":1,
          "profiling_name":"BACKEND:all_reduce","state":"scheduled","retired":true})";
  const auto pending = [&](const std::string& backend) {
    std::string text = entry;
    text.replace(text.find("BACKEND"), 7, backend);
    const auto read = tracer::read_flight_recording(json_of(text));
    REQUIRE(read);
    return tracer::memberships(*read, {}, 0, 0).at(0).pending.size();
  };
  CHECK(pending("nccl") == 1);
  CHECK(pending("gloo") == 0);
}

TEST_CASE("two libraries of one process group count separately") {
  const auto read = tracer::read_flight_recording(json_of(
      R"({"record_id":0,"pg_id":0,"process_group":["0","a"],"collective_seq_id":1,
          "profiling_name":"gloo:all_reduce","retired":true},
         {"record_id":1,"pg_id":1,"process_group":["0","a"],"collective_seq_id":9,
          "profiling_name":"nccl:all_reduce","state":"completed"})"));
  REQUIRE(read);
  const auto groups = tracer::memberships(*read, {}, 0, 0);
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].comm != groups[1].comm);
  CHECK(groups[1].comm == tracer::group_key("0", {}));
}

TEST_CASE("of a group that was destroyed and made anew only the new one counts") {
  std::string entries;
  for (int number = 1; number <= 5; ++number) {
    entries += R"({"record_id":)" + std::to_string(number - 1) +
               R"(,"pg_id":0,"process_group":["0","a"],"collective_seq_id":)" +
               std::to_string(number) + R"(,"profiling_name":"gloo:all_reduce","retired":true},)";
  }
  entries += R"({"record_id":5,"pg_id":2,"process_group":["0","a"],"collective_seq_id":1,
                 "profiling_name":"gloo:all_reduce","state":"scheduled","retired":false})";
  // The dead group's pg_status is not that of the new group that has no entry yet.
  const auto read = tracer::read_flight_recording(
      json_of(entries, R"(,"pg_status":{"0":{"last_enqueued_collective":5,
                                            "last_completed_collective":5}})"));
  REQUIRE(read);
  const auto groups = tracer::memberships(*read, {{"1", "unused", 5, 2, 0}}, 0, 0);
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].comm == tracer::group_key("0", {}));
  CHECK(groups[0].entered == 1);
  CHECK(groups[0].done == 0);
  CHECK(groups[0].pending.size() == 1);
  CHECK(groups[1].name == "unused");
  CHECK(groups[1].entered == 0);
}

TEST_CASE("a group with only sends knows its collectives from them") {
  const auto read = tracer::read_flight_recording(json_of(
      R"({"record_id":4000,"pg_id":0,"process_group":["0","a"],"collective_seq_id":12,
          "p2p_seq_id":70,"profiling_name":"nccl:send 0->1","state":"completed","is_p2p":true},
         {"record_id":4001,"pg_id":0,"process_group":["0","a"],"collective_seq_id":12,
          "p2p_seq_id":71,"profiling_name":"nccl:recv 0<-1","state":"scheduled","is_p2p":true})"));
  REQUIRE(read);
  const auto groups = tracer::memberships(*read, {}, 0, 0);
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].entered == 12);
  CHECK(groups[0].done == 12);
  REQUIRE(groups[0].peers.size() == 2);
  CHECK(groups[0].peers[0].is_part);  // counted from the middle
  CHECK(groups[0].peers[1].is_part);  // counted from the middle, not comparable
  REQUIRE(groups[0].pending.size() == 1);
  CHECK(groups[0].pending[0].signature.kind == OpKind::kRecv);
  CHECK(groups[0].pending[0].signature.root == 1);
}

TEST_CASE("entries with invalid fields are incomplete, the dump is still used") {
  const auto read = tracer::read_flight_recording(json_of(
      R"(17,[],null,{},
         {"record_id":"x","pg_id":-4,"process_group":17,"collective_seq_id":"many",
          "profiling_name":[],"input_sizes":[[-3,"a"],7],"input_dtypes":{},"state":9,
          "retired":"yes","time_created_ns":-5,"duration_ms":"long","frames":[3]},
         {"record_id":5,"pg_id":0,"process_group":["0","a"],"collective_seq_id":3,
          "profiling_name":"gloo:all_reduce","retired":true})"));
  REQUIRE(read);
  CHECK_FALSE(read->complete);
  CHECK(read->entries.size() == 3);
  const auto groups = tracer::memberships(*read, {}, 0, 0);
  CHECK(named(groups, "a").entered == 3);
}

TEST_CASE("other input is refused") {
  const auto code = [](const std::string& bytes) {
    const auto read = tracer::read_flight_recording(bytes);
    return read ? Errc::kInternal : read.error().code;
  };
  CHECK(code("") == Errc::kCorrupt);
  CHECK(code("{}") == Errc::kNotFound);
  CHECK(code("[1,2]") == Errc::kNotFound);
  CHECK(code(R"({"communicators":[]})") == Errc::kNotFound);
  const std::string whole = bytes_of("gloo.pickle.0");
  CHECK(code(whole.substr(0, whole.size() / 2)) == Errc::kCorrupt);
  const std::string json = bytes_of("gloo.json.0");
  CHECK(code(json.substr(0, json.size() - 1)) == Errc::kCorrupt);
}

TEST_CASE("a dump reaches its limits and no further") {
  const auto code = [](const std::string& bytes) {
    const auto read = tracer::read_flight_recording(bytes);
    return read ? Errc::kInternal : read.error().code;
  };
  std::string entries = "0";
  for (std::size_t i = 0; i < tracer::kFlightEntriesMax; ++i) entries += ",0";
  CHECK(code(json_of(entries)) == Errc::kLimit);
  std::string groups;
  for (std::size_t i = 0; i <= tracer::kFlightGroupsMax; ++i) {
    groups += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":{}";
  }
  CHECK(code(R"({"version":"2.10","entries":[],"pg_config":{)" + groups + "}}") == Errc::kLimit);

  // One long text named by many entries, as a pickle can.
  const auto text = [](const std::string& value) {
    return "X" +
           std::string{static_cast<char>(value.size()), static_cast<char>(value.size() >> 8)} +
           std::string(2, '\0') + value;
  };
  std::string pickle = "\x80\x02}(" + text("version") + text("2.10") + text("entries") + "](";
  pickle += "}(" + text("frames") + "](}(" + text("name");
  pickle += text(std::string(tracer::kFlightTextMax, 'x')) + "uq" + std::string(1, '\0');
  for (std::size_t i = 1; i < tracer::kFlightFramesMax; ++i) pickle += std::string("h\0", 2);
  pickle += "euq\1";
  for (std::size_t i = 1; i < 10'000; ++i) pickle += "h\1";
  CHECK(code(pickle + "eu.") == Errc::kLimit);
}

TEST_CASE("a snapshot takes over no more than its limits") {
  std::string entries;
  for (std::size_t i = 1; i <= tracer::kFlightPendingMax + 10; ++i) {
    entries += (i > 1 ? "," : "") +
               (R"({"record_id":)" + std::to_string(i - 1) +
                R"(,"pg_id":0,"process_group":["0","a"],"profiling_name":"nccl:all_reduce",)" +
                R"("duration_ms":1,"collective_seq_id":)" + std::to_string(i) + R"(,"state":")" +
                (i > 300 ? "scheduled" : "completed") + "\"}");
  }
  const auto read = tracer::read_flight_recording(json_of(entries));
  REQUIRE(read);
  const auto groups = tracer::memberships(*read, {}, 0, 0);
  CHECK(groups[0].pending.front().ordinal == 301);
  CHECK(groups[0].recent.size() == tracer::kFlightRecentMax);
  CHECK(groups[0].recent.back().ordinal == tracer::kFlightPendingMax + 10);
  CHECK(groups[0].timings.size() == tracer::kFlightTimingsMax);
  CHECK(groups[0].timings.back().ordinal == 300);
}

TEST_CASE("a dump with any byte changed is read or refused") {
  const unsigned seed = 20261122;
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (const std::string name :
       {"gloo.pickle.0", "nccl-2.10.json.0", "nccl-2.9.pickle.1", "nccl2.comm_lib_trace_rank_1"}) {
    const std::string whole = bytes_of(name);
    for (int round = 0; round < 300; ++round) {
      std::string bytes = whole;
      for (int change = 0; change < 3; ++change) {
        bytes[random() % bytes.size()] = static_cast<char>(random());
      }
      const auto read = tracer::read_flight_recording(bytes);
      if (!read) continue;
      for (const Membership& membership : tracer::memberships(*read, {}, 0, 0)) {
        CHECK(membership.done <= membership.started);
        CHECK(membership.started <= membership.entered);
      }
    }
  }
}

TEST_CASE("the key of a group depends on its name and its members, not on their order") {
  CHECK(tracer::group_key("0", {2, 0, 1}) == tracer::group_key("0", {0, 1, 2}));
  CHECK(tracer::group_key("0", {0, 1}) != tracer::group_key("1", {0, 1}));
  CHECK(tracer::group_key("0", {0, 1}) != tracer::group_key("0", {0, 1, 2}));
  // FNV-1a, 64 bit, of "a\0" and of "a\0\1\0\0\0".
  CHECK(tracer::group_key("a", {}) == 0x89be207b544f1e4U);
  CHECK(tracer::group_key("a", {1}) == 0x2e15cb2d501a2eb5U);
}

}  // namespace flight_recorder_test
