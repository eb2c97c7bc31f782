#pragma once
// What a requirements file of pip asks for, as far as a snapshot must know: which other files are
// read for it, and whether it names one version of everything. Pure.
//
// Syntax: pip's "Requirements File Format": lines that end with a backslash go on, a comment begins
// at the line's start or behind a blank, and each line is one option or one requirement (PEP 508).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace robustrun::bootstrap {

struct RequirementLine {
  enum class Kind : std::uint8_t {
    kInclude,  // -r FILE
    kConstraint,  // -c FILE
    kEditable,  // -e PATH
    kPath,  // a folder, a wheel or a source archive of this machine
    kFindLinks,  // -f FOLDER
    kOther,  // a requirement or an option that reads nothing here
  };
  Kind kind = Kind::kOther;
  std::string path{};  // but for kOther: as written, without file://, extras and markers
  std::string rest{};  // of kEditable and kPath: extras and markers behind it
  std::string text{};  // the whole line, joined, without its comment
  bool pinned = true;  // it always asks for the same; a path's content is hashed
};

// Paths and URLs are not looked at. Errors: kLimit (kDepsFileBytesMax, kDepsLinesMax), kCorrupt (a
// NUL in it, an option without its value), with the number of the line.
[[nodiscard]] base::Result<std::vector<RequirementLine>> parse_requirements(std::string_view text);

}  // namespace robustrun::bootstrap
