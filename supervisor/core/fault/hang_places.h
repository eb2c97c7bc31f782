#pragma once
// Places of the script at which hangs have ended attempts: a hang that returns at the same place
// counts as the script's. Pure.
//
// A place is a line, "train.py:87", or the lines of several ranks, "train.py:30, train.py:41". A
// rank that polls is seen in any line of its loop, so lines at most kHangLinesApart apart count as
// one. A place is forgotten when a hang there resolves itself, and after --restart-window of
// progress. All places are forgotten when an attempt begins with another version of the run.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"

namespace robustrun::supervisor {

// Whether each line of either place has a near line in the other place.
[[nodiscard]] bool is_same_place(std::string_view one, std::string_view other);

class HangPlaces {
 public:
  // Counts a hang at `place` (not empty) that ends an attempt; returns how many there were,
  // including this one.
  std::uint32_t note(const std::string& place);
  void forget(const std::string& place);
  void forget_all() { places_.clear(); }
  // `amount`: time of progress since the last call. After `window` of it a place is forgotten.
  void note_progress(base::Nanos amount, base::Nanos window);

  template <class V>
  void fields(V& v) {
    v(1, "places", places_);
  }

 private:
  struct Place {
    std::string line;
    std::uint32_t hangs = 0;
    base::Nanos progress{};  // since the last hang there
    template <class V>
    void fields(V& v) {
      v(1, "line", line);
      v(2, "hangs", hangs);
      v(3, "progress", progress);
    }
  };
  std::vector<Place> places_;  // in the order of their latest hangs, at most kHangPlacesMax
};

}  // namespace robustrun::supervisor
