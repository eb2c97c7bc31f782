#pragma once
// On what the time of a run was spent, and its effective training time ratio (ETTR): productive
// time over wall time, for the whole run and in windows of an hour (ByteRobust, arXiv 2509.16293,
// section 2). Pure.

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
  kStalled,      // a hang that ended by itself, or has no known end
  kDetecting,    // from a failure until it was noticed
  kLocalizing,   // from that moment until the decision about it
  kRestarting,   // from the decision until the first step of the next attempt
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
  std::optional<double> ettr;  // 0 to 1; nullopt: no step is known, or the run took no time
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

// Accepts any journal, even an incomplete or inconsistent one. Steps done twice are known only if
// steps have numbers (Progress::step). Without any steps it is unknown how much of the script's
// time was training: all of it counts as kRunning, and there is no ratio.
[[nodiscard]] TimeReport account_time(const Facts& facts, const std::vector<JournalEntry>& entries);

// When an attempt began to train, and when its first trouble began, was noticed and was answered;
// times of the supervisor's clock.
struct AttemptMoments {
  std::optional<base::Nanos> work;  // its first step; in runs without steps, its script's start
  std::optional<base::Nanos> began;  // something went wrong
  std::optional<base::Nanos> known;  // it was noticed
  std::optional<base::Nanos> acted;  // a decision answered it
};

// By attempt, for all attempts that the journal knows.
[[nodiscard]] std::map<std::uint32_t, AttemptMoments> attempt_moments(
    const Facts& facts, const std::vector<JournalEntry>& entries);

// "97.3 % productive; restarting 12.1 s, recomputing 3.40 s". Parts with a share below `least` are
// left out.
[[nodiscard]] std::string time_words(const TimeReport& report, double least = 0);

}  // namespace robustrun::supervisor
