#pragma once
// --duplicate-stdout-filters: picks the lines of a stream that contain one of several substrings.
//
// Pure. Lines end at '\n'. Each piece of kLineBytesMax of a longer line counts as a line.

#include <string>
#include <string_view>
#include <vector>

namespace robustrun::agent {

class LineFilter {
 public:
  // A line matches if it contains one of `needles`; `prefix` is put before it.
  LineFilter(std::vector<std::string> needles, std::string prefix);
  // Appends to `out` the matching lines that `bytes` complete.
  void feed(std::string_view bytes, std::string& out);
  // The stream has ended. Appends the incomplete last line, with a line end, if it matches.
  void finish(std::string& out);

 private:
  void judge(std::string_view line, std::string& out) const;

  std::vector<std::string> needles_;
  std::string prefix_;
  std::string rest_;  // an incomplete line
};

}  // namespace robustrun::agent
