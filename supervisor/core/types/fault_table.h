#pragma once
// The table of faults, and the classification of one failure: plain data. The rows come from
// configs/faults.toml and a site's own file (cli/tables/fault_file.h reads both). They travel in
// the JobSpec and so stand in the journal: a replay classifies as the run did, whatever is
// installed by then. fault_class.h compares failures with the rows.
//
// The symptoms are those of Table 1 of ByteRobust (arXiv 2509.16293), and further ones.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace robustrun::supervisor {

// Numbers stand in journals: never reused, only appended to.
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

// A row fits when all conditions that it states hold: any one of exits, signals, out_of_memory and
// found; and, if it states exceptions, texts or xids, one line that satisfies all of these.
struct FaultRow {
  std::string name;  // "fallen off the bus (Xid 79)"; unique
  std::string symptom;  // class of the fault: "GPU unavailable"
  std::vector<std::string> exceptions;  // types without their modules: "OutOfMemoryError"; "*": any
  std::vector<std::string> texts;  // the line contains one; '*' stands for any bytes
  std::vector<std::uint32_t> xids;  // the line is the NVIDIA driver's, about one of these Xids
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

// "GPU unavailable, fallen off the bus (Xid 79) (infrastructure, high confidence)"; of a failure
// that no row fits "unknown: ended by a signal after progress".
std::string class_in_words(const Classification& what);
// The same with its evidence: "…: "Xid 79" (rank 3's stderr)"
std::string cause_in_words(const Classification& what);
// A line for the log, "likely: GPU unavailable, fallen off the bus …", without evidence that
// `shown` quotes already. Empty for a failure that no row fits.
std::string in_words(const Classification& what, std::string_view shown);
// "take the machine out; NVIDIA: RESTART_BM"; empty where a restart is all there is to do.
std::string advice_in_words(const Classification& what);

}  // namespace robustrun::supervisor
