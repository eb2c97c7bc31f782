#pragma once
// Lines that stay at the bottom of a terminal while other output scrolls above them.
//
// They are outside of the terminal's scrolling region (DECSTBM, DEC STD 070), so other processes
// and threads may write to the terminal without knowing of them. Makes bytes, and writes nothing
// itself. Pure; owned by the console.

#include <string>
#include <vector>

namespace robustrun::supervisor {

struct TerminalSize {
  unsigned rows = 0;
  unsigned columns = 0;
  friend bool operator==(const TerminalSize&, const TerminalSize&) = default;
};

class LiveArea {
 public:
  // The bytes that show `lines` at the bottom of a terminal of `size`; empty if they are shown
  // already. A line is cut to the terminal's width less one, in code points. A terminal of fewer
  // than kLiveRowsMin rows gets no lines.
  [[nodiscard]] std::string draw(TerminalSize size, std::vector<std::string> lines);
  // The bytes that remove the lines. The cursor stays behind the last output.
  [[nodiscard]] std::string release();

 private:
  TerminalSize size_;
  std::vector<std::string> lines_;  // as drawn
};

}  // namespace robustrun::supervisor
