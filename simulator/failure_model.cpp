#include "simulator/failure_model.h"

#include <algorithm>
#include <numeric>

namespace robustrun::simulator {
namespace {

using Mix = std::array<double, kKinds>;  // gpu machine hang slow software passing maintenance

// Values that no source gives for a single cluster; the same for all of them.
FailureModel common() {
  FailureModel model;
  model.shared = {0.04, Origin::kPublished,
                  "3 to 5 % of hardware failures have a co-event (arXiv 2410.21680)"};
  model.neighbours = {1, Origin::kAssumed, "the smallest co-event there can be"};
  model.hang_stays = {0.5, Origin::kAssumed,
                      "no source says how many hung machines hang again after a restart"};
  model.repair = {hours(24), Origin::kAssumed,
                  "published values of single cases lie between 1 and 19 hours; ByteRobust sizes "
                  "its standbys by the day"};
  model.maintained = {hours(4), Origin::kAssumed, "no source"};
  model.slow_for = {minutes(72), Origin::kPublished,
                    "mean of fail-slow at 512 GPUs and more (GREYHOUND, ATC'25)"};
  model.slow_factor = {1.34, Origin::kPublished, "job time under fail-slow (GREYHOUND, ATC'25)"};
  return model;
}

// Table 5 of the report, by what each row means to a supervisor: gpu = faulty GPU 148, HBM3 72,
// SRAM 19, system processor 17, NIC 7, SSD 3; machine = PSU 3, chassis, IO board, CPU and memory 2
// each; hang = NCCL watchdog 7, silent corruption 6; slow = thermal 6; software = bugs 54,
// dependency 2; passing = switch and cable 35; maintenance = unplanned host maintenance 32.
constexpr Mix kLlama3Mix = {266, 11, 13, 6, 56, 35, 32};
constexpr const char* kLikeLlama3 = "no mix is published: as llama3";

FailureModel llama3() {
  FailureModel model = common();
  model.name = "llama3";
  model.about = "Llama 3 405B: 16,384 H100, 54 days (arXiv 2407.21783, Table 5)";
  model.per_node_day = {419.0 / (54 * 2048), Origin::kPublished,
                        "419 unexpected interruptions in 54 days of 2,048 machines (arXiv "
                        "2407.21783)"};
  model.mix = {kLlama3Mix, Origin::kPublished,
               "counts of Table 5 (arXiv 2407.21783), put into kinds here"};
  return model;
}

FailureModel like_llama3(const char* name, const char* about, double rate, const char* source) {
  FailureModel model = llama3();
  model.name = name;
  model.about = about;
  model.per_node_day = {rate, Origin::kPublished, source};
  model.mix = {kLlama3Mix, Origin::kAssumed, kLikeLlama3};
  return model;
}

// Table 4: restarts after evictions, by analysis, rollbacks. Evictions are split into broken
// machines and passing faults (resolved by a mere reattempt) as 32.52 to 22.70 (section 4.2);
// analysis into hangs and slowness as 5506 to 442 (Table 1).
FailureModel byterobust(const char* name, const char* about, double incidents, double days,
                        Mix mix) {
  FailureModel model = common();
  model.name = name;
  model.about = about;
  model.per_node_day = {incidents / (days * 1200), Origin::kPublished,
                        "Table 4 without manual restarts, 1,200 machines (arXiv 2509.16293)"};
  model.mix = {mix, Origin::kPublished,
               "Table 4, split by section 4.2 and Table 1 (arXiv 2509.16293)"};
  return model;
}

}  // namespace

const char* kind_name(FaultKind kind) {
  switch (kind) {
    case FaultKind::kGpu: return "gpu";
    case FaultKind::kMachine: return "machine";
    case FaultKind::kHang: return "hang";
    case FaultKind::kSlow: return "slow";
    case FaultKind::kSoftware: return "software";
    case FaultKind::kPassing: return "passing";
    case FaultKind::kMaintenance: return "maintenance";
  }
  return "unknown";
}

double FailureModel::share(FaultKind kind) const {
  const double all = std::accumulate(mix.value.begin(), mix.value.end(), 0.0);
  return mix.value[index(kind)] / all;
}

const std::vector<FailureModel>& presets() {
  static const std::vector<FailureModel> kPresets = {
      like_llama3("rsc-1", "Meta RSC-1, 16,000 A100 (arXiv 2410.21680)", 6.50e-3,
                  "failures per node-day of jobs above 128 GPUs (arXiv 2410.21680)"),
      like_llama3("rsc-2", "Meta RSC-2, 8,000 A100 (arXiv 2410.21680)", 2.34e-3,
                  "failures per node-day of jobs above 128 GPUs (arXiv 2410.21680)"),
      llama3(),
      byterobust("byterobust-dense", "dense 70B+, 9,600 Hopper, 3 months (arXiv 2509.16293)", 155,
                 90, {75, 0, 14, 1, 12, 53, 0}),
      byterobust("byterobust-moe", "MoE 200B+, 9,600 Hopper, 1 month (arXiv 2509.16293)", 94, 30,
                 {42, 0, 8, 1, 14, 29, 0}),
      like_llama3("ft-hsdp", "FT-HSDP, 32,000 GPUs (arXiv 2602.00277)", 2.3e-3,
                  "2.3 interruptions per 1,000 servers and day (arXiv 2602.00277)"),
  };
  return kPresets;
}

std::optional<FailureModel> preset(std::string_view name) {
  const auto found = std::ranges::find(presets(), name, &FailureModel::name);
  return found == presets().end() ? std::nullopt : std::optional(*found);
}

FailureModel unknown_site() {
  return like_llama3("site", "a file of failures", 0, "the file of failures");
}

}  // namespace robustrun::simulator
