#include <fmt/format.h>

#include <filesystem>

#include "base/core/text.h"
#include "base/io/code_tree.h"
#include "base/io/fd.h"
#include "base/io/sha256.h"
#include "cli/commands/commands.h"
#include "cli/options/help_text.h"
#include "cli/options/parser.h"
#include "cli/plan/update_plan.h"
#include "cli/runs/find_run.h"
#include "supervisor/control/client.h"
#include "supervisor/core/status/fold.h"
#include "supervisor/core/status/version_list.h"
#include "supervisor/run_dir/journal.h"
#include "supervisor/run_dir/saved_request.h"

namespace robustrun::cli {
namespace {

using supervisor::ControlClient;
using supervisor::UpdateOrder;

constexpr int kExitNotTaken = 1;
constexpr std::size_t kDigestShown = 12;

int list_versions(const std::string& directory, bool json) {
  const auto readout = supervisor::read_run_journal(directory + "/journal");
  if (!readout) return complain(readout.error());
  const auto folded = supervisor::fold(readout->entries);
  if (!folded) return complain(folded.error());
  const auto list =
      supervisor::list_versions(folded->job.versions(), folded->run.wall_time - folded->started);
  print(json ? supervisor::versions_json(list) + "\n" : supervisor::versions_text(list));
  return 0;
}

// Copies the code beside the run's versions, where the supervisor takes it.
base::Status stage_code(const std::string& directory, const std::string& stage, UpdatePlan& plan) {
  if (plan.code.empty()) return {};
  const std::string folder =
      fmt::format("{}/{}/code", supervisor::versions_folder(directory), stage);
  const auto copy = RR_TRY(base::copy_code(plan.code, folder, directory));
  RR_TRY(base::write_file_atomically(folder + ".files", copy.manifest, 0600));
  plan.update.changes.code_digest = base::to_hex(base::sha256(copy.manifest));
  plan.update.words.push_back(fmt::format(
      "code from {} ({} files, {} KiB, {})", base::printable(plan.code), copy.files,
      (copy.bytes + 1023) / 1024, plan.update.changes.code_digest.substr(0, kDigestShown)));
  return {};
}

base::Result<std::string> stage_update(const std::string& directory, UpdatePlan& plan) {
  const std::string stage = RR_TRY(supervisor::make_stage(directory));
  base::Status staged = stage_code(directory, stage, plan);
  if (staged) staged = supervisor::save_stage(directory, stage, plan.update);
  if (staged) return stage;
  supervisor::drop_stage(directory, stage);
  return std::unexpected(staged.error());
}

int ask_for_update(const std::string& directory, const UpdateLine& line, UpdatePlan plan,
                   const Surroundings& around) {
  auto client = ControlClient::connect(directory);
  if (!client) {
    const int code = complain(client.error());
    return client.error().code == base::Errc::kPermission ? code : kExitNotTaken;
  }
  if (line.code) {
    const auto saved = supervisor::load_request(directory);
    if (!saved) return complain(saved.error());
    if (const auto planned = plan_code(line, saved->request.workers, around, plan); !planned) {
      return complain(planned.error());
    }
  }
  if (!line.rolls_back) {
    auto stage = stage_update(directory, plan);
    if (!stage) return complain(stage.error());
    plan.order.stage = *std::move(stage);
  }
  const auto answer = client->ask(supervisor::to_fields(plan.order));
  if (answer) {
    print(answer->at("version") + "\n");
    say(answer->at("text"));
    return 0;
  }
  if (!plan.order.stage.empty()) supervisor::drop_stage(directory, plan.order.stage);
  say(fmt::format("the run refused the update: {}", answer.error().what));
  return kExitNotTaken;
}

}  // namespace

int update_command(std::span<const std::string> argv, const Surroundings& around) {
  const auto line = parse_update_line(argv);
  if (!line) return complain_of_usage(around, "update", line.error().what);
  if (line->help) {
    print(command_help("update", terminal_columns(around)));
    return 0;
  }
  if (line->list) {
    const auto directory = find_run(line->run, Pick::kLiveFirst, around);
    if (!directory) return complain(directory.error());
    return list_versions(*directory, line->json);
  }
  auto plan = plan_update(*line);
  if (!plan) return complain_of_usage(around, "update", plan.error().what);
  const auto directory = find_run(line->run, Pick::kTheLiveOne, around);
  if (!directory) return complain(directory.error());
  return ask_for_update(*directory, *line, *std::move(plan), around);
}

}  // namespace robustrun::cli
