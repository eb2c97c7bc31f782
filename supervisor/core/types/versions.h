#pragma once
// What a run was started with, and what it was told to use instead since (`robustrun update`):
// numbered versions, as plain data, and which of them the next attempt gets. Pure.
//
// Version 0 is the run as it was started. The core knows of a version what it changes in words and
// a digest; what it holds (code, environment, arguments) is the shell's, in the run directory.
// Updates take effect at a restart, on request or by themselves (ByteRobust, arXiv 2509.16293,
// section 6.1: changes are merged into the recovery from the next failure).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"

namespace robustrun::supervisor {

// `robustrun update`: a new version has the next number; an older number goes back to that one.
struct UpdateRequested {
  std::uint32_t version = 0;
  std::vector<std::string> changes;  // in words, against the version before; secrets hidden
  std::string digest;                // of all that the version holds
  bool now = false;                  // the workers are started again for it
  base::Nanos within{};              // else: at the latest after so long; 0: no limit
  template <class V>
  void fields(V& v) {
    v(1, "version", version);
    v(2, "changes", changes);
    v(3, "digest", digest);
    v(4, "now", now);
    v(5, "within", within);
  }
};

struct Version {
  enum class State : std::uint8_t {
    kPending,     // no attempt had it yet
    kReplaced,    // and none will: another one was asked for before
    kApplied,     // an attempt had it, and has not made progress yet
    kProven,      // it has
    kRolledBack,  // it is not used any more, and `why` says why
  };
  State state = State::kPending;
  base::Nanos asked_at{};                 // supervisor's clock
  std::vector<std::string> changes;
  std::string digest;
  std::optional<base::Attempt> attempt;   // the first that had it
  bool failed = false;                    // workers failed with it before first progress
  std::string why;
  template <class V>
  void fields(V& v) {
    v(1, "state", state);
    v(2, "asked_at", asked_at);
    v(3, "changes", changes);
    v(4, "digest", digest);
    v(5, "attempt", attempt);
    v(6, "failed", failed);
    v(7, "why", why);
  }
};

const char* to_string(Version::State state);

struct Versions {
  std::vector<Version> all;     // by number; at most kVersionsMax
  std::uint32_t present = 0;    // of the attempt that runs, or ran last
  std::uint32_t next = 0;       // of the next one
  bool now = false;             // `next` was asked for at once
  std::optional<base::Nanos> due;  // `next` is used by then

  [[nodiscard]] bool is_changing() const { return next != present; }
  // What the run could go back to from the present version: the newest older one that has made
  // progress; when there is none, the newest that was not seen to fail. With `proven_only` the
  // former alone.
  [[nodiscard]] std::optional<std::uint32_t> older(bool proven_only) const;
  // False when it asks for what is so already, or makes no sense.
  bool take(const UpdateRequested& asked, base::Nanos at);
  // An attempt begins. True when it has another version than the one before.
  bool use_next(base::Attempt attempt);
  void go_back(std::uint32_t target, std::string why);
  // "version 2 (env LR=0.1; unset DEBUG)"
  [[nodiscard]] std::string name(std::uint32_t number) const;

  template <class V>
  void fields(V& v) {
    v(1, "all", all);
    v(2, "present", present);
    v(3, "next", next);
    v(4, "now", now);
    v(5, "due", due);
  }
};

}  // namespace robustrun::supervisor
