// Messages about what goes from node to node: copies of states, and blocks.
#include "tests/wire/examples.h"

#include <doctest/doctest.h>

using namespace robustrun::wire;
using robustrun::base::Generation;
using robustrun::base::NodeId;
using robustrun::base::Rank;

std::vector<robustrun::test::Example> robustrun::test::example_copy_messages() {
  const CopyRoute route{Rank{9}, NodeId{3}, Generation{2}, "10.0.0.3:40123"};
  return {
      {"PlaceCopies", "PlaceCopies-2",
       PlaceCopies{{2}, {route, route}, {route}, {route}, 100 << 20}},
      {"SaveHeldCopies", "SaveHeldCopies",
       SaveHeldCopies{.attempt = {2}, .order = 4, .ranks = {Rank{8}, Rank{9}}}},
      {"HeldCopiesSaved", "HeldCopiesSaved",
       HeldCopiesSaved{.attempt = {2}, .order = 4, .saved = 2, .errors = {"cannot write"}}},
      {"CopiesKept", "CopiesKept-2",
       CopiesKept{{2}, {{Rank{8}, true, true, 1004, RoundPart{RoundPart::Stage::kKept, 7, 1002}}}}},
      {"CopyRound", "CopyRound", CopyRound{{2}, 7, 1002, 6}},
      {"BlockPeers", "BlockPeers",
       BlockPeers{{{NodeId{0}, Generation{1}, "10.0.0.1:40101"},
                   {NodeId{3}, Generation{2}, "10.0.0.3:40123"}},
                  100 << 20}},
  };
}
