#pragma once
// Where tests find what they need. Functions rather than macros: objects of every other file are
// the same in each clone, so that a compiler cache serves all of them.

#include <string>
#include <string_view>

namespace robustrun {

// `name` below the source tree, for example "docs/cli.md".
std::string in_source(std::string_view name);
// A program of this build, for example "robustrun-shim".
std::string built_program(std::string_view name);
// A program that was built for tests alone (tests/helpers/).
std::string test_helper(std::string_view name);

}  // namespace robustrun
