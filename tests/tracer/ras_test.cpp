#include "tracer/ras.h"
#include "tests/paths.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>

#include "tests/support/sanitized.h"
#include "tracer/document.h"
#include "tracer/limits.h"

namespace ras_test {

using namespace robustrun;
using base::Errc;
using tracer::Life;
using tracer::RankSnapshot;
using tracer::RasReport;

namespace {

std::string bytes_of(const std::string& fixture) {
  std::ifstream file(in_source("tests/fixtures/ras/") + fixture);
  REQUIRE_MESSAGE(file, fixture);
  return {std::istreambuf_iterator<char>(file), {}};
}

RasReport report_of(const std::string& bytes) {
  auto read = tracer::read_ras_report(bytes);
  REQUIRE_MESSAGE(read, read.error().what);
  return *std::move(read);
}

Errc refusal(const std::string& bytes) {
  const auto read = tracer::read_ras_report(bytes);
  return read ? Errc::kInternal : read.error().code;
}

// A report of one communicator whose ranks and missing ranks are these texts.
std::string json_of(const std::string& ranks, const std::string& missing = "") {
  return R"({"nccl_version":"2.29.2","communicators":[{"hash":"0x1","size":4,"ranks":[)" + ranks +
         R"(],"missing_ranks":[)" + missing + "]}]}";
}

}  // namespace

TEST_CASE("a report has the number of collectives that every rank launched") {
  const RasReport report = report_of(bytes_of("never-entered-2.29.2.json"));
  CHECK(report.nccl_version == "2.29.2+cuda13.0");
  REQUIRE(report.communicators.size() == 3);
  CHECK(report.communicators[0].hash == 0xF00D);
  CHECK(report.communicators[0].size == 4);
  REQUIRE(report.communicators[0].ranks.size() == 4);
  CHECK(report.communicators[0].ranks[2].launched == 4182);  // one Broadcast, 4,181 AllReduce
  CHECK(report.communicators[0].ranks[3].launched == 4183);
  CHECK(report.communicators[0].ranks[3].pid == 4003);
}

TEST_CASE("ranks of every communicator become ranks of the job") {
  const auto [fleet, notes] = tracer::fleet_of(report_of(bytes_of("never-entered-2.29.2.json")));
  CHECK(fleet.world_size == 4);
  REQUIRE(fleet.ranks.size() == 4);
  const RankSnapshot& third = fleet.ranks[2];
  CHECK(third.rank == base::Rank{2});
  CHECK(third.node == "10.0.0.2");
  CHECK(third.pid == 4002);
  CHECK(third.life == Life::kRunning);
  REQUIRE(third.comms.size() == 2);
  CHECK(third.comms[0].entered == 4182);
  CHECK(third.comms[0].done == 4182);
  CHECK(third.comms[0].pending.empty());
  CHECK(fleet.ranks[1].comms[0].done == 4182);
  REQUIRE(fleet.ranks[1].comms[0].pending.size() == 1);
  CHECK(fleet.ranks[1].comms[0].pending[0].ordinal == 4183);
  CHECK_FALSE(third.comms[1].counts_completion);  // equal counts prove nothing
  CHECK(third.comms[1].size == 2);
  CHECK(third.comms[1].rank == 0);
  CHECK(third.comms[1].comm == fleet.ranks[3].comms[1].comm);
  CHECK(third.comms[1].comm != fleet.ranks[0].comms[1].comm);
  CHECK(notes.empty());
}

TEST_CASE("the comma that NCCL omits when a rank is missing is added") {
  const std::string written = bytes_of("missing-2.28.9.json");
  CHECK_FALSE(tracer::read_json(written));
  const auto [fleet, notes] = tracer::fleet_of(report_of(written));
  REQUIRE(fleet.ranks.size() == 4);
  CHECK(fleet.ranks[3].life == Life::kDead);
  CHECK(fleet.ranks[3].end == "NCCL's RAS considers it dead");
  CHECK(fleet.ranks[3].comms.size() == 1);
  CHECK_FALSE(fleet.ranks[3].comms[0].counts_completion);
  CHECK(fleet.ranks[0].comms[0].done == 90);  // and 91, the last that all have launched, is not
  CHECK(fleet.ranks[0].comms[0].pending.at(0).ordinal == 91);
  CHECK(fleet.ranks[0].life == Life::kRunning);
  CHECK(notes.size() == 1);  // the time-out
  // Valid JSON stays unchanged.
  const std::string right = bytes_of("unresponsive-2.29.2.json");
  CHECK(tracer::add_missing_commas(right) == right);
  CHECK(tracer::add_missing_commas("\"nvml_dev\"") == "\"nvml_dev\"");
  CHECK(tracer::add_missing_commas("\"nvml_dev\": 1") == "\"nvml_dev\": 1");
}

TEST_CASE("the progress of an unresponsive process is unknown") {
  const auto [fleet, notes] = tracer::fleet_of(report_of(bytes_of("unresponsive-2.29.2.json")));
  REQUIRE(fleet.ranks.size() == 4);
  CHECK(fleet.ranks[2].life == Life::kStopped);
  REQUIRE(fleet.ranks[2].comms.size() == 1);
  CHECK_FALSE(fleet.ranks[2].comms[0].counts_completion);
}

TEST_CASE("the text names the ranks that differ, which determines the others") {
  const RasReport report = report_of(bytes_of("never-entered-2.28.3.txt"));
  CHECK(report.nccl_version == "2.28.3");
  REQUIRE(report.communicators.size() == 1);
  const auto [fleet, notes] = tracer::fleet_of(report);
  REQUIRE(fleet.ranks.size() == 4);
  CHECK(fleet.ranks[2].comms[0].entered == 4181);
  CHECK(fleet.ranks[2].pid == 4002);
  CHECK(fleet.ranks[2].node == "10.0.0.2");
  CHECK(fleet.ranks[0].comms[0].entered == 4182);
}

TEST_CASE("the text's dead and missing ranks are read") {
  const std::string text =
      "NCCL version 2.27.5 compiled with CUDA 12.9\n\n"
      "DEAD\n  1 job process is considered dead (unreachable via the RAS network)\n"
      "  Process 71 on node 10.0.0.9 managing GPU 1\n\n"
      "#0-0 (00000000000000ab) INCOMPLETE\n  Missing communicator data from 2 ranks\n"
      "  Rank 1 -- GPU 1 managed by process 71 on node 10.0.0.9\n"
      "  Rank 5 -- [process information not found]\n\n";
  const auto [fleet, notes] = tracer::fleet_of(report_of(text));
  REQUIRE(fleet.ranks.size() == 2);
  CHECK(fleet.ranks[0].rank == base::Rank{1});
  CHECK(fleet.ranks[0].life == Life::kDead);
  CHECK(fleet.ranks[1].rank == base::Rank{5});
  CHECK(fleet.ranks[1].life == Life::kStopped);
}

TEST_CASE("counts that the text leaves open stay open") {
  const std::string text =
      "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"
      "    #  in group  per comm  per node  per comm  in group\n"
      "    0         1         2        32        64        64   RUNNING  MISMATCH\n\n"
      "#0-0 (00000000000000ab) MISMATCH\n"
      "  Communicator ranks have different AllGather operation counts\n"
      "  40 ranks have launched up to operation 7\n"
      "  22 ranks have not launched any operations\n"
      "  2 ranks have launched up to operation 9\n"
      "  Rank 3 -- GPU 3 managed by process 17 on node 10.0.0.1\n"
      "  Rank 4 -- GPU 4 managed by process 18 on node 10.0.0.1\n\n";
  const RasReport report = report_of(text);
  CHECK(report.communicators[0].size == 64);
  CHECK(report.communicators[0].ranks.size() ==
        2);  // it is open which rank has 7 and which has none
}

TEST_CASE("NCCL errors and aborted communicators are noted") {
  const auto [fleet, notes] = tracer::fleet_of(report_of(json_of(
      R"({"rank":0,"status":{"init_state":0,"async_error":6,"abort_flag":true}},
         {"rank":1,"status":{"init_state":7,"async_error":7}})")));
  REQUIRE(notes.size() == 2);
  CHECK(notes[0].find("NCCL error 6") != std::string::npos);
  CHECK(notes[1].find("aborted") != std::string::npos);
}

TEST_CASE("processes outside the largest communicator are counted, not guessed") {
  const std::string other =
      R"({"hash":"0x2","size":2,"ranks":[{"rank":0,"host":"h","pid":5,"cuda_dev":0}]},)";
  std::string json = json_of(R"({"rank":0,"host":"h","pid":4,"cuda_dev":0})");
  json.insert(json.find('[') + 1, other);
  const auto [fleet, notes] = tracer::fleet_of(report_of(json));
  CHECK(fleet.ranks.size() == 1);
  CHECK(notes.size() == 1);
}

TEST_CASE("other input is refused") {
  CHECK(refusal("") == Errc::kCorrupt);
  CHECK(refusal("{}") == Errc::kCorrupt);
  CHECK(refusal("hello\nworld\n") == Errc::kCorrupt);
  CHECK(refusal(R"({"communicators":{}})") == Errc::kCorrupt);
  const std::string whole = bytes_of("never-entered-2.29.2.json");
  CHECK(refusal(whole.substr(0, whole.size() / 2)) == Errc::kCorrupt);
}

// Large inputs; sanitizers need minutes for them, and the fuzzer finds what they could.
TEST_CASE("a report reaches its limits and no further" *
          doctest::skip(robustrun::test::kSanitized)) {
  const auto many = [](const std::string& piece, std::size_t count) {
    std::string all = piece;
    for (std::size_t i = 1; i < count; ++i) all += "," + piece;
    return all;
  };
  CHECK(refusal(json_of(many("0", tracer::kRasRanksMax), "0")) == Errc::kLimit);
  CHECK(refusal(R"({"communicators":[)" + many("{}", tracer::kRasCommunicatorsMax + 1) + "]}") ==
        Errc::kLimit);
  CHECK(refusal(std::string(tracer::kDocumentBytesMax + 1, ' ')) == Errc::kLimit);

  std::string text = "NCCL version 2.27.5\n#0-0 (ab) INCOMPLETE\n";
  for (std::size_t i = 0; i <= tracer::kRasTextRanksMax; ++i) {
    text += "  Rank " + std::to_string(i) + " --\n";
  }
  CHECK(refusal(text) == Errc::kLimit);
  text = "NCCL version 2.27.5\n";
  for (std::size_t i = 0; i <= tracer::kRasCommunicatorsMax; ++i) {
    text += "#0-0 (" + std::string(2, 'a') + std::to_string(i) + ") ERROR\n";
  }
  CHECK(refusal(text) == Errc::kLimit);

  std::string errors;
  for (std::size_t i = 0; i < tracer::kRasNotesMax + 5; ++i) {
    errors += (i > 0 ? "," : "") + std::string(R"({"rank":0,"status":{"async_error":6}})");
  }
  CHECK(tracer::fleet_of(report_of(json_of(errors))).notes.size() == tracer::kRasNotesMax);
  std::string counts;
  for (std::size_t i = 0; i < tracer::kRasFunctionsMax + 5; ++i) {
    counts += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":1";
  }
  const RasReport report = report_of(json_of(R"({"rank":0,"collective_counts":{)" + counts + "}}"));
  CHECK(report.communicators[0].ranks[0].launched == tracer::kRasFunctionsMax);
  const RasReport named = report_of(json_of(R"({"host":")" + std::string(1000, 'x') + R"("})"));
  CHECK(named.communicators[0].ranks[0].host.size() == tracer::kRasTextMax);
}

TEST_CASE("a text with too many differences or endless lines is read in time" *
          doctest::skip(robustrun::test::kSanitized)) {
  std::string text =
      "Group     Comms\n    0         1         2        32      4096        64   RUNNING  OK\n\n"
      "#0-0 (ab) MISMATCH\n";
  for (std::size_t i = 0; i < 10 * tracer::kRasTextFunctionsMax; ++i) {
    text +=
        "Communicator ranks have different X operation counts\n"
        "9 ranks have launched up to operation 1\n";
  }
  const RasReport report = report_of(text);
  REQUIRE(report.communicators[0].ranks.size() == 4096);
  CHECK(report.communicators[0].ranks[0].launched == tracer::kRasTextFunctionsMax);
  const std::string line(tracer::kRasLineMax + 1, ' ');
  CHECK(report_of("NCCL version 2.27.5\nNCCL version" + line + "9.9\n").nccl_version == "2.27.5");
}

TEST_CASE("a report with any byte changed is read or refused") {
  const unsigned seed = 20261122;
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (const std::string name :
       {"never-entered-2.29.2.json", "missing-2.28.9.json", "never-entered-2.28.3.txt"}) {
    const std::string whole = bytes_of(name);
    for (int round = 0; round < 300; ++round) {
      std::string bytes = whole;
      for (int change = 0; change < 3; ++change) {
        bytes[random() % bytes.size()] = static_cast<char>(random());
      }
      const auto read = tracer::read_ras_report(bytes);
      if (!read) continue;
      const auto [fleet, notes] = tracer::fleet_of(*read);
      CHECK(std::ranges::is_sorted(fleet.ranks, {}, &RankSnapshot::rank));
    }
  }
}

}  // namespace ras_test
