#include "cli/commands/diagnose_files.h"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <map>

#include "cli/options/limits.h"
#include "cli/text/diagnose_text.h"
#include "tests/paths.h"
#include "tests/tracer/record_image.h"
#include "tracer/analysis/analyze.h"
#include "tracer/flight_memberships.h"
#include "tracer/progress_record.h"

namespace diagnose_files_test {

using namespace robustrun;
using base::Errc;
using cli::gather;
using cli::Gathered;
using cli::NamedFile;
using tracer::RankSnapshot;

namespace {

std::string fixture(const std::string& name) {
  std::ifstream file(in_source("tests/fixtures/") + name, std::ios::binary);
  REQUIRE_MESSAGE(file, name);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Files in memory.
struct Disk {
  std::map<std::string, std::string> files;
  bool named = false;

  [[nodiscard]] base::Result<Gathered> look() const {
    std::vector<NamedFile> names;
    for (const auto& [path, bytes] : files) names.push_back({path, named});
    return gather(names, [this](const std::string& path) -> base::Result<std::string> {
      const auto found = files.find(path);
      if (found == files.end()) return base::fail(Errc::kNotFound, "it is gone");
      return found->second;
    });
  }
};

std::string dump(const std::string& group, const std::string& description, int collective,
                 const std::string& ranks = "[]") {
  return R"({"version":"2.10","pg_config":{")" + group + R"(":{"desc":")" + description +
         R"(","ranks":")" + ranks +
         R"("}},"entries":[{"record_id":0,"pg_id":0,"process_group":[")" + group + "\",\"" +
         description + R"("],"profiling_name":"nccl:all_reduce",)" +
         R"("state":"scheduled","time_created_ns":999999999999999,"collective_seq_id":)" +
         std::to_string(collective) + "}]}";
}

std::string record(std::uint32_t rank, std::uint64_t comm, std::uint64_t entered,
                   std::uint64_t done) {
  test::RecordImage image;
  auto row = test::communicator(comm, entered, entered, done);
  row.size = 4;
  row.rank = rank;
  row.entered_at_ns = 5'000'000'000;
  row.done_at_ns = 4'000'000'000;
  image.put(0, row);
  std::string bytes = image.file();
  std::memcpy(bytes.data() + offsetof(tracer::ProgressRecord, rank), &rank, sizeof rank);
  const std::uint64_t pid = 1000 + rank, steps = 7, stepped = 3'000'000'000;
  std::memcpy(bytes.data() + offsetof(tracer::ProgressRecord, worker_pid), &pid, sizeof pid);
  std::memcpy(bytes.data() + offsetof(tracer::ProgressRecord, steps), &steps, sizeof steps);
  std::memcpy(bytes.data() + offsetof(tracer::ProgressRecord, last_step_at_ns), &stepped,
              sizeof stepped);
  return bytes;
}

}  // namespace

TEST_CASE("a dump's rank is the number at the end of its name") {
  CHECK(cli::rank_in_name("nccl_trace_rank_12").value() == 12U);
  CHECK(cli::rank_in_name("/tmp/2024/trace.007.json").value() == 7U);
  CHECK(cli::rank_in_name("3").value() == 3U);
  CHECK(cli::rank_in_name("/home/user/.cache/torch/comm_lib_trace_rank_12").value() == 12U);
  CHECK(cli::rank_in_name("rank3.pickle").value() == 3U);
  CHECK_FALSE(cli::rank_in_name("trace"));
  CHECK_FALSE(cli::rank_in_name("trace_7.old"));
  CHECK_FALSE(cli::rank_in_name("trace_99999999999"));
  CHECK_FALSE(cli::rank_in_name("trace_" + std::to_string(cli::kDiagnosedRanksMax)));
  CHECK(cli::rank_in_name("x").error().what.find("rename it") != std::string::npos);
}

