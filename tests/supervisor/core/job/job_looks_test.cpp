// What a job says of the looks of its failures: when, and of which of many.
#include <doctest/doctest.h>

#include <csignal>

#include "supervisor/core/report/render.h"
#include "supervisor/core/report/report.h"
#include "supervisor/core/status/fold.h"
#include "supervisor/core/types/limits.h"
#include "supervisor/run_dir/journal.h"
#include "tests/supervisor/job_journal.h"

namespace robustrun::supervisor::test::job_looks_test {
namespace {

FaultRow row(std::string name, std::string text, bool sequel = false) {
  FaultRow made;
  made.name = std::move(name);
  made.symptom = "trouble";
  made.texts = {std::move(text)};
  made.layer = Layer::kInfrastructure;
  made.confidence = Confidence::kHigh;
  made.action = FirstAction::kEvict;
  made.sequel = sequel;
  return made;
}

JobSpec spec_with_rows(std::vector<std::uint32_t> slots = {2}) {
  JobSpec spec = make_spec(std::move(slots));
  spec.faults = {row("disk is full", "No space"), row("peer lost", "closed by peer", true)};
  FaultRow mismatch = row("ranks differ", "-");
  mismatch.texts.clear();
  mismatch.found = {"mismatch"};
  spec.faults.push_back(mismatch);
  return spec;
}

WorkerExited said(std::uint32_t rank, std::string line) {
  WorkerExited exit = exited(0, rank, 1);
  exit.stderr_tail = {std::move(line)};
  return exit;
}

std::string name_said(const Harness& h, Rule rule) {
  for (const Decision& decision : h.all<Decision>()) {
    if (decision.rule == rule) return decision.looks_like ? decision.looks_like->name : "nothing";
  }
  return "no such decision";
}

TEST_CASE("the decision that a worker failed says what that looks like, once") {
  Harness h(spec_with_rows());
  h.run();
  h.tell_exit(said(1, "No space left"));
  REQUIRE(h.all<Decision>().size() == 1);
  REQUIRE(h.all<Decision>()[0].looks_like.has_value());
  CHECK(in_words(*h.all<Decision>()[0].looks_like, "") ==
        "likely: trouble, disk is full (infrastructure, high confidence): \"No space left\" "
        "(rank 1's stderr)");
  h.all_gone();
  CHECK(name_said(h, Rule::kRestart) == "nothing");
}

TEST_CASE("what the script is surely to blame for is not restarted before any step") {
  FaultRow syntax = row("syntax error", "SyntaxError");
  syntax.layer = Layer::kUserCode;
  syntax.action = FirstAction::kRollBack;
  const auto ending = [&](Confidence confidence, bool stepped) {
    JobSpec spec = make_spec({2});
    syntax.confidence = confidence;
    spec.faults = {syntax};
    Harness h(spec);
    h.run();
    if (stepped) h.first_step();
    h.tell_exit(said(1, "SyntaxError"));
    h.all_gone();
    return h.text(h.decided(Rule::kRestart) ? Rule::kRestart : Rule::kBudgetExhausted);
  };
  CHECK(ending(Confidence::kHigh, false) == "giving up: a restart cannot change that");
  CHECK(ending(Confidence::kMedium, false).starts_with("restart 1 of 3"));
  CHECK(ending(Confidence::kHigh, true).starts_with("restart 1 of 3"));
}

TEST_CASE("a failure names the exception and the user's line, once") {
  Harness h(spec_with_rows());
  h.run();
  WorkerExited exit = exited(0, 1, 1);
  exit.stderr_tail = {
      "Traceback (most recent call last):", "  File \"/job/data.py\", line 12, in load_batch",
      "    return 1 / 0", "ZeroDivisionError: division by zero"};
  h.tell_exit(exit);
  CHECK(h.text(Rule::kWorkerFailed) ==
        "rank 1 on node0: ZeroDivisionError: division by zero, in load_batch (data.py:12); "
        "stopping the other rank");
}

TEST_CASE("a failure that does not merely follow from another one's explains both") {
  Harness h(spec_with_rows());
  h.run();
  h.tell_exit(said(0, "Connection closed by peer"));
  CHECK(name_said(h, Rule::kWorkerFailed) == "peer lost");
  h.tell_exit(said(1, "No space left"));
  h.all_gone();
  CHECK(name_said(h, Rule::kRestart) == "disk is full");
}

TEST_CASE("a sequel does not outweigh what is known") {
  Harness h(spec_with_rows());
  h.run();
  h.tell_exit(said(0, "No space left"));
  h.tell_exit(said(1, "Connection closed by peer"));
  h.all_gone();
  CHECK(name_said(h, Rule::kRestart) == "nothing");
}

TEST_CASE("of two that are as sure the root's counts, by the error file's time") {
  Harness h(spec_with_rows());
  h.run();
  h.now += seconds(10);
  h.tell_exit(exited(0, 0, 1));
  WorkerExited earlier = said(1, "No space left");
  earlier.error_timestamp_s = 1'700'000'003;
  h.now += seconds(5);
  h.tell_exit(earlier);
  h.all_gone();
  CHECK(name_said(h, Rule::kWorkerFailed) == "no such decision");
  CHECK(name_said(h, Rule::kRestart) == "disk is full");
}

TEST_CASE("of very many failures the first are looked at") {
  Harness h(spec_with_rows({64}));
  h.run();
  for (std::uint32_t rank = 0; rank < kEvidenceMax; ++rank) {
    h.tell_exit(said(rank, "Connection closed by peer"));
  }
  h.tell_exit(said(40, "No space left"));
  h.all_gone();
  CHECK(name_said(h, Rule::kRestart) == "nothing");
}

TEST_CASE("how far the attempt had come is seen anew in every attempt") {
  Harness h(spec_with_rows());
  h.run();
  h.tell_exit(exited(0, 0, 1));
  CHECK(name_said(h, Rule::kWorkerFailed) ==
        "exit before the script was seen to run on every rank");
  h.recover();
  h.tell(Progress{h.job.attempt(), Progress::Mark::kUserCode, h.now, 0, {}, {}, {}});
  h.tell_exit(exited(1, 0, 2));
  CHECK(name_said(h, Rule::kWorkerFailed) == "exit before the first step");
  h.recover();
  h.tell_exit(exited(2, 0, 3));
  CHECK(name_said(h, Rule::kWorkerFailed) ==
        "exit before the script was seen to run on every rank");
  h.recover();
  h.first_step();
  h.tell_exit(killed(3, 0, SIGSEGV));
  CHECK(name_said(h, Rule::kWorkerFailed) == "crash of native code after progress");
}

TEST_CASE("ranks that called different things explain the one that died of it") {
  Harness h(spec_with_rows());
  h.run();
  h.first_step();
  WorkerExited exit = said(1, "No space left");
  exit.traced = true;
  h.tell_exit(exit);
  CHECK(name_said(h, Rule::kWorkerFailed) == "disk is full");
  tracer::Verdict verdict;
  verdict.finding = tracer::Finding::kMismatch;
  verdict.sentence = "rank 0 called all_gather";
  h.tell(Diagnosed{h.job.attempt(), Diagnosed::Stage::kPostMortem, verdict, {}});
  CHECK(name_said(h, Rule::kMismatch) == "ranks differ");
}

TEST_CASE("the report shows what a failure was taken for at last") {
  Harness h(spec_with_rows());
  h.run();
  JobJournal journal(h);
  const auto tell = [&](EventBody body) {
    journal.tell(Event{h.now, {0}, {h.generation[0]}, std::move(body)});
  };
  tell(said(0, "Connection closed by peer"));
  tell(said(1, "No space left"));
  tell(WorkersGone{h.job.attempt(), 0, {}, {}});
  const RunReport report = build_report(journal.entries);
  REQUIRE(report.incidents.size() == 1);
  REQUIRE(report.incidents[0].looks_like.has_value());
  CHECK(report.incidents[0].looks_like->name == "disk is full");
  const std::string text = render_report(report, {false, 160, Detail::kFull});
  CAPTURE(text);
  CHECK(text.find("  likely    trouble, disk is full (infrastructure, high confidence): \"No space "
                  "left\" (rank 1's stderr)\n") != std::string::npos);
  CHECK(text.find("  advice    take the machine out\n") != std::string::npos);
  CHECK(report_json(report).find(
            R"("looks_like":{"name":"disk is full","symptom":"trouble","layer":"infrastructure",)"
            R"("confidence":"high","action":"evict","sequel":false,)") != std::string::npos);
}

TEST_CASE("rows and what was said of a failure come back from the journal") {
  Harness h(spec_with_rows());
  h.run();
  h.tell_exit(said(1, "No space left"));
  const auto back = [](const JournalEntry& entry) {
    const EncodedEntry bytes = encode_entry(entry);
    return decode_entry(bytes.kind, bytes.payload).value().value();
  };
  const Decision decision = h.all<Decision>()[0];
  CHECK(std::get<Decision>(back({h.now, decision}).what).looks_like == decision.looks_like);
  Job replayed;
  for (const Event& event : h.journal) {
    replayed.handle(std::get<Event>(back({event.at, event}).what));
  }
  CHECK(replayed.digest() == h.job.digest());
}

}  // namespace
}  // namespace robustrun::supervisor::test::job_looks_test
