#include <fmt/format.h>

#include <algorithm>

#include "base/core/clock.h"
#include "base/core/text.h"
#include "base/io/fd.h"
#include "cli/commands/commands.h"
#include "cli/host/output_file.h"
#include "cli/options/help_text.h"
#include "cli/options/parser.h"
#include "cli/options/settings.h"
#include "cli/options/values.h"
#include "cli/plan/loss.h"
#include "cli/plan/placement.h"
#include "cli/submit/submit.h"
#include "cli/text/placement_text.h"
#include "cli/text/plan_json.h"
#include "cli/text/plan_page.h"
#include "topo/picture/explain.h"

namespace robustrun::cli {
namespace {

constexpr std::size_t kColumnsMin = 60;
constexpr unsigned kSvgMode = 0644;

std::optional<topo::GroupKind> kind_of(const Settings& settings) {
  const std::string word = settings.text(OptionId::kColourBy);
  for (std::uint8_t i = 0; i < topo::kGroupKinds; ++i) {
    const auto kind = static_cast<topo::GroupKind>(i);
    if (to_string(kind) == word) return kind;
  }
  return std::nullopt;
}

// Ranks of a node without its own count; 0: each node counts for itself.
std::uint32_t workers_of(const Settings& settings, const NodesPlan& nodes) {
  if (nodes.gpus_per_node != 0) return nodes.gpus_per_node;
  const auto workers = parse_integer(settings.text(OptionId::kNprocPerNode));
  return workers && *workers > 0 ? static_cast<std::uint32_t>(*workers) : 0;
}

base::Result<PlacementPlan> make_plan(const Settings& settings, const Surroundings& around) {
  NodesPlan nodes = RR_TRY(plan_nodes(settings, around));
  if (nodes.hosts.empty()) {
    return base::fail(base::Errc::kInvalidArgument,
                      "cannot plan: no hosts are named; add --hosts=LIST or --hostfile=FILE, or "
                      "call it within a Slurm allocation");
  }
  auto plan = RR_TRY(plan_placement(settings, around, workers_of(settings, nodes), nodes));
  for (const std::string& warning : nodes.warnings) say(warning);
  return plan;
}

base::Result<topo::NodeIndex> node_named(const Settings& settings, OptionId option,
                                         const PlacementPlan& plan) {
  const std::string wanted = settings.text(option);
  const auto found = std::ranges::find(plan.cluster.nodes, wanted, &topo::Node::name);
  if (found != plan.cluster.nodes.end()) {
    return static_cast<topo::NodeIndex>(found - plan.cluster.nodes.begin());
  }
  std::vector<std::string> names;
  for (const topo::Node& node : plan.cluster.nodes) names.push_back(node.name);
  return base::fail(base::Errc::kNotFound,
                    fmt::format("cannot use {}: it is not among the hosts{}",
                                settings.written(option), did_you_mean(wanted, names)));
}

base::Result<std::string> explanation(const Settings& settings, const PlacementPlan& plan) {
  return topo::explain(plan.problem(), plan.placement,
                       RR_TRY(node_named(settings, OptionId::kExplain, plan)));
}

base::Result<std::string> after_loss(const Settings& settings, const PlacementPlan& plan) {
  const auto node = RR_TRY(node_named(settings, OptionId::kLose, plan));
  const Loss loss = RR_TRY(plan_loss(plan, node, base::SystemClock()));
  return settings.flag(OptionId::kJson) ? loss_json(plan, loss) : loss_text(plan, loss);
}

// Solves the placement again to measure the time.
base::Result<std::string> json_of(const PlacementPlan& plan) {
  const base::SystemClock clock;
  const topo::Problem problem = plan.problem();
  const base::Nanos begin = clock.now();
  if (plan.chosen) static_cast<void>(RR_TRY(topo::place(problem)));
  return placement_json(plan, clock.now() - begin);
}

base::Result<std::string> text_of(const Settings& settings, const Surroundings& around,
                                  const PlacementPlan& plan) {
  PictureStyle style;
  style.kind = kind_of(settings);
  style.columns = std::max(static_cast<std::size_t>(terminal_columns(around)), kColumnsMin);
  style.colour = use_colour(settings, around, around.stdout_is_terminal);
  std::string out = placement_summary(plan, style.columns);
  if (plan.chosen) out += "\n" + RR_TRY(placement_picture(plan, style));
  return out + "\n" + placement_table(plan, style.columns);
}

base::Status write_svg(const Settings& settings, const PlacementPlan& plan) {
  if (!settings.has(OptionId::kSvg)) return {};
  const std::string picture = RR_TRY(placement_svg(plan, kind_of(settings)));
  const auto written = base::write_output(settings.text(OptionId::kSvg), picture, kSvgMode);
  if (written) return {};
  return base::fail(
      written.error().code,
      fmt::format("cannot use {}: {}", settings.written(OptionId::kSvg), written.error().what));
}

base::Status write_page(const Settings& settings, const Surroundings& around,
                        const PlacementPlan& plan) {
  if (!settings.has(OptionId::kHtml)) return {};
  return write_output(around.absolute(settings.text(OptionId::kHtml)), plan_page(plan));
}

base::Result<std::string> answer(const Settings& settings, const Surroundings& around) {
  const PlacementPlan plan = RR_TRY(make_plan(settings, around));
  RR_TRY(write_svg(settings, plan));
  RR_TRY(write_page(settings, around, plan));
  if (settings.has(OptionId::kLose)) return after_loss(settings, plan);
  if (settings.flag(OptionId::kJson)) return json_of(plan);
  if (settings.has(OptionId::kExplain)) return explanation(settings, plan);
  return text_of(settings, around, plan);
}

}  // namespace

int plan_command(std::span<const std::string> argv, const Surroundings& around) {
  const auto line = parse_run_line(argv);
  if (!line) return complain_of_usage(around, "plan", line.error().what);
  if (line->value(OptionId::kHelp)) {
    print(command_help("plan", terminal_columns(around)));
    return 0;
  }
  if (const auto status = check_subcommand(*line, Group::kPlan); !status) {
    return complain_of_usage(around, "plan", status.error().what);
  }
  const auto settings = merge_settings(*line, around);
  if (!settings) return complain(settings.error());
  const auto text = answer(*settings, around);
  if (!text) return complain(text.error());
  print(*text);
  return 0;
}

}  // namespace robustrun::cli
