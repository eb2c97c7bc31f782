#include "cli/plan/update_plan.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/core/text.h"
#include "cli/options/redact.h"
#include "cli/options/values.h"
#include "supervisor/limits.h"

namespace robustrun::cli {
namespace {

using base::Errc;
using base::fail;
namespace fs = std::filesystem;

constexpr base::Nanos kUpdateWithin = std::chrono::hours(24);

base::Status refuse_option(const char* option, const char* other) {
  return fail(Errc::kInvalidArgument,
              fmt::format("argument {}: not allowed with argument {}", option, other));
}

base::Status plan_variables(const UpdateLine& line, UpdatePlan& plan) {
  supervisor::VersionContent& changes = plan.update.changes;
  for (const std::string& entry : line.environment) {
    const auto equals = entry.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("argument --env: invalid value: '{}' (expected NAME=VALUE)",
                              base::printable(entry)));
    }
    RR_TRY(supervisor::check_variable(std::string_view(entry).substr(0, equals)));
    changes.environment.push_back(entry);
    plan.update.words.push_back("env " + base::printable(redacted_assignment(entry)));
  }
  for (const std::string& name : line.unset) {
    RR_TRY(supervisor::check_variable(name));
    changes.unset.push_back(name);
    plan.update.words.push_back("unset " + name);
  }
  return {};
}

base::Status plan_time(const UpdateLine& line, UpdatePlan& plan) {
  plan.order.now = line.now;
  if (line.now && line.within) return refuse_option("--within", "--now");
  plan.order.within = line.now ? base::Nanos{} : kUpdateWithin;
  if (!line.within) return {};
  const auto within = parse_duration(*line.within);
  if (!within || *within > supervisor::kUpdateWithinMax) {
    return fail(Errc::kInvalidArgument,
                fmt::format("argument --within: invalid time: '{}' (seconds, or 90s, 15m, 2h, 1d)",
                            *line.within));
  }
  plan.order.within = *within;
  return {};
}

std::string in_folder(const std::string& folder, const std::string& path) {
  std::string whole = (fs::path(folder) / path).lexically_normal().string();
  if (whole.size() > 1 && whole.ends_with('/')) whole.pop_back();
  return whole;
}

bool is_folder(PathKind kind) {
  return kind == PathKind::kDirectory || kind == PathKind::kEmptyDirectory;
}

}  // namespace

base::Result<UpdatePlan> plan_update(const UpdateLine& line) {
  UpdatePlan plan;
  RR_TRY(plan_time(line, plan));
  const bool changes =
      line.code || !line.environment.empty() || !line.unset.empty() || line.arguments;
  if (line.rolls_back) {
    if (changes) {
      return fail(Errc::kInvalidArgument,
                  "argument --rollback: not allowed with --code, --env, --unset or --args");
    }
    if (line.version) {
      const auto number = parse_integer(*line.version);
      if (!number || *number < 0 || *number > INT32_MAX) {
        return fail(Errc::kInvalidArgument, "argument --rollback: invalid version");
      }
      plan.order.back_to = static_cast<std::uint32_t>(*number);
    }
    return plan;
  }
  if (!changes) {
    return fail(Errc::kInvalidArgument,
                "one of the arguments --code, --env, --unset, --args, --rollback or --list is "
                "required");
  }
  if (line.code_root && !line.code) {
    return fail(Errc::kInvalidArgument, "argument --code-root: only allowed with argument --code");
  }
  RR_TRY(plan_variables(line, plan));
  if (line.arguments) {
    plan.update.changes.has_arguments = true;
    plan.update.changes.arguments = *line.arguments;
    const std::string shown = base::join(redacted(*line.arguments), " ");
    plan.update.words.push_back(shown.empty() ? "no arguments"
                                              : "arguments " + base::printable(shown));
  }
  return plan;
}

base::Status plan_code(const UpdateLine& line, const wire::WorkerTemplate& workers,
                       const Surroundings& around, UpdatePlan& plan) {
  using wire::LaunchMode;
  if (workers.mode != LaunchMode::kScript && workers.mode != LaunchMode::kRunPath) {
    return fail(Errc::kInvalidArgument,
                "cannot replace the code of a run that starts a module or an executable: --code is "
                "for scripts (PYTHONPATH can be set with --env)");
  }
  if (workers.program.find('$') != std::string::npos) {
    return fail(Errc::kInvalidArgument,
                fmt::format("cannot replace the code: {} names a different file for each worker",
                            workers.program));
  }
  plan.code = in_folder(around.working_directory, *line.code);
  if (!is_folder(around.machine->kind(plan.code))) {
    return fail(Errc::kInvalidArgument, fmt::format("cannot use {}: not a folder", plan.code));
  }
  const std::string script = in_folder(workers.working_directory, workers.program);
  std::string root = workers.working_directory;
  if (line.code_root) {
    root = in_folder(around.working_directory, *line.code_root);
  } else if (!script.starts_with(root + "/")) {
    root = fs::path(script).parent_path().string();
  }
  const std::string inside = fs::path(script).lexically_relative(root).string();
  if (inside.empty() || inside.starts_with("..")) {
    return fail(
        Errc::kInvalidArgument,
        fmt::format("cannot find the script: {} is not below {} (--code-root)", script, root));
  }
  if (around.machine->kind(plan.code + "/" + inside) != PathKind::kFile) {
    return fail(Errc::kInvalidArgument,
                fmt::format("cannot use {}: it lacks the run's script {}; name the folder that "
                            "replaces {}, or another one with --code-root",
                            plan.code, inside, root));
  }
  plan.update.changes.script = inside;
  return {};
}

}  // namespace robustrun::cli
