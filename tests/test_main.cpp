#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "tests/paths.h"

namespace robustrun {
namespace {

std::string below(const char* folder, std::string_view name) {
  return std::string(folder) + "/" + std::string(name);
}

}  // namespace

std::string in_source(std::string_view name) { return below(RR_SOURCE_DIR, name); }
std::string built_program(std::string_view name) { return below(RR_BIN_DIR, name); }
std::string test_helper(std::string_view name) { return below(RR_TEST_HELPERS, name); }

}  // namespace robustrun
