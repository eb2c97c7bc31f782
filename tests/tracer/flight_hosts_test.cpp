// Which hosts of a job at rest have halted, by what they had called.
#include <doctest/doctest.h>

#include "tracer/flight_hosts.h"

namespace robustrun::tracer::flight_hosts_test {
namespace {

using Ranks = std::set<std::uint32_t>;

// What one rank's recorder holds: calls in order, of groups "tp" and "dp" over ranks 0 to 3.
struct Recorder {
  FlightRecording recording;
  std::map<std::string, std::uint64_t> numbers;
  std::uint64_t pg_id = 0;

  Recorder() { recording.complete = true; }
  Recorder& call(const std::string& group, bool is_done, const std::string& what = "all_reduce") {
    RecordedEntry entry;
    entry.group = pg_id;
    entry.group_name = entry.group_description = group;
    entry.operation = "nccl:" + what;
    entry.collective = ++numbers[group];
    if (is_done) entry.state = RecordedEntry::State::kCompleted;
    recording.entries.push_back(entry);
    return *this;
  }
  Recorder& calls(std::size_t count, bool is_done) {
    for (std::size_t i = 0; i < count; ++i) call("tp", is_done);
    return *this;
  }
};

Ranks halted(const std::vector<Recorder>& recorders) {
  HostsAtRest hosts;
  for (std::uint32_t rank = 0; rank < recorders.size(); ++rank) {
    hosts.add(rank, recorders[rank].recording);
  }
  return hosts.halted();
}

TEST_CASE("a rank with pending operations has halted where another one went on") {
  // All wait for rank 0, which has not reached the second call. Rank 1, behind it, sleeps as well.
  const Recorder asleep = Recorder().calls(1, true);
  const Recorder also_asleep = Recorder().calls(1, true).call("tp", false);
  const Recorder waits = Recorder().calls(1, true).call("tp", false).call("dp", false);
  CHECK(halted({asleep, also_asleep, waits, waits}) == Ranks{0, 1});
}

TEST_CASE("a rank that stopped where all stopped may wait for its GPU") {
  const Recorder asleep = Recorder().calls(1, true);
  const Recorder waits = Recorder().calls(1, true).call("tp", false);
  CHECK(halted({asleep, waits, waits, waits}) == Ranks{0});
}

TEST_CASE("a place is identified by the numbers and kinds of the two calls before it") {
  const Recorder waits = Recorder().call("tp", true).call("tp", false);
  const Recorder later =
      Recorder().call("tp", true).calls(1, true).call("tp", false).call("dp", false);
  const Recorder other =
      Recorder().call("tp", true).call("tp", false, "all_gather").call("dp", false);
  CHECK(halted({waits, later}).empty());
  CHECK(halted({waits, other}).empty());
  const Recorder same = Recorder().call("tp", true).call("tp", false).call("dp", false);
  CHECK(halted({waits, same}) == Ranks{0});
}

TEST_CASE("a rank that called as much as any other may have reached the launch limit") {
  const Recorder one = Recorder().calls(3, true).calls(2, false);
  const Recorder two = Recorder().calls(4, true).calls(1, false);
  CHECK(halted({one, one}).empty());
  CHECK(halted({one, two}).empty());
}

TEST_CASE("a rank whose ring may have lost what it waits for is not accused") {
  Recorder cut = Recorder().calls(2, false);
  cut.recording.complete = false;
  const Recorder waits = Recorder().calls(2, false).call("dp", false);
  CHECK(halted({cut, waits}).empty());
  Recorder known = Recorder().calls(1, true).call("tp", false);
  known.recording.complete = false;
  const Recorder also_waits = Recorder().calls(1, true).call("tp", false).call("dp", false);
  CHECK(halted({known, also_waits}) == Ranks{0});
}

TEST_CASE("a recorder that is behind proves nothing about hosts") {
  const Recorder waits = Recorder().call("tp", true).call("tp", false);
  // It has finished the first calls, as rank 2 shows, and its host has waited for them.
  const Recorder blind = Recorder().call("tp", true).calls(2, false);
  const Recorder sees = Recorder().call("tp", true).calls(1, true).call("tp", false);
  CHECK(halted({waits, blind, sees}).empty());
}

TEST_CASE("a rank that has finished all has halted, unless its program has ended") {
  const Recorder idle = Recorder().calls(2, true);
  const Recorder ended = Recorder().calls(3, true);
  const Recorder waits = Recorder().calls(2, true).call("tp", false);
  CHECK(halted({idle, waits}) == Ranks{0});
  CHECK(halted({ended, waits}).empty());
  CHECK(halted({idle, ended}).empty());  // no rank is blocked
}

TEST_CASE("calls of groups that were destroyed and made anew do not count") {
  Recorder before = Recorder().calls(5, true);
  before.numbers.clear();
  before.pg_id = 1;
  const Recorder idle = Recorder(before).calls(1, true);
  const Recorder waits = Recorder(before).calls(1, true).call("tp", false);
  CHECK(halted({idle, waits}) == Ranks{0});
}

TEST_CASE("entries of one batch are one call") {
  const auto batch = [](Recorder& recorder, bool is_done) {
    for (const char* const what : {"nccl:send 0->1", "nccl:recv 0<-1", "nccl:coalesced"}) {
      RecordedEntry entry;
      entry.group_name = entry.group_description = "pp";
      entry.operation = what;
      entry.is_point_to_point = true;
      entry.point_to_point = 1;
      // Only the last entry of a batch shows its state.
      const bool tells = entry.operation == "nccl:coalesced";
      if (is_done && tells) entry.state = RecordedEntry::State::kCompleted;
      recorder.recording.entries.push_back(entry);
    }
  };
  Recorder idle = Recorder().call("tp", true);
  batch(idle, true);
  const Recorder waits = Recorder().calls(2, false);
  CHECK(halted({idle, waits}) == Ranks{0});
}

}  // namespace
}  // namespace robustrun::tracer::flight_hosts_test
