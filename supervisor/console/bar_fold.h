#pragma once
// Progress bars of several ranks, as one.
//
// tqdm and similar programs redraw a line: '\r', the new state, no '\n' before the end. With line
// prefixes and many ranks, each state would become a line. A BarFold takes such lines out of the
// output: the lowest rank's bar is shown at the bottom of the terminal (live_area.h), and its last
// state becomes a line. Bars of other ranks with the same label are only in their log files.
//
// Inner bars are not shown; tqdm draws them one line below, with "\n" and "\x1b[A". A display of
// rich (frame_fold.h) is also a bar: its first line is shown, and all of its lines when it has
// ended. Pure; owned by the console.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/core/ids.h"
#include "supervisor/console/frame_fold.h"
#include "wire/messages/messages.h"

namespace robustrun::supervisor {

struct ProgressBar {
  base::Rank rank;
  std::string text;  // without escape sequences and control characters
  std::size_t others = 0;  // number of bars of other ranks
};

class BarFold {
 public:
  // Takes the bytes of bars out of `output` and returns the rest. If a bar ends in `output`, its
  // last state is part of the rest, as a line.
  [[nodiscard]] std::string take(const wire::Output& output);
  // The bar of the lowest rank that has one; nullopt: no rank has a bar.
  [[nodiscard]] std::optional<ProgressBar> bar() const;
  // Ends each bar that a '\n' follows and whose stream has been quiet since the previous call.
  // Returns the last lines of those bars that are shown, and the ordinary lines above each display
  // that has been quiet (FrameFold::release_printed). To be called at intervals.
  [[nodiscard]] std::vector<wire::Output> end_quiet();
  // Ends all bars, and returns the last lines of those that are shown.
  [[nodiscard]] std::vector<wire::Output> end();

 private:
  struct Stream {
    wire::Output source;  // without bytes
    bool is_bar = false;
    bool returned = false;  // the line at the cursor began with '\r'
    bool is_quiet = false;  // since the last call of end_quiet()
    bool drawn = false;  // a state was drawn at this depth
    std::size_t depth = 0;  // lines below the bar, by '\n' and without "\x1b[A"
    std::string line;  // at the cursor
    std::string text;  // the bar's last state
    std::string label;  // of the last bar that ended
    std::optional<FrameFold> frames;  // the bar is a display of this kind
  };
  using Key = std::pair<std::uint32_t, bool>;  // rank, whether it is stderr

  void take_bar(const Key& key, Stream& stream, std::string_view& bytes, std::string& rest);
  void take_newline(const Key& key, Stream& stream, std::string& rest);
  void take_frames(const Key& key, Stream& stream, std::string_view& bytes, std::string& rest);
  // The display's lines, empty if a lower rank shows the same display.
  std::string end_frames(const Key& key, Stream& stream);
  [[nodiscard]] wire::Output close(const Key& key, Stream& stream);
  // The bar's last line, empty if a lower rank shows the same bar.
  std::string end_bar(const Key& key, Stream& stream);
  static void redraw(Stream& stream);
  [[nodiscard]] static const std::string& newest(const Stream& stream);

  std::map<Key, Stream> streams_;  // those that have had a bar
  // The incomplete escape sequence at the end of a stream's bytes so far.
  std::map<Key, std::string> held_;
};

}  // namespace robustrun::supervisor
