// Messages about standbys, about what goes from node to node (copies of states, blocks, code), and
// about starts.
#include "tests/wire/examples.h"

#include <doctest/doctest.h>

#include <chrono>

using namespace robustrun::wire;
using namespace std::chrono_literals;
using robustrun::base::Generation;
using robustrun::base::LocalRank;
using robustrun::base::NodeId;
using robustrun::base::Rank;

std::vector<robustrun::test::Example> robustrun::test::example_standby_messages() {
  return {
      {"StandbyModules", "StandbyModules-2",
       StandbyModules{.attempt = {2},
                      .list = "robustrun-modules 1\nmodule json\n",
                      .is_of_earlier_run = true}},
      {"KeepStandbys", "KeepStandbys-3",
       KeepStandbys{.like = {.attempt = {2},
                             .slots = {{Rank{8}, LocalRank{0}, 0, StreamRoute::kFileAndConsole,
                                        StreamRoute::kFileAndConsole}},
                             .group_rank = 1,
                             .master_addr = ""},
                    .list = "robustrun-modules 1\nmodule json\n"}},
  };
}

std::vector<robustrun::test::Example> robustrun::test::example_copy_messages() {
  const CopyRoute route{Rank{9}, NodeId{3}, Generation{2}, "10.0.0.3:40123"};
  return {
      {"PlaceCopies", "PlaceCopies-2",
       PlaceCopies{{2}, {route, route}, {route}, {route}, 100 << 20}},
      {"SaveHeldCopies", "SaveHeldCopies",
       SaveHeldCopies{.attempt = {2}, .order = 4, .ranks = {Rank{8}, Rank{9}}}},
      {"HeldCopiesSaved", "HeldCopiesSaved-2",
       HeldCopiesSaved{
           .made_in = {2}, .order = 4, .saved = 2, .errors = {"cannot write"}, .saving = true}},
      {"CopiesKept", "CopiesKept-2",
       CopiesKept{{2}, {{Rank{8}, true, true, 1004, RoundPart{RoundPart::Stage::kKept, 7, 1002}}}}},
      {"CopyRound", "CopyRound", CopyRound{{2}, 7, 1002, 6}},
      {"BlockPeers", "BlockPeers",
       BlockPeers{{{NodeId{0}, Generation{1}, "10.0.0.1:40101"},
                   {NodeId{3}, Generation{2}, "10.0.0.3:40123"}},
                  100 << 20}},
      {"NodeStages", "NodeStages",
       NodeStages{{2},
                  {{StageName::kImage, 5s, 7s, 2s, {}},
                   {StageName::kImports, 7s, 0ns, 3s, LocalRank{1}}}}},
      {"CodeWanted", "CodeWanted", CodeWanted{.block = 4}},
      {"CodeBlock", "CodeBlock",
       CodeBlock{.block = 4, .bytes = "packed", .error = "cannot read it"}},
      {"StageNews", "StageNews-2",
       StageNews{{2},
                 StageName::kImports,
                 7s,
                 LocalRank{1},
                 {{StageName::kProcessGroup, 9s, false, true}, {StageName::kImports, 7s}}}},
      {"SavingOver", "SavingOver", SavingOver{.made_in = {2}, .order = 4}},
      {"CheckpointMoved", "CheckpointMoved",
       CheckpointMoved{.attempt = {2},
                       .path = "out/checkpoint-4",
                       .moved_to = "out/.robustrun-incomplete/checkpoint-4.attempt1",
                       .evidence = "no trainer_state.json; attempt 1 was writing it"}},
  };
}
