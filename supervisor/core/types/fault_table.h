#pragma once
// The table of faults, and the classification of one failure: plain data. The rows come from
// configs/faults.toml and a site's own file (cli/tables/fault_file.h reads both). They travel in
// the JobSpec and so are in the journal: a replay of the journal classifies as the run did, even if
// the files have changed since. fault_class.h compares failures with the rows.
//
// The symptoms are those of Table 1 of ByteRobust (arXiv 2509.16293), and others.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace robustrun::supervisor {

// Journals contain the numbers: new values are appended, and no number is used again.
enum class Layer : std::uint8_t { kUnclear, kInfrastructure, kUserCode, kData, kExternalService };
enum class Confidence : std::uint8_t { kLow, kMedium, kHigh };
// What is done first: a ladder of the policy (policy.h).
enum class FirstAction : std::uint8_t {
  kRestart,
  kEvict,
  kRollBack,
  kCheck,
  kTolerate,
  kGiveUp,
  kReplay,
};

// "infrastructure", "high", "roll back"; for values of a newer version "unclear", "low", "restart".
const char* to_string(Layer layer);
const char* to_string(Confidence confidence);
const char* to_string(FirstAction action);

// A row with `found` is for robustrun's own findings alone. Any other row fits a failure when the
// conditions that it states hold: one of exits, signals and out_of_memory; and one line that
// satisfies exceptions, texts and xids together. Only rows with `exceptions` fit a line of a
// programming error (fault_lines.h).
struct FaultRow {
  std::string name;  // "fallen off the bus (Xid 79)"; unique
  std::string symptom;  // class of the fault: "GPU unavailable"
  std::vector<std::string> exceptions;  // types without their modules: "OutOfMemoryError"; "*": any
  std::vector<std::string> texts;  // the line contains one of them; '*' stands for any bytes
  std::vector<std::uint32_t> xids;  // the line is the NVIDIA driver's, with one of these codes
  std::vector<std::int32_t> exits;  // codes
  std::vector<std::int32_t> signals;
  bool out_of_memory = false;  // killed by an OOM killer
  std::vector<std::string> found;  // robustrun's own findings: "hang", "slow"
  Layer layer = Layer::kUnclear;
  Confidence confidence = Confidence::kLow;
  FirstAction action = FirstAction::kRestart;
  bool sequel = false;  // mostly a consequence of another rank's failure
  std::string advice;  // for people: "NVIDIA: RESTART_BM"
  template <class V>
  void fields(V& v) {
    v(1, "name", name);
    v(2, "symptom", symptom);
    v(3, "exceptions", exceptions);
    v(4, "texts", texts);
    v(5, "xids", xids);
    v(6, "exits", exits);
    v(7, "signals", signals);
    v(8, "out_of_memory", out_of_memory);
    v(9, "found", found);
    v(10, "layer", layer);
    v(11, "confidence", confidence);
    v(12, "action", action);
    v(13, "sequel", sequel);
    v(14, "advice", advice);
  }
};

// Classification of a failure. Journaled with the decision that it explains.
struct Classification {
  std::string name;  // the row's; without a fitting row: how and when the worker ended
  std::string symptom;
  Layer layer = Layer::kUnclear;
  Confidence confidence = Confidence::kLow;
  FirstAction action = FirstAction::kRestart;
  bool sequel = false;
  std::string evidence;  // "\"OSError: …\" (rank 3's stderr)"
  std::string advice;
  template <class V>
  void fields(V& v) {
    v(1, "name", name);
    v(2, "symptom", symptom);
    v(3, "layer", layer);
    v(4, "confidence", confidence);
    v(5, "action", action);
    v(6, "sequel", sequel);
    v(7, "evidence", evidence);
    v(8, "advice", advice);
  }
  bool operator==(const Classification&) const = default;
};

// The symptom of a failure that no row fits.
inline constexpr std::string_view kUnexplained = "unexplained";

// "GPU unavailable, fallen off the bus (Xid 79) (infrastructure, high confidence)". For a failure
// that no row fits: "unknown: ended by a signal after progress".
std::string class_in_words(const Classification& what);
// class_in_words() with the evidence: "…: "Xid 79" (rank 3's stderr)".
std::string cause_in_words(const Classification& what);
// A line for the log: "likely: GPU unavailable, fallen off the bus …". Leaves out evidence that the
// text `shown` quotes already. Empty for a failure that no row fits.
std::string in_words(const Classification& what, std::string_view shown);
// "take the machine out; NVIDIA: RESTART_BM". Empty if a restart is all that can be done.
std::string advice_in_words(const Classification& what);

}  // namespace robustrun::supervisor
