// Names of operations, types, findings; what stacks say; how ranks and times are written.
#include <doctest/doctest.h>

#include <set>

#include "tests/tracer/fleet.h"
#include "tracer/analysis/limits.h"
#include "tracer/analysis/sentence.h"
#include "tracer/analysis/stacks.h"

namespace robustrun::tracer::analysis_words_test {
namespace {

using Ranks = std::vector<std::uint32_t>;

TEST_CASE("operations are known by torch's, NCCL's and the dispatcher's spellings") {
  CHECK(op_kind_of("gloo:all_reduce") == OpKind::kAllReduce);
  CHECK(op_kind_of("nccl:_all_gather_base") == OpKind::kAllGather);
  CHECK(op_kind_of("nccl:send 1->2") == OpKind::kSend);
  CHECK(op_kind_of("nccl:recv 2<-1") == OpKind::kRecv);
  CHECK(op_kind_of("AllReduce") == OpKind::kAllReduce);
  CHECK(op_kind_of("ReduceScatter") == OpKind::kReduceScatter);
  CHECK(op_kind_of("c10d::allreduce_") == OpKind::kAllReduce);
  CHECK(op_kind_of("nccl:all_reduce_barrier") == OpKind::kBarrier);
  CHECK(op_kind_of("nccl:_reduce_scatter_base") == OpKind::kReduceScatter);
  CHECK(op_kind_of("gloo:recvAnySource") == OpKind::kRecv);
  CHECK(op_kind_of("nccl:coalesced") == OpKind::kOther);
  CHECK(op_kind_of(std::string(100'000, 'x')) == OpKind::kOther);
  CHECK(op_kind_of("") == OpKind::kUnknown);
  CHECK(op_kind_of("nccl:") == OpKind::kUnknown);
}

TEST_CASE("every kind but the two vague ones is read back from its own name") {
  for (std::uint8_t k = 1; k + 1 < kOpKinds; ++k) {
    const auto kind = static_cast<OpKind>(k);
    CHECK(op_kind_of(to_string(kind)) == kind);
  }
  CHECK(to_string(static_cast<OpKind>(200)) == "unknown");
}

TEST_CASE("the collectives that synchronise all members are known") {
  for (std::uint8_t k = 0; k < kOpKinds; ++k) {
    const auto kind = static_cast<OpKind>(k);
    const std::set<OpKind> all = {OpKind::kAllReduce, OpKind::kAllGather, OpKind::kReduceScatter,
                                  OpKind::kAllToAll, OpKind::kBarrier};
    CHECK(synchronises_all(kind) == all.contains(kind));
    CHECK(is_point_to_point(kind) == (kind == OpKind::kSend || kind == OpKind::kRecv));
  }
}

TEST_CASE("types are known by torch's and NCCL's spellings, with their sizes") {
  CHECK(data_type_of("ncclFloat32") == DataType::kFloat32);
  CHECK(data_type_of("Float") == DataType::kFloat32);
  CHECK(data_type_of("torch.bfloat16") == DataType::kBfloat16);
  CHECK(data_type_of("Float8_e4m3fn") == DataType::kFloat8e4m3);
  CHECK(data_type_of("Long") == DataType::kInt64);
  CHECK(data_type_of("Bool") == DataType::kUint8);
  CHECK(data_type_of("ComplexFloat") == DataType::kOther);
  CHECK(data_type_of("") == DataType::kUnknown);
  CHECK(bytes_of(DataType::kBfloat16) == 2);
  CHECK(bytes_of(DataType::kFloat64) == 8);
  CHECK(bytes_of(DataType::kUnknown) == 0);
  for (std::uint8_t t = 0; t <= 11; ++t) {
    const auto type = static_cast<DataType>(t);
    CHECK(data_type_of(to_string(type)) == type);
    CHECK(bytes_of(type) > 0);
  }
}

TEST_CASE("every finding has a name of its own, and all but two have a rule") {
  std::set<std::string_view> names;
  std::set<std::string_view> rules;
  for (std::uint8_t f = 0; f < kFindings; ++f) {
    const auto finding = static_cast<Finding>(f);
    names.insert(to_string(finding));
    if (!rule_of(finding).empty()) rules.insert(rule_of(finding));
  }
  CHECK(names.size() == kFindings);
  CHECK(rules.size() == kFindings - 2);
  CHECK(to_string(static_cast<Finding>(99)) == "undecided");
}

TEST_CASE("times and amounts are short, and lists end after eight") {
  CHECK(for_text(seconds(4.1)) == " for 4.1 s");
  CHECK(for_text({}).empty());
  CHECK(amount_text(12) == "12 B");
  CHECK(amount_text(1500) == "1.5 kB");
  CHECK(amount_text(48'000'000) == "48 MB");
  CHECK(amount_text(UINT64_MAX) == "18 EB");
  CHECK(list_text({3}) == "3");
  CHECK(list_text({3, 7, 9}) == "3, 7 and 9");
  Ranks twenty(20);
  for (std::uint32_t i = 0; i < 20; ++i) twenty[i] = i;
  CHECK(list_text(twenty) == "0, 1, 2, 3, 4, 5, 6, 7 and 12 more");
}

Evidence with(std::vector<Frame> frames, bool is_native = false) {
  Evidence evidence;
  ThreadStack thread;
  thread.is_main = true;
  thread.is_native = is_native;
  thread.frames = std::move(frames);
  evidence.stacks.push_back(std::move(thread));
  return evidence;
}

TEST_CASE("stacks show what keeps a rank") {
  const std::string torch = "/v/lib/python3.11/site-packages/torch/";
  struct Row {
    Reason reason;
    std::string file, function;
  };
  for (const Row& row : {
           Row{Reason::kDataLoader, torch + "utils/data/dataloader.py", "_next_data"},
           Row{Reason::kCheckpoint, torch + "serialization.py", "save"},
           Row{Reason::kCheckpoint, torch + "distributed/checkpoint/state_dict_saver.py", "save"},
           Row{Reason::kCheckpoint, "/home/me/lib.py", "save_checkpoint"},
           Row{Reason::kCompile, torch + "_inductor/async_compile.py", "wait"},
           Row{Reason::kCompile, "/v/lib/python3.11/site-packages/triton/compiler/compiler.py",
               "c"},
           Row{Reason::kOwnGpu, torch + "cuda/__init__.py", "synchronize"},
           Row{Reason::kControlPlane, torch + "distributed/distributed_c10d.py",
               "_store_based_barrier"},
           Row{Reason::kControlPlane, torch + "distributed/distributed_c10d.py",
               "init_process_group"},
           Row{Reason::kCommunication, torch + "distributed/distributed_c10d.py", "recv"},
           Row{Reason::kEvaluation, "/home/me/train.py", "evaluate"},
           Row{Reason::kInteractive, "/usr/lib/python3.11/pdb.py", "interaction"},
           Row{Reason::kGarbageCollection, "", "Garbage-collecting"},
           Row{Reason::kDying, "/usr/lib/python3.11/traceback.py", "print_exception"},
           // Compiled code runs through these; only what compiles is a reason.
           Row{Reason::kUserCode, torch + "_dynamo/eval_frame.py", "_fn"},
           Row{Reason::kUserCode, torch + "distributed/fsdp/_runtime_utils.py", "forward"},
           Row{Reason::kUserCode, "/home/me/model.py", "forward"},
       }) {
    CAPTURE(row.file);
    CAPTURE(row.function);
    const Whereabouts where =
        whereabouts(with({{row.function, row.file, 5}, {"main", "/home/me/train.py", 87}}));
    CHECK(where.reason == row.reason);
  }
  CHECK(whereabouts({}).reason == Reason::kUnknown);
  CHECK(whereabouts(with({{"cuStreamSynchronize", "libcuda.so", 0}}, true)).reason ==
        Reason::kOwnGpu);
}

TEST_CASE("the place is the innermost frame of the user's code, with its function") {
  const Whereabouts where = whereabouts(with({{"poll", "/usr/lib/python3.11/selectors.py", 1},
                                              {"_run", "<frozen runpy>", 2},
                                              {"get", "/v/lib/python3.11/site-packages/x/y.py", 3},
                                              {"load", "/home/me/feed.py", 12},
                                              {"main", "/home/me/train.py", 87}}));
  CHECK(describe(where) == "load (feed.py:12)");
  CHECK(describe(whereabouts(with({{"f", "/usr/lib/python3.11/os.py", 1}}))).empty());
  CHECK(describe(whereabouts(with({{"f", "<string>", 3}}))) == "f (<string>:3)");
  CHECK(describe(whereabouts(with({{"f", "/home/me/train.py", 0}}))) == "f (train.py)");
  CHECK(describe(whereabouts(with({{"<module>", "/home/me/train.py", 4}}))) == "train.py:4");
}

TEST_CASE("another thread that holds the GIL is named") {
  Evidence evidence = with({{"main", "/home/me/train.py", 87}});
  ThreadStack other;
  other.thread = "feeder";
  other.holds_gil = true;
  other.frames = {{"spin", "/home/me/feed.py", 12}};
  evidence.stacks.push_back(other);
  CHECK(describe(whereabouts(evidence)) ==
        "main (train.py:87), another thread holds the GIL (thread feeder in feed.py:12)");
  evidence.stacks.front().holds_gil = true;
  CHECK(describe(whereabouts(evidence)) == "main (train.py:87)");
}

TEST_CASE("only the main thread counts") {
  Evidence evidence = with({{"main", "/home/me/train.py", 87}});
  ThreadStack other;
  other.frames = loader_stack();
  evidence.stacks.push_back(other);
  CHECK(describe(whereabouts(evidence)) == "main (train.py:87)");
}

TEST_CASE("outliers of the stacks are shown with their smallest common group") {
  Fleet fleet(16);
  fleet.world();
  fleet.snapshot.layout = {
      {"tp_0", {{12}, {13}}}, {"pp_3", {{12}, {13}, {14}, {15}}}, {"dp_0", {{0}, {4}, {8}, {12}}}};
  fleet.enter_all_but(1, {});
  for (std::uint32_t r = 0; r < 16; ++r) {
    fleet.stack(r, {{"step", "/home/me/train.py", r < 12 ? 90 : 40 + r / 2}});
  }
  Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kUndecided);
  CHECK(verdict.culprits.empty());
  CHECK(verdict.sentence.ends_with(
      "; ranks 12, 13, 14 and 15 (node3) are not where the other 12 are, in group pp_3"));
  CHECK(verdict.evidence.front() ==
        "stacks: 12 ranks: step (train.py:90); 2 ranks: step (train.py:46); 2 ranks: step "
        "(train.py:47)");
  fleet.stack(15, {});  // an empty stack is ignored
  CHECK(fleet.verdict().sentence == verdict.sentence);
}

TEST_CASE("programs without any communicator are compared by their stacks alone") {
  Fleet fleet(4);
  for (std::uint32_t r = 0; r < 4; ++r) {
    fleet.stack(r, {{"step", "/home/me/solve.py", r == 2 ? 12U : 90U}});
    fleet.rank(r).step_age = seconds(30);
  }
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kUndecided);
  CHECK(verdict.sentence ==
        "rank 2 (node0, local 2) is not where the other 3 are; the last step was 30.0 s ago");
}

TEST_CASE("all in the data loader: reported, without a culprit") {
  Fleet fleet(4);
  fleet.world();
  for (std::uint32_t r = 0; r < 4; ++r) fleet.stack(r, loader_stack());
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kUndecided);
  CHECK(verdict.culprits.empty());
  CHECK(verdict.sentence ==
        "all 4 ranks are outside any recorded operation, in train.py:87, data loader");
}

TEST_CASE("a verdict stays within its limits, whatever the names") {
  Fleet fleet(300, 1);
  fleet.world(1, 6, std::string(5000, 'g'));
  for (std::uint32_t r = 0; r < 300; ++r) {
    fleet.rank(r).node = std::string(5000, 'n') + std::to_string(r);
    fleet.stack(r, {{std::string(5000, 'f'), "/home/" + std::string(5000, 'p') + ".py", r}});
    fleet.rank(r).evidence.network.assign(100, std::string(5000, 'x'));
    fleet.rank(r).evidence.has_process = true;
    fleet.rank(r).evidence.process.wait_channel = std::string(5000, 'w');
  }
  for (std::uint32_t r = 0; r < 10; ++r) fleet.enter(1, r);
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.culprits.size() == 290);
  CHECK(verdict.sentence.size() <= kSentenceBytes);
  CHECK(verdict.evidence.size() <= kEvidenceLines);
  for (const std::string& line : verdict.evidence) CHECK(line.size() <= kSentenceBytes);
  for (const std::string& node : verdict.nodes) CHECK(node.size() <= kNameBytes);
}

}  // namespace
}  // namespace robustrun::tracer::analysis_words_test
