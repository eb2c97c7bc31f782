#pragma once
// The files in tests/fixtures/topology, and checks that the order of their lines does not matter.

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "base/core/text.h"
#include "tests/paths.h"
#include "tests/topo/shown.h"

namespace robustrun::topo {

inline std::string fixture(const std::string& name) {
  std::ifstream file(in_source("tests/fixtures/topology/") + name);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  REQUIRE_MESSAGE(!text.empty(), name);
  return text;
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (const std::string_view line : base::split(text, '\n')) lines.emplace_back(line);
  return lines;
}

// The first `first` lines stay in place.
inline void check_shuffled(const std::string& text,
                           const std::function<Cluster(const std::string&)>& read,
                           std::ptrdiff_t first = 0) {
  constexpr unsigned kSeed = 20260821;
  std::mt19937 random(kSeed);
  const auto wanted = facts(read(text));
  auto lines = lines_of(text);
  for (int round = 0; round < 20; ++round) {
    std::shuffle(lines.begin() + first, lines.end(), random);
    const std::string shuffled = base::join(lines, "\n");
    CAPTURE(kSeed);
    CAPTURE(shuffled);
    CHECK(facts(read(shuffled)) == wanted);
  }
}

}  // namespace robustrun::topo
