#pragma once
// Lines of the script at which hangs have ended attempts: a hang that comes back at the same one is
// the script's. Pure.
//
// One that passes there by itself, and an hour's worth of progress, wipe a line's record; another
// version of the script wipes all of them.

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/clock.h"

namespace robustrun::supervisor {

class HangPlaces {
 public:
  // How many hangs have ended an attempt at `line`, with this one.
  std::uint32_t note(const std::string& line);
  void forget(const std::string& line);
  void forget_all() { places_.clear(); }
  // `amount` of time in which steps were done; after `window` of it a line is forgotten.
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
