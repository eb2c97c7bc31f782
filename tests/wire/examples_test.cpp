#include "tests/wire/examples.h"

#include <doctest/doctest.h>

#include <chrono>
#include <csignal>

using namespace robustrun::wire;
using namespace std::chrono_literals;
using namespace std::string_literals;
using robustrun::base::Attempt;
using robustrun::base::ExitStatus;
using robustrun::base::Generation;
using robustrun::base::LocalRank;
using robustrun::base::NodeFacts, robustrun::base::NodeId;
using robustrun::base::Rank;
using robustrun::base::ReachFault, robustrun::test::Example;

namespace {

WorkerTemplate worker_template() {
  return {.mode = LaunchMode::kModule,
          .interpreter = "/usr/bin/python3",
          .program = "train",
          .arguments = {"--lr", "3e-4", "\xff not UTF-8", ""},
          .environment = {"PATH=/usr/bin", "EMPTY="},
          .working_directory = "/home/user/job",
          .python_path = "/usr/share/robustrun/python",
          .log_directory = "/home/user/job/logs",
          .run_id = "run-1",
          .role = "trainer",
          .line_prefix_template = "[${role_name}${rank}]:",
          .numa_binding = "node",
          .omp = "auto",
          .stdout_filters = {"loss"},
          .stderr_filters = {"warn", "error"},
          .signals_to_handle = "SIGTERM,SIGINT",
          .max_restarts = 3,
          .stack_signal = 40,
          .compat = true,
          .virtual_local_rank = true,
          .numa_memory = "prefer",
          .stdin_rank = 0,
          .trace_dispatcher = true,
          .health = true,
          .standby = StandbyMode::kAll,
          .metrics = {"loss=loss: {value}"},
          .tell_modules = true,
          .checkpoints = true,
          .prefetch = PrefetchMode::kOn,
          .cache_directory = "/home/user/.cache/robustrun",
          .image = "/shared/images/torch.sqsh",
          .image_mode = ImageMode::kBlocks,
          .container = ContainerRuntime::kBwrap,
          .container_mounts = {"/data:/data:ro"},
          .deps = "/home/user/job/requirements.txt",
          .setup_command = {"pip", "install", "numpy"},
          .deps_ttl = 3600s,
          .stages = true,
          .stage = {"/data/tokenizer.json", "/data/index"},
          .share_blocks = true,
          .code = SyncedCode{std::string(64, 'a'), 5'000'000, "/home/user/job"},
          .cache_max_gib = 200,
          .overlap_saves = true,
          .line_formats =
              {{.project = "Megatron-LM",
                .lines = {"iteration * elapsed time"},
                .values = {{.name = "step_time", .text = "(ms): {value} |", .factor = 0.001},
                           {.name = "rate", .text = "{value}it/s", .inverse = true}}}},
          .checkpoint_globs = {"out/checkpoint-*", "/scratch/run/*.ckpt"},
          .agent_store = true,
          .tell_moved = true};
}

WorkerExited worker_exited() {
  return {.attempt = Attempt{2},
          .local_rank = LocalRank{1},
          .pid = 4711,
          .end = {.kind = ExitStatus::Kind::kSignaled, .code = SIGSEGV, .core_dumped = true},
          .at = 123456789012ns,
          .stopped_by_us = true,
          .shim_lost = true,
          .oom = OomKiller::kCgroup,
          .error_file = ErrorFile{.path = "/tmp/error.json",
                                  .message = "ValueError: no",
                                  .callstack = "line 1\nline 2",
                                  .timestamp_s = 1700000000},
          .stderr_tail = {"Traceback:", "ValueError: no"},
          .dropped_bytes = 1ULL << 40,
          .script_end = robustrun::base::ScriptEnd::kReturned};
}

}  // namespace

Enrol robustrun::test::example_enrol() {
  return {.protocol = 1,
          .run_id = "run-1",
          .node = NodeId{2},
          .generation = Generation{3},
          .host = "host",
          .slots = 8,
          .node_rank = 0,
          .pid = 4242,
          .request = "-----BEGIN CERTIFICATE REQUEST-----",
          .nonce = "0123456789abcdef",
          .proof_kind = ProofKind::kMunge,
          .proof = "\0\xff proof"s,
          .command_digest = "digest"};
}