TEST_CASE(
    "members of gloo's groups are the ranks that used them; the default group has all ranks") {
  Disk disk;
  for (const std::string rank : {"0", "1", "2", "3"}) {
    disk.files["gloo." + rank] = fixture("flight_recorder/gloo.json." + rank);
  }
  const auto gathered = disk.look();
  REQUIRE(gathered);
  CHECK(gathered->notes.empty());
  CHECK(gathered->fleet.world_size == 4);
  REQUIRE(gathered->fleet.ranks.size() == 4);
  for (const RankSnapshot& rank : gathered->fleet.ranks) {
    REQUIRE(rank.comms.size() == 2);
    CHECK(rank.comms[0].comm == tracer::group_key("0", {0, 1, 2, 3}));
    CHECK(rank.comms[0].size == 4);
    CHECK(rank.comms[0].rank == rank.rank.value);
    CHECK(rank.comms[1].size == 2);
    CHECK(rank.comms[1].rank == rank.rank.value % 2);
  }
  CHECK(gathered->fleet.ranks[2].comms[1].comm == tracer::group_key("2", {2, 3}));
}

TEST_CASE("dumps of torch's nccl2 name the rank and the back end") {
  Disk disk;
  for (const std::string rank : {"0", "1", "2", "3"}) {
    disk.files["comm_lib_trace_rank_" + rank] =
        fixture("flight_recorder/nccl2.comm_lib_trace_rank_" + rank);
  }
  SUBCASE("with all dumps") {}
  SUBCASE("without the dump of the rank") { disk.files.erase("comm_lib_trace_rank_1"); }
  const auto gathered = disk.look();
  REQUIRE(gathered);
  for (const RankSnapshot& rank : gathered->fleet.ranks) {
    REQUIRE(rank.comms.size() == 2);
    CHECK(rank.comms[0].comm == tracer::group_key("0", {0, 1, 2, 3}));
    CHECK(rank.comms[0].name == "default_pg (nccl2)");
  }
  const tracer::Verdict verdict = tracer::analyze(gathered->fleet);
  CHECK(verdict.finding == tracer::Finding::kNeverEntered);
  CHECK(verdict.culprits == std::vector{base::Rank{1}});
  CHECK(verdict.sentence.find("default_pg (nccl2)") != std::string::npos);
}

TEST_CASE("where nccl2 does not tell when operations end, no rank is accused of being inside one") {
  Disk disk;
  for (const std::string rank : {"0", "1", "2", "3"}) {
    disk.files["called." + rank] = fixture("flight_recorder/nccl2-called.json." + rank);
  }
  const auto gathered = disk.look();
  REQUIRE(gathered);
  CHECK(tracer::analyze(gathered->fleet).culprits.empty());
}

TEST_CASE("a rank without a group in its dump that others count it to has not used the group") {
  Disk disk;
  disk.files["t_4"] = dump("7", "tp", 1, "[4, 5]");
  disk.files["t_5"] = R"({"version":"2.10","pg_config":{},"entries":[]})";
  const auto gathered = disk.look();
  REQUIRE(gathered);
  REQUIRE(gathered->fleet.ranks.size() == 2);
  REQUIRE(gathered->fleet.ranks[1].comms.size() == 1);
  CHECK(gathered->fleet.ranks[1].comms[0].comm == gathered->fleet.ranks[0].comms[0].comm);
  CHECK(gathered->fleet.ranks[1].comms[0].counts_completion);
  CHECK(gathered->fleet.ranks[1].comms[0].entered == 0);
  CHECK(gathered->notes ==
        std::vector<std::string>{"the dump of rank 5 has no entries", "no data of ranks [0-3]"});
}

TEST_CASE("a dump without entries shows nothing of a group that other ranks have used") {
  Disk disk;
  disk.files["t_4"] = dump("7", "tp", 3, "[4, 5]");
  disk.files["t_5"] = R"({"version":"2.10","pg_config":{},"entries":[]})";
  const auto gathered = disk.look();
  REQUIRE(gathered);
  REQUIRE(gathered->fleet.ranks.size() == 2);
  REQUIRE(gathered->fleet.ranks[1].comms.size() == 1);
  CHECK_FALSE(gathered->fleet.ranks[1].comms[0].counts_completion);
  CHECK(gathered->fleet.ranks[1].silent);
  CHECK_FALSE(gathered->fleet.ranks[0].silent);
}

