#pragma once
// --duplicate-stdout-filters: picks the lines of a stream that hold one of some substrings.
//
// Pure. Lines end at '\n'; one longer than kLineBytesMax is judged in pieces of that length, and a
// last line without an end gets one.

#include <string>
#include <string_view>
#include <vector>

namespace robustrun::agent {

class LineFilter {
 public:
  // `prefix` is put before each line that matches.
  LineFilter(std::vector<std::string> needles, std::string prefix);
  // Appends the lines that `bytes` complete, and that match, to `out`.
  void feed(std::string_view bytes, std::string& out);
  // The stream has ended.
  void finish(std::string& out);

 private:
  void judge(std::string_view line, std::string& out) const;

  std::vector<std::string> needles_;
  std::string prefix_;
  std::string rest_;  // of a line whose end has not come yet
};

}  // namespace robustrun::agent