Enrolled robustrun::test::example_enrolled() {
  return {.node = NodeId{2},
          .generation = Generation{3},
          .certificate = "-----BEGIN CERTIFICATE-----",
          .authority = "-----BEGIN CERTIFICATE-----",
          .proof = "\xfe proof"};
}

namespace {

std::vector<Example> first_kinds() {
  return {
      {"Hello", "Hello-7",
       Hello{.protocol = 1,
             .host = "host",
             .pid = 4242,
             .address = "fe80::1%eth0",
             .slots = 8,
             .attempt = Attempt{3},
             .at = 5s,
             .listens = "[fe80::1%eth0]:4711",
             .bulk = "[fe80::1%eth0]:4712",
             .began = 4s,
             .ordered_by = 2,
             .addresses = {"10.0.0.2", "fd00::2"}}},
      {"Welcome", "Welcome-17",
       Welcome{.protocol = 1,
               .node = NodeId{2},
               .generation = Generation{3},
               .workers = worker_template(),
               .heartbeat_interval = 2s,
               .silence_max = 10s,
               .orphan_grace = 60s,
               .incarnation = 2,
               .endpoints = {"10.0.0.1:29400", "[fd00::1]:29400"}}},
      {"ReservePort", "ReservePort", ReservePort{.attempt = Attempt{300}}},
      {"PortReserved", "PortReserved",
       PortReserved{.attempt = Attempt{1}, .port = 29400, .error = "none free"}},
      {"StartWorkers", "StartWorkers-6",
       StartWorkers{.attempt = Attempt{1},
                    .slots = {{.rank = Rank{8},
                               .local_rank = LocalRank{0},
                               .role_rank = 8,
                               .out = StreamRoute::kInherit,
                               .err = StreamRoute::kFile},
                              {.rank = Rank{9},
                               .local_rank = LocalRank{1},
                               .role_rank = 9,
                               .out = StreamRoute::kConsole,
                               .err = StreamRoute::kDiscard}},
                    .group_rank = 1,
                    .group_world_size = 2,
                    .world_size = 16,
                    .master_addr = "10.0.0.1",
                    .master_port = 29400,
                    .version = WorkerVersion{.number = 3,
                                             .environment = {"LR=0.1", "EMPTY="},
                                             .unset = {"DEBUG"},
                                             .program = "/run/versions/2/code/train.py",
                                             .code_directory = "/run/versions/2/code",
                                             .code_digest = "ab12",
                                             .has_arguments = true,
                                             .arguments = {"--lr", "\xff not UTF-8", ""}},
                    .ordered_by = 2,
                    .saving = true,
                    .restarts = 1,
                    .store_clients = {"10.0.0.2", "fd00::2"}}},
      {"WorkerStarted", "WorkerStarted-4",
       WorkerStarted{.attempt = Attempt{1},
                     .local_rank = LocalRank{2},
                     .pid = 4711,
                     .at = 1s,
                     .warm = true,
                     .ordered_by = 2,
                     .cold = "its standby worker was still importing"}},
      {"WorkerStartFailed", "WorkerStartFailed",
       WorkerStartFailed{.attempt = Attempt{1},
                         .local_rank = LocalRank{2},
                         .os_errno = 2,
                         .what = "cannot start /bin/x: No such file or directory"}},
  };
}

std::vector<Example> middle_kinds() {
  return {
      {"StopWorkers", "StopWorkers-2",
       StopWorkers{.attempt = Attempt{1},
                   .signal = -1,
                   .grace = 30s,
                   .reason = StopReason::kPreempt,
                   .save_first = true}},
      {"SignalWorkers", "SignalWorkers", SignalWorkers{.attempt = Attempt{1}, .signal = SIGUSR1}},
      {"WorkerProgress", "WorkerProgress-6",
       WorkerProgress{.attempt = Attempt{1},
                      .local_rank = LocalRank{2},
                      .steps = 1ULL << 63,
                      .step = -5,
                      .user_code_at = 1ns,
                      .first_step_at = 2ns,
                      .last_step_at = 3ns,
                      .metrics = {{.name = "loss", .value = 0.5}, {.name = "lr", .value = -1e300}},
                      .lines = 7,
                      .steps_before = 120,
                      .lines_read = 30,
                      .data_waited = 9s,
                      .data_wait_since = 12ns,
                      .data_place = "source web, /data/web-0.bin",
                      .data_skipped = 3}},
      {"WorkerExited", "WorkerExited-2", worker_exited()},
      {"WorkersGone", "WorkersGone-2",
       WorkersGone{.attempt = Attempt{1},
                   .descendants_killed = 7,
                   .unkillable = {"pid 12 (python), D state in nfs_wait"},
                   .shm_removed = {"torch_1", "torch_2"},
                   .saving = true}},
      {"Heartbeat", "Heartbeat-3", Heartbeat{.sequence = 9, .at = 7s}},
      {"Notice", "Notice", Notice{.level = 2, .rank = Rank{3}, .text = "slow disk"}},
      {"Output", "Output",
       Output{.rank = Rank{3},
              .local_rank = LocalRank{1},
              .is_stderr = true,
              .partial = true,
              .bytes = "line\n\0\xff"s}},
      {"Dismiss", "Dismiss-2", Dismiss{.exit_code = 94}},
      {"Bye", "Bye", Bye{}},
  };
}

std::vector<Example> last_kinds() {
  return {
      {"Enrol", "Enrol", robustrun::test::example_enrol()},
      {"Enrolled", "Enrolled", robustrun::test::example_enrolled()},
      {"Refused", "Refused", Refused{.text = "cannot enrol: too late", .final = false}},
      {"Inject", "Inject",
       Inject{.id = 1ULL << 40,
              .attempt = Attempt{2},
              .kind = FaultKind::kNetDelay,
              .local_rank = LocalRank{0},
              .duration = 30s,
              .delay = 200ms}},
      {"Injected", "Injected",
       Injected{.id = 1ULL << 40, .pid = 4711, .done = "killed", .error = "or not"}},
      {"NodeEnding", "NodeEnding-2", NodeEnding{.why = "its command got SIGTERM", .signal = 15}},
  };
}

NodeFacts node_facts() {
  return {.missing = "the folder /job is not on this machine",
          .disk = {.path = "/job", .total = 1ULL << 40, .free = 1ULL << 39, .error = "slow"},
          .shm = {.path = "/dev/shm", .total = 1ULL << 26, .free = 1ULL << 25, .error = "no"},
          .limits = {.open_files = 1024,
                     .open_files_hard = 4096,
                     .locked_bytes = 8ULL << 20,
                     .processes = 9999},
          .rdma_devices = 8,
          .software = {.asked = true,
                       .python = "3.11.2",
                       .torch = "2.5.1+cu124",
                       .error = "late",
                       .missing = true},
          .gpus = {.has_library = true, .count = 8, .driver = "550.54.15", .error = "lost"},
          .probe = {.asked = true,
                    .error = "none",
                    .models = {"NVIDIA H200", "NVIDIA H200"},
                    .figures = {{.gpu = 1, .what = "bf16 GEMM", .unit = "TFLOP/s", .value = 512.5}},
                    .sums = {{.gpu = 1, .what = "bf16 GEMM by cuBLAS 130100", .sum = ~0ULL}},
                    .faults = {"GPU 1: cannot take memory"}}};
}

std::vector<Example> preflight_kinds() {
  const Peer peer{.node = NodeId{3}, .address = "10.0.0.3", .port = 40123};
  return {
      {"CheckNode", "CheckNode-2",
       CheckNode{
           .check = 7, .full = true, .address = "10.0.0.2", .nonce = "\x01 nonce", .gpus = true}},
      {"CheckReady", "CheckReady",
       CheckReady{.check = 7, .port = 40122, .error = "none", .wall_time = 1700000000s}},
      {"ReachPeers", "ReachPeers", ReachPeers{.check = 7, .peers = {peer, peer}}},
      {"NodeChecked", "NodeChecked-2",
       NodeChecked{.check = 7,
                   .facts = node_facts(),
                   .unreached = {{.peer = NodeId{3},
                                  .fault = ReachFault::kTimeout,
                                  .how = "timeout after 3 s"}},
                   .half_heard = {NodeId{3}, NodeId{4}}}},
      {"MeasurePeers", "MeasurePeers",
       MeasurePeers{.check = 7, .round = 1, .calls = {peer}, .awaits = 2}},
      {"PeersMeasured", "PeersMeasured",
       PeersMeasured{.check = 7, .round = 1, .compute = 9ms, .bytes_per_second = 2.5e9}},
      {"EndCheck", "EndCheck", EndCheck{.check = 7}},
      {"StopRun", "StopRun", StopRun{.signal = 2, .grace = 5s, .host = "node-b"}},
  };
}

std::vector<Example> observation_kinds() {
  return {
      {"CollectiveProgress", "CollectiveProgress",
       CollectiveProgress{{2}, {1}, {{.comm = 77, .entered = 12, .done = 11, .head_age = 30ms}}}},
      {"Overdue", "Overdue",
       Overdue{.attempt = {2},
               .local_rank = {1},
               .comm = 77,
               .ordinal = 12,
               .age = 3s,
               .expected = 2s,
               .over = true}},
      {"Observe", "Observe-3",
       Observe{.number = 5,
               .attempt = {2},
               .evidence = true,
               .within = 2s,
               .ras = true,
               .use_of = {{1}}}},
      {"Observed", "Observed",
       Observed{.number = 5,
                .attempt = {2},
                .local_rank = {1},
                .workers = 8,
                .snapshot = std::string("\x08\x01", 2)}},
      {"RasAnswer", "RasAnswer",
       RasAnswer{.number = 5,
                 .attempt = {2},
                 .report = "{}",
                 .missing = "nobody listens there",
                 .is_shared = true}},
      {"NodeHealth", "NodeHealth",
       NodeHealth{.source = NodeHealth::Source::kNetwork,
                  .subject = "eth0",
                  .line = "eth0: its link is down",
                  .xid = 79,
                  .over = true}},
  };
}

std::vector<Example> replay_kinds() {
  return {
      {"ReplayNode", "ReplayNode",
       ReplayNode{.replay = 3,
                  .limit = 90s,
                  .command = {"small.py", "--layers", "4"},
                  .slots = {{Rank{2}, LocalRank{1}, 2, StreamRoute::kFile, StreamRoute::kConsole}},
                  .group_rank = 1,
                  .group_world_size = 2,
                  .world_size = 4,
                  .master_addr = "10.0.0.2",
                  .master_port = 40122}},
      {"NodeReplayed", "NodeReplayed",
       NodeReplayed{.replay = 3,
                    .outcome = NodeReplayed::Outcome::kFailed,
                    .codes = {10, -9},
                    .why = "rank 2: exit code 10"}},
      {"EndReplay", "EndReplay", EndReplay{.replay = 3}},
  };
}

std::vector<Example> checkpoint_kinds() {
  return {
      {"CheckpointNote", "CheckpointNote",
       CheckpointNote{.attempt = {2},
                      .local_rank = {1},
                      .event = CheckpointNote::Event::kLoaded,
                      .step = 1000,
                      .generation = 7,
                      .token = "3f9c",
                      .directories = {"/data/a", "/data/b"},
                      .source = "memory",
                      .count = 3,
                      .bytes = 4096,
                      .blocking = 30ms,
                      .blocking_median = 9ms,
                      .blocking_most = 12ms,
                      .total = 2s}},
      {"DemoteCheckpoint", "DemoteCheckpoint",
       DemoteCheckpoint{.order = 4,
                        .step = 1000,
                        .generation = 7,
                        .token = "3f9c",
                        .directories = {"/data/a"},
                        .reason = "failed-soon-after"}},
      {"CheckpointDemoted", "CheckpointDemoted",
       CheckpointDemoted{.order = 4, .error = "no such checkpoint"}},
  };
}

}  // namespace

std::vector<robustrun::test::Example> robustrun::test::example_messages() {
  std::vector<Example> all;
  for (const auto& part :
       {first_kinds(), middle_kinds(), last_kinds(), preflight_kinds(), observation_kinds(),
        replay_kinds(), robustrun::test::example_standby_messages(), checkpoint_kinds(),
        robustrun::test::example_copy_messages()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  all.push_back({"BandwidthReport", "BandwidthReport",
                 BandwidthReport{{2},
                                 {1},
                                 {{.comm = 77,
                                   .size = 8,
                                   .kind = 1,
                                   .size_bits = 24,
                                   .count = 5,
                                   .bytes = 80'000'000,
                                   .busy = 9ms,
                                   .has_fallen = true}},
                                 {{.comm = 77, .name = "tp"}}}});
  return all;
}

TEST_CASE("there is an example of every kind, in the order of the kinds") {
  const auto examples = robustrun::test::example_messages();
  REQUIRE(examples.size() == std::variant_size_v<Message>);
  for (std::size_t kind = 0; kind < examples.size(); ++kind) {
    CHECK(examples[kind].message.index() == kind);
  }
}