TEST_CASE("by pg_status a rank without entries is inside no operation of any group") {
  Disk disk;
  disk.files["t_4"] = dump("7", "tp", 3, "[4, 5]");
  const auto with_status = [](const std::string& groups) {
    return R"({"version":"2.10","pg_config":{)" + groups +
           R"(},"entries":[],"pg_status":{"1":{"last_enqueued_collective":"2",)"
           R"("last_started_collective":"-1","last_completed_collective":"2"}}})";
  };
  for (const std::string& groups :
       {std::string(), std::string(R"("7":{"name":"7","desc":"tp","ranks":"[4, 5]"})")}) {
    CAPTURE(groups);
    disk.files["t_5"] = with_status(groups);
    const auto gathered = disk.look();
    REQUIRE(gathered);
    REQUIRE(gathered->fleet.ranks[1].comms.size() == 1);
    const tracer::Membership& comm = gathered->fleet.ranks[1].comms[0];
    CHECK(comm.counts_completion);
    CHECK(comm.entered == 2);
    CHECK(comm.done == 2);
    const tracer::Verdict verdict = tracer::analyze(gathered->fleet);
    CHECK(verdict.finding == tracer::Finding::kNeverEntered);
    CHECK(verdict.culprits == std::vector<base::Rank>{base::Rank{5}});
  }
}

TEST_CASE("members without dump, with an empty file or an empty dump are named by pg_config") {
  for (const std::string how : {"missing", "file", "dump"}) {
    CAPTURE(how);
    Disk disk;
    for (const std::string rank : {"0", "1", "3", "4", "5", "6", "7"}) {
      disk.files["t_" + rank] = dump("9", "ep", 5, "[0, 1, 2, 3, 4, 5, 6, 7]");
    }
    if (how == "file") disk.files["t_2"] = "";
    if (how == "dump") disk.files["t_2"] = R"({"version":"2.10","pg_config":{},"entries":[]})";
    const auto gathered = disk.look();
    REQUIRE(gathered);
    const tracer::Verdict verdict = tracer::analyze(gathered->fleet);
    CHECK(verdict.culprits == std::vector<base::Rank>{base::Rank{2}});
    CHECK(verdict.confidence == tracer::Confidence::kInferred);
    CHECK(
        verdict.sentence.starts_with("rank 2 has no record of all_reduce #5 (group ep); 7 ranks"));
  }
}

TEST_CASE("several silent members are named, unless half the files are missing") {
  Disk disk;
  for (const std::string rank : {"0", "1", "3", "4", "5", "7"}) {
    disk.files["t_" + rank] = dump("9", "ep", 5, "[0, 1, 2, 3, 4, 5, 6, 7]");
  }
  const auto two = disk.look();
  REQUIRE(two);
  CHECK(tracer::analyze(two->fleet).culprits ==
        std::vector<base::Rank>{base::Rank{2}, base::Rank{6}});
  disk.files.erase("t_0");
  disk.files.erase("t_1");
  const auto half = disk.look();
  REQUIRE(half);
  const tracer::Verdict verdict = tracer::analyze(half->fleet);
  CHECK(verdict.culprits.empty());
  CHECK(verdict.sentence.starts_with("ranks 0, 1, 2 and 6 have no record of all_reduce #5"));
}

TEST_CASE("an empty file is a dump only beside dumps of its name") {
  Disk disk;
  disk.files["t_4"] = dump("7", "tp", 3, "[4, 5]");
  disk.files["log_5"] = "";
  const auto gathered = disk.look();
  REQUIRE(gathered);
  CHECK_FALSE(gathered->fleet.ranks[1].silent);
  CHECK(gathered->notes == std::vector<std::string>{"no data of ranks [0-3],5"});
  disk.named = true;
  CHECK(disk.look().error().what == "cannot use log_5: it is empty");
}

