#pragma once
// Parses pip's requirements files as far as a snapshot needs it: which other files they name, and
// whether they fix one version of everything. Pure.
//
// Syntax: pip's "Requirements File Format". A backslash at the end of a line continues the line. A
// comment starts at the beginning of the line or after a blank. Each line is one option or one
// requirement (PEP 508).

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
    kPath,  // a local folder, wheel or source archive
    kFindLinks,  // -f FOLDER
    kOther,  // a requirement or option that reads no local file
  };
  Kind kind = Kind::kOther;
  std::string path{};  // unless kOther: as written, without file://, extras and markers
  std::string rest{};  // for kEditable and kPath: extras and markers after the path
  std::string text{};  // the whole line, continuations joined, without its comment
  // Whether the line always gives the same package. A path does, because its content is hashed.
  bool pinned = true;
};

// Does not access paths and URLs. kLimit: more than kDepsFileBytesMax or kDepsLinesMax. kCorrupt: a
// NUL byte, or an option without a value, with the line's number.
[[nodiscard]] base::Result<std::vector<RequirementLine>> parse_requirements(std::string_view text);

}  // namespace robustrun::bootstrap
