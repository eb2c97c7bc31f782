#pragma once
// A display that is drawn again and again over itself, as rich does (rich.live, rich.progress).
//
// A display begins when the cursor is hidden (kHideCursor) and ends when the cursor is shown again.
// A frame consists of the lines that were printed since the previous frame, and then the display's
// own lines, the last one without '\n'. The next frame returns to the display's first line: '\r',
// and "\x1b[1A" for each line above the last one. So only the beginning of the next frame tells how
// many lines of a frame were the display; the lines above these are ordinary output.
//
// Pure; owned by BarFold, one for each display. Holds at most kFrameBytesMax bytes of a frame.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace robustrun::supervisor {

inline constexpr std::string_view kHideCursor = "\x1b[?25l";
inline constexpr std::string_view kShowCursor = "\x1b[?25h";

class FrameFold {
 public:
  // Takes the display's bytes from the front of `bytes`, behind kHideCursor, and appends ordinary
  // lines to `rest`. Returns true once the display has ended.
  bool take(std::string_view& bytes, std::string& rest);
  // To be called at intervals. If no bytes came during the last few calls, appends the lines that
  // are likely above the display, as the next frame may not come for long.
  void release_printed(std::string& rest);
  // Ends the display and appends the lines above it. A display that was drawn only once counts as
  // ordinary lines, and all of them are appended.
  void end(std::string& rest);
  // The display's lines as last drawn, with escape sequences.
  [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }

 private:
  // Whether `escape_` showed the cursor.
  bool take_escape(std::string& rest);
  void take_text(char c, std::string& rest);
  void settle(std::string& rest);
  void bound(std::string& rest);

  std::string frame_;  // since the last return to the display's first line
  std::string escape_;  // a sequence that is not complete
  bool has_returned_ = false;  // to the line's beginning; perhaps also up
  std::size_t ups_ = 0;  // lines gone up since '\r'
  std::optional<std::size_t> height_;  // lines of the display; none: it was drawn only once
  std::vector<std::string> lines_;
  unsigned looks_ = 0;  // calls of release_printed() since the last bytes
};

}  // namespace robustrun::supervisor