TEST_CASE("ages are relative to the newest time of all dumps, whenever the files were written") {
  Disk disk;
  disk.files["t_4"] = dump("7", "tp", 3, "[4, 5]");
  disk.files["t_5"] = R"({"version":"2.10","pg_config":{},"entries":[{"record_id":0,"pg_id":0,)"
                      R"("process_group":["7","tp"],"profiling_name":"nccl:all_reduce",)"
                      R"("state":"completed","time_created_ns":1000000004000000000,)"
                      R"("time_discovered_completed_ns":1000000005000000000,)"
                      R"("collective_seq_id":2}]})";
  std::string& first = disk.files["t_4"];
  first.replace(first.find("999999999999999"), 15, "1000000003000000000");
  const auto gathered = disk.look();
  REQUIRE(gathered);
  CHECK(gathered->fleet.at_rest);
  CHECK(gathered->fleet.ranks[0].comms[0].pending.at(0).age == std::chrono::seconds(2));
  CHECK(gathered->fleet.ranks[1].comms[0].idle == std::chrono::seconds(1));
}

TEST_CASE("progress records are read, also beside dumps") {
  Disk disk;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    disk.files[std::to_string(rank) + ".record"] = record(rank, 77, rank == 3 ? 9 : 10, 9);
  }
  disk.files["t_0"] = dump("0", "default_pg", 5);
  const auto gathered = disk.look();
  REQUIRE(gathered);
  REQUIRE(gathered->fleet.ranks.size() == 4);
  const RankSnapshot& first = gathered->fleet.ranks[0];
  CHECK(first.pid == 1000);
  CHECK(first.steps == 7);
  CHECK(first.step_age == base::Nanos(2'000'000'000));  // since the record's newest time
  REQUIRE(first.comms.size() == 2);
  CHECK(first.comms[0].comm == 77);
  CHECK(first.comms[0].entered == 10);
  CHECK(gathered->fleet.ranks[3].comms[0].entered == 9);
}

TEST_CASE("RAS shows which ranks are alive, and their progress only if nothing else does") {
  Disk disk;
  disk.files["ras"] = fixture("ras/missing-2.28.9.json");
  const auto alone = disk.look();
  REQUIRE(alone);
  CHECK(alone->fleet.ranks[0].comms.size() == 1);
  CHECK(alone->notes.size() == 2);

  disk.files["t_0"] = dump("0", "default_pg", 5);
  const auto both = disk.look();
  REQUIRE(both);
  REQUIRE(both->fleet.ranks.size() == 4);
  CHECK(both->fleet.ranks[3].life == tracer::Life::kDead);
  CHECK(both->fleet.ranks[0].node == "10.0.0.1");
  REQUIRE(both->fleet.ranks[0].comms.size() == 1);
  CHECK(both->fleet.ranks[0].comms[0].name == "default_pg");
}

TEST_CASE("in a folder unknown files are skipped, truncated ones are reported") {
  Disk disk;
  disk.files["a.log"] = "step 1";
  disk.files["j.json"] = R"({"a": 1})";
  disk.files["k.json"] = R"({"version": "1", "name": "package"})";
  disk.files["l.jsonl"] = "{\"step\": 1}\n{\"step\": 2}\n";
  CHECK(disk.look().error().code == Errc::kNotFound);
  CHECK(disk.look().error().what.starts_with("there is no progress record"));
  disk.files["t_0"] = fixture("flight_recorder/gloo.pickle.0");
  disk.files["t_1"] = fixture("flight_recorder/gloo.pickle.1").substr(0, 700);
  disk.files["t_2"] = record(2, 1, 1, 1).substr(0, 100);
  const auto gathered = disk.look();
  REQUIRE(gathered);
  CHECK(gathered->fleet.ranks.size() == 1);
  REQUIRE(gathered->notes.size() == 2);
  CHECK(gathered->notes[0].starts_with("cannot use t_1: "));
  CHECK(gathered->notes[1].starts_with("cannot use t_2: "));

  disk.named = true;
  CHECK(disk.look().error().what.starts_with("cannot use a.log: "));
  disk.files.erase("a.log");
  CHECK(disk.look().error().what.starts_with("cannot use j.json: it is neither "));
  disk.files.erase("j.json");
  CHECK(disk.look().error().what.find("it is not a dump of the Flight Recorder") !=
        std::string::npos);
  disk.files.erase("k.json");
  disk.files.erase("l.jsonl");
  CHECK(disk.look().error().what.starts_with("cannot use t_1: "));
}

TEST_CASE("a file without a rank, and two of one rank, need the user's decision") {
  Disk disk;
  disk.files["final"] = fixture("flight_recorder/gloo.pickle.0");
  CHECK(disk.look().error().code == Errc::kInvalidArgument);
  disk.files.clear();
  disk.files["a_0"] = disk.files["b_0"] = fixture("flight_recorder/gloo.pickle.0");
  CHECK(disk.look().error().code == Errc::kConflict);
  disk.files.clear();
  disk.files["a"] = disk.files["b"] = record(1, 1, 1, 1);
  CHECK(disk.look().error().code == Errc::kConflict);
}

TEST_CASE("a file that disappears between the two passes is an error") {
  int reads = 0;
  const auto gathered =
      gather({{"t_0", true}}, [&reads](const std::string&) -> base::Result<std::string> {
        if (++reads > 1) return base::fail(Errc::kNotFound, "it is gone");
        return fixture("flight_recorder/gloo.pickle.0");
      });
  CHECK_FALSE(gathered);
}

TEST_CASE("ranks out of range are left out") {
  Disk disk;
  disk.files["r"] = record(cli::kDiagnosedRanksMax, 1, 1, 1);
  CHECK_FALSE(disk.look());
  disk.files.clear();
  disk.files["t_0"] = dump("0", "default_pg", 5, "[0, 4294967295]");
  const auto gathered = disk.look();
  REQUIRE(gathered);
  CHECK(gathered->fleet.world_size == 1);
}

TEST_CASE("a verdict is one sentence, its evidence, and notes") {
  tracer::Verdict verdict;
  verdict.sentence = "no rank is blocked";
  CHECK(cli::verdict_text(verdict, {}) == "no rank is blocked\n");
  CHECK(cli::verdict_json(verdict, {}).find("\"operation\":null") != std::string::npos);

  verdict.finding = tracer::Finding::kNeverEntered;
  verdict.confidence = tracer::Confidence::kExact;
  verdict.sentence = "rank 2 \x1b[2J";
  verdict.evidence = {"one"};
  verdict.culprits = {base::Rank{2}};
  verdict.edges = {{base::Rank{1}, base::Rank{2}}};
  verdict.ordinal = 5;
  verdict.runner_up = {tracer::Finding::kDied, "rank 3 died"};
  CHECK(cli::verdict_text(verdict, {"no data of rank 9"}) ==
        "hang: rank 2 \\x1b[2J\n\nrule R2 (never entered), confidence: exact\n\nevidence:\n  one\n"
        "\notherwise it would be:\n  rank 3 died\n\nalso:\n  no data of rank 9\n");
  const std::string json = cli::verdict_json(verdict, {"a \"note\""});
  for (const std::string piece :
       {R"("finding":"never entered")", R"("culprits":[2])", R"("edges":[[1,2]])", R"("ordinal":5)",
        R"("runner_up":{"finding":"died")", R"("notes":["a \"note\""])"}) {
    CAPTURE(piece);
    CHECK(json.find(piece) != std::string::npos);
  }
  verdict.finding = tracer::Finding::kSlowLink;
  CHECK(cli::verdict_text(verdict, {}).starts_with("slow: "));
}

}  // namespace diagnose_files_test
