#include "supervisor/core/fault/fault_class.h"

#include <doctest/doctest.h>

#include <csignal>

#include "supervisor/core/fault/fault_lines.h"
#include "supervisor/core/types/limits.h"
#include "tests/supervisor/job_words.h"

namespace robustrun::supervisor::fault_class_test {
namespace {

using test::exited;
using test::killed;
using Lines = std::vector<std::string>;

FaultRow text_row(std::string name, Lines texts, Confidence confidence = Confidence::kHigh) {
  FaultRow row;
  row.name = std::move(name);
  row.texts = std::move(texts);
  row.confidence = confidence;
  return row;
}

FaultRow exception_row(std::string name, Lines exceptions, Lines texts = {}) {
  FaultRow row = text_row(std::move(name), std::move(texts));
  row.exceptions = std::move(exceptions);
  return row;
}

WorkerExited said(Lines lines, std::string message = {}) {
  WorkerExited exit = exited(0, 3, 1);
  exit.stderr_tail = std::move(lines);
  exit.error_message = std::move(message);
  return exit;
}

std::string name_of(const WorkerExited& exit, const std::vector<FaultRow>& rows) {
  return classify(exit, FaultPhase::kProgressing, rows).name;
}

TEST_CASE("a pattern is text with stars") {
  CHECK(contains_pattern("NET/IB : Got completion", "NET/IB*Got"));
  CHECK(contains_pattern("abc", "*b*"));
  CHECK(contains_pattern("aXbXc", "a*b*c"));
  CHECK_FALSE(contains_pattern("cba", "a*b*c"));
  CHECK_FALSE(contains_pattern("ab", "ab*b"));
  CHECK_FALSE(contains_pattern("", "a"));
  CHECK(contains_pattern("[1]?", "[1]?"));
}

TEST_CASE("the code of a line of the NVIDIA driver") {
  CHECK(xid_of("[3.2] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU") == 79);
  CHECK(xid_of("NVRM: Xid (PCI:0000:3b:00): 79") == 79);
  CHECK_FALSE(xid_of("NVRM: Xid (PCI:0000:3b:00)").has_value());
  CHECK_FALSE(xid_of("NVRM: Xid (PCI:0000:3b:00): x").has_value());
  CHECK_FALSE(xid_of("NVRM: Xid (PCI:0000:3b:00): 99999999999999, x").has_value());
  CHECK_FALSE(xid_of("Xid 79").has_value());
}

TEST_CASE("lines know their exception, and frames are left out") {
  const WorkerExited exit = said(
      {"before", "[rank3]: Traceback (most recent call last):", "[rank3]:   File \"t.py\", line 1",
       "[rank3]:     raise torch.Bad('x')", "[rank3]: torch.Bad: x", "[rank3]: more of it", "",
       "after"},
      "ValueError: y\n\nz");
  const auto lines = fault_lines(exit);
  Lines texts;
  Lines types;
  for (const FaultLine& line : lines) {
    texts.emplace_back(line.text);
    types.emplace_back(line.exception);
  }
  CHECK(texts == Lines{"before", "torch.Bad: x", "more of it", "after", "ValueError: y", "z"});
  CHECK(types == Lines{"", "Bad", "Bad", "", "ValueError", "ValueError"});
  CHECK_FALSE(lines[1].last_exception);
  CHECK(lines[5].last_exception);
}

TEST_CASE("the row's line is quoted with its rank and source") {
  const std::vector<FaultRow> rows = {text_row("full", {"No space"})};
  CHECK(classify(said({"No space left\t\x1b[31m"}), FaultPhase::kProgressing, rows).evidence ==
        "\"No space left\\x09\\x1b[31m\" (rank 3's stderr)");
  CHECK(classify(said({}, "OSError: No space left"), FaultPhase::kProgressing, rows).evidence ==
        "\"OSError: No space left\" (rank 3's error file)");
  WorkerStartFailed failed;
  failed.rank.value = 5;
  failed.what = "No space to write";
  CHECK(classify(failed, rows).evidence == "\"No space to write\" (rank 5, on starting it)");
  failed.what = "exec: no such file";
  CHECK(classify(failed, rows).name == "could not be started");
}

TEST_CASE("words: symptom, name, layer, confidence, evidence; and what is advised") {
  FaultRow row = text_row("uncorrectable ECC error", {"ECC"});
  row.symptom = "GPU memory error";
  row.layer = Layer::kInfrastructure;
  row.action = FirstAction::kEvict;
  row.advice = "NVIDIA: RESET_GPU";
  const Classification what = classify(said({"ECC!"}), FaultPhase::kProgressing, {row});
  CHECK(in_words(what, "") ==
        "likely: GPU memory error, uncorrectable ECC error (infrastructure, high confidence): "
        "\"ECC!\" (rank 3's stderr)");
  // The line before it has quoted the evidence.
  CHECK(in_words(what, "rank 3: ECC!, in f (a.py:1)") ==
        "likely: GPU memory error, uncorrectable ECC error (infrastructure, high confidence)");
  CHECK(advice_in_words(what) == "take the machine out; NVIDIA: RESET_GPU");
  Classification other = what;
  other.action = FirstAction::kRestart;
  CHECK(advice_in_words(other) == "NVIDIA: RESET_GPU");
  other.advice = "";
  CHECK(advice_in_words(other).empty());  // it is restarted anyway
  other.action = FirstAction::kRollBack;
  CHECK(advice_in_words(other) == "correct the code or data, or go back to what worked");
  other.symptom = kUnexplained;
  CHECK(advice_in_words(other).empty());
}

TEST_CASE("of two rows the surer one counts, then the earlier row, then the later line") {
  CHECK(name_of(said({"a b"}),
                {text_row("low", {"a"}, Confidence::kLow), text_row("high", {"b"})}) == "high");
  CHECK(name_of(said({"a b"}), {text_row("one", {"b"}), text_row("two", {"a"})}) == "one");
  CHECK(name_of(said({"a", "b"}), {text_row("one", {"a"}), text_row("two", {"b"})}) == "two");
  const auto what =
      classify(said({"a 1", "a 2", "x"}), FaultPhase::kProgressing, {text_row("one", {"a"})});
  CHECK(what.evidence == "\"a 2\" (rank 3's stderr)");
}

TEST_CASE("a sequel counts only if nothing else is known") {
  FaultRow sequel = text_row("peer lost", {"closed by peer"});
  sequel.sequel = true;
  const std::vector<FaultRow> rows = {sequel, text_row("vague", {"hm"}, Confidence::kLow)};
  CHECK(name_of(said({"closed by peer", "hm"}), rows) == "vague");
  CHECK(name_of(said({"closed by peer"}), rows) == "peer lost");
}

TEST_CASE("what ended the script counts before other lines that are as sure") {
  const std::vector<FaultRow> rows = {text_row("noise", {"retrying"}),
                                      exception_row("service", {"HTTPError"})};
  CHECK(name_of(said({"Traceback (most recent call last):", "  File \"t\"", "x.HTTPError: 503", "",
                      "retrying"}),
                rows) == "service");
}

TEST_CASE("rows with and without exceptions: whose words a message holds") {
  const std::vector<FaultRow> rows = {text_row("refused", {"refused"}),
                                      exception_row("any", {"*"}, {"licence"})};
  CHECK(name_of(said({}, "RuntimeError: refused"), rows) == "refused");
  CHECK(name_of(said({}, "ValueError: refused"), rows) == "exit after progress");
  CHECK(name_of(said({}, "ValueError: licence"), rows) == "any");
  CHECK(name_of(said({"licence"}), rows) == "exit after progress");
}

TEST_CASE("how it ended is a condition, too") {
  FaultRow oom;
  oom.name = "oom";
  oom.out_of_memory = true;
  FaultRow usage = text_row("usage", {"usage:"});
  usage.exits = {2};
  FaultRow term;
  term.name = "told to end";
  term.signals = {SIGTERM};
  const std::vector<FaultRow> rows = {oom, usage, term};
  WorkerExited exit = killed(0, 3, SIGKILL);
  CHECK(name_of(exit, rows) == "ended by a signal after progress");
  exit.oom = OomKiller::kUnknown;
  CHECK(name_of(exit, rows) == "ended by a signal after progress");
  exit.oom = OomKiller::kCgroup;
  const Classification what = classify(exit, FaultPhase::kProgressing, rows);
  CHECK(what.name == "oom");
  CHECK(what.evidence == "SIGKILL (by its cgroup's OOM killer) (rank 3)");
  CHECK(name_of(killed(0, 3, SIGTERM), rows) == "told to end");
  CHECK(name_of(exited(0, 3, SIGTERM), rows) == "exit after progress");
  exit = said({"usage: x"});
  CHECK(name_of(exit, rows) == "exit after progress");
  exit.code = 2;
  CHECK(name_of(exit, rows) == "usage");
}

TEST_CASE("without a row the exit and its time are what is known") {
  const auto of = [](const WorkerExited& exit, FaultPhase phase) {
    return classify(exit, phase, {});
  };
  const WorkerExited code = exited(0, 3, 1);
  CHECK(of(code, FaultPhase::kStarting).name ==
        "exit before the script was seen to run on every rank");
  CHECK(of(code, FaultPhase::kStarting).layer == Layer::kUserCode);
  CHECK(of(code, FaultPhase::kBeforeFirstStep).name == "exit before the first step");
  CHECK(of(code, FaultPhase::kBeforeFirstStep).action == FirstAction::kRollBack);
  CHECK(of(code, FaultPhase::kProgressing).name == "exit after progress");
  CHECK(of(code, FaultPhase::kProgressing).layer == Layer::kUnclear);
  CHECK(of(code, FaultPhase::kProgressing).evidence == "exit code 1 (rank 3)");
  const Classification crash = of(killed(0, 3, SIGSEGV), FaultPhase::kBeforeFirstStep);
  CHECK(crash.name == "crash of native code before the first step");
  CHECK(crash.action == FirstAction::kCheck);
  const Classification signal = of(killed(0, 3, SIGKILL), FaultPhase::kProgressing);
  CHECK(signal.name == "ended by a signal after progress");
  CHECK(signal.layer == Layer::kInfrastructure);
  CHECK(signal.confidence == Confidence::kLow);
  WorkerExited lost = killed(0, 3, SIGKILL);
  lost.shim_lost = true;
  CHECK(of(lost, FaultPhase::kProgressing).name == "its shim was killed");
}

TEST_CASE("what robustrun found itself") {
  FaultRow row;
  row.name = "a rank is missing";
  row.found = {"hang"};
  CHECK(classify_finding("hang", "\"so\"", {row}).name == "a rank is missing");
  CHECK(classify_finding("hang", "\"so\"", {row}).evidence == "\"so\"");
  CHECK(classify_finding("slow", "\"so\"", {row}).name == "slow");
  CHECK(name_of(said({"hang"}), {row}) == "exit after progress");
}

TEST_CASE("only the end of much is looked at, and little is quoted") {
  const std::vector<FaultRow> rows = {text_row("sign", {"sign"}), text_row("late", {"late"})};
  Lines many(1000, std::string(1000, 'x'));
  many.front() = "sign";
  CHECK(name_of(said(many), rows) == "exit after progress");
  many.back() = "sign";
  CHECK(name_of(said(many), rows) == "sign");
  CHECK(name_of(said({std::string(kFaultLineBytesMax, 'x') + "late"}), rows) ==
        "exit after progress");
  const Classification what =
      classify(said({"sign" + std::string(100'000, 'y')}), FaultPhase::kProgressing, rows);
  CHECK(what.evidence.size() < kFaultQuoteBytesMax + 40);
  CHECK(what.evidence.find(" ...\" (rank 3's stderr)") != std::string::npos);
  Lines short_ones(10'000, "x");
  short_ones.front() = "sign";
  CHECK(fault_lines(said(short_ones)).size() == kFaultLinesMax);
  std::string lines_of_message;
  for (int i = 0; i < 10'000; ++i) lines_of_message += "x\n";
  CHECK(fault_lines(said({}, lines_of_message)).size() == kFaultLinesMax);
  CHECK(name_of(said({}, std::string(10'000'000, '\n') + "sign"), rows) == "exit after progress");
}

TEST_CASE("hostile lines are only lines") {
  FaultRow row = text_row("stars", {"a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b"});
  row.xids.clear();
  CHECK(name_of(said({std::string(kFaultLineBytesMax, 'a')}), {row}) == "exit after progress");
  CHECK(name_of(said({"[rank", "[rank]: x", "[rank1", "[rank1]:", std::string("\0\xff", 2), ":",
                      "Traceback (most recent call last):"},
                     ":"),
                {row}) == "exit after progress");
}

}  // namespace
}  // namespace robustrun::supervisor::fault_class_test
