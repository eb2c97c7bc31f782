#include "cli/runs/run_update.h"

#include <fmt/format.h>

#include <utility>

#include "base/core/text.h"
#include "base/core/words.h"
#include "base/io/code_tree.h"
#include "base/io/fd.h"
#include "base/io/sha256.h"
#include "supervisor/control/client.h"
#include "supervisor/run_dir/saved_request.h"

namespace robustrun::cli {
namespace {

constexpr std::size_t kDigestShown = 12;

// Copies the code beside the run's versions, where the supervisor takes it.
base::Status stage_code(const std::string& directory, const std::string& stage, UpdatePlan& plan) {
  if (plan.code.empty()) return {};
  const std::string folder =
      fmt::format("{}/{}/code", supervisor::versions_folder(directory), stage);
  const auto copy = RR_TRY(base::copy_code(plan.code, folder, directory));
  RR_TRY(base::write_file_atomically(folder + ".files", copy.manifest, 0600));
  plan.update.changes.code_digest = base::to_hex(base::sha256(copy.manifest));
  plan.update.words.push_back(
      fmt::format("code from {} ({}, {} KiB, {})", base::printable(plan.code),
                  base::counted(copy.files, "file"), (copy.bytes + 1023) / 1024,
                  plan.update.changes.code_digest.substr(0, kDigestShown)));
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

}  // namespace

base::Result<UpdateOutcome> update_run(const std::string& directory, const UpdateLine& line,
                                       UpdatePlan plan, const Surroundings& around) {
  auto client = supervisor::ControlClient::connect(directory);
  if (!client) {
    if (client.error().code == base::Errc::kPermission) return std::unexpected(client.error());
    return UpdateOutcome{false, "", client.error().what};
  }
  if (line.code) {
    const auto saved = RR_TRY(supervisor::load_request(directory));
    RR_TRY(plan_code(line, saved.request.workers, around, plan));
  }
  if (!line.rolls_back) plan.order.stage = RR_TRY(stage_update(directory, plan));
  const auto answer = client->ask(supervisor::to_fields(plan.order));
  if (answer) return UpdateOutcome{true, answer->at("version"), answer->at("text")};
  if (!plan.order.stage.empty()) supervisor::drop_stage(directory, plan.order.stage);
  return UpdateOutcome{false, "", "the run refused the update: " + answer.error().what};
}

}  // namespace robustrun::cli
