#pragma once
// Where the time of a run went, and its effective training time ratio: productive time over wall
// time (ETTR, ByteRobust, arXiv 2509.16293, section 2: over the whole run, and in windows of an
// hour). Pure.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"

namespace robustrun::supervisor {

struct Facts;
struct JournalEntry;

enum class Spent : std::uint8_t {
  kStarting,     // until the first training step
  kProductive,   // training that did not have to be done again
  kStalled,      // ranks waited for a rank that came by itself, or until the run ended
  kDetecting,    // something had failed, unnoticed
  kLocalizing,   // the failure was known, its answer not yet decided
  kRestarting,   // until the next first step
  kRecomputing,  // steps that had been done before the failure
  kEnding,       // after the last decision of a run that did not succeed
  kRunning,      // the script's own code, in a run without known steps
};
inline constexpr std::uint8_t kSpentKinds = 9;
// "starting", "productive", …
[[nodiscard]] std::string_view to_string(Spent spent);

// Times since the run's start.
struct Stretch {
  Spent spent = Spent::kStarting;
  base::Nanos from{};
  base::Nanos to{};
  template <class V>
  void fields(V& v) {
    v(1, "spent", spent);
    v(2, "from", from);
    v(3, "to", to);
  }
};

struct TimeShare {
  Spent spent = Spent::kStarting;
  base::Nanos duration{};
  template <class V>
  void fields(V& v) {
    v(1, "spent", spent);
    v(2, "duration", duration);
  }
};

struct TimeReport {
  std::optional<double> ettr;  // 0 to 1; none: no step is known, or the run took no time
  std::optional<double> ettr_last_hour;  // only of runs of an hour or more
  std::optional<double> ettr_worst_hour;
  std::vector<TimeShare> shares;  // those above 0; their sum is exactly the run's duration
  std::vector<Stretch> timeline;  // in order, without gaps
  template <class V>
  void fields(V& v) {
    v(1, "ettr", ettr);
    v(2, "ettr_last_hour", ettr_last_hour);
    v(3, "ettr_worst_hour", ettr_worst_hour);
    v(4, "shares", shares);
    v(5, "timeline", timeline);
  }
};

// Accepts any journal, complete and consistent or not. Steps done twice are known only where steps
// have numbers (Progress::step). Without any steps it is unknown how much of the script's time was
// training: it counts as kRunning, and there is no ratio.
[[nodiscard]] TimeReport account_time(const Facts& facts, const std::vector<JournalEntry>& entries);

// When an attempt began to train, and what ended that; times of the supervisor's clock.
struct AttemptMoments {
  std::optional<base::Nanos> work;  // its first step; of scripts without steps, their own code
  std::optional<base::Nanos> began;  // something went wrong
  std::optional<base::Nanos> known;  // that was noticed
  std::optional<base::Nanos> acted;  // and answered by a decision
};

// By attempt, for all attempts that the journal knows.
[[nodiscard]] std::map<std::uint32_t, AttemptMoments> attempt_moments(
    const Facts& facts, const std::vector<JournalEntry>& entries);

// "97.3 % productive; restarting 12.1 s, recomputing 3.40 s", without parts below the share
// `least`.
[[nodiscard]] std::string time_words(const TimeReport& report, double least = 0);

}  // namespace robustrun::supervisor
