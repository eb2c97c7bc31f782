#pragma once
// --duplicate-stdout-filters: picks the lines of a stream that contain one of several substrings.
//
// Pure. Lines end at '\n'. A line longer than kLineBytesMax is judged in pieces of that length; an
// incomplete last line gets an end.

#include <string>
#include <string_view>
#include <vector>

namespace robustrun::agent {

class LineFilter {
 public:
  // `prefix` is put before each line that matches.
  LineFilter(std::vector<std::string> needles, std::string prefix);
  // Appends to `out` the matching lines that `bytes` complete.
  void feed(std::string_view bytes, std::string& out);
  // The stream has ended.
  void finish(std::string& out);

 private:
  void judge(std::string_view line, std::string& out) const;

  std::vector<std::string> needles_;
  std::string prefix_;
  std::string rest_;  // an incomplete line
};

}  // namespace robustrun::agent
