#pragma once
// Lines of the script at which hangs have ended attempts: a hang that returns at the same line is
// the script's. Pure.
//
// A line is forgotten when a hang there resolves itself, and after an hour of progress; all lines
// are forgotten with another version of the script.

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/clock.h"

namespace robustrun::supervisor {

class HangPlaces {
 public:
  // Counts a hang at `line` that ends an attempt; returns how many there were.
  std::uint32_t note(const std::string& line);
  void forget(const std::string& line);
  void forget_all() { places_.clear(); }
  // `amount`: time in which steps were done; after `window` of it a line is forgotten.
  void note_progress(base::Nanos amount, base::Nanos window);

  template <class V>
  void fields(V& v) {
    v(1, "places", places_);
  }

 private:
  struct Place {
    std::string line;
    std::uint32_t hangs = 0;
    base::Nanos progress{};  // since the last of them
    template <class V>
    void fields(V& v) {
      v(1, "line", line);
      v(2, "hangs", hangs);
      v(3, "progress", progress);
    }
  };
  std::vector<Place> places_;  // the newest last, at most kHangPlacesMax
};

}  // namespace robustrun::supervisor
