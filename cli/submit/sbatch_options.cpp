#include "cli/submit/sbatch_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <span>
#include <string_view>

#include "base/core/text.h"
#include "cli/options/command_words.h"
#include "cli/submit/slurm_time.h"

namespace robustrun::cli {
namespace {

using base::Errc;
using base::fail;
using base::Result;

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool has_any(const std::vector<std::string>& words, std::span<const std::string_view> begins) {
  return std::ranges::any_of(words, [&](const std::string& word) {
    return std::ranges::any_of(begins,
                               [&](std::string_view each) { return word.starts_with(each); });
  });
}

bool asks_for_processors(const std::vector<std::string>& sbatch) {
  constexpr std::array<std::string_view, 5> kOptions = {"-c", "--cpus-per-", "--exclusive",
                                                        "--mincpus", "--oversubscribe"};
  return has_any(sbatch, kOptions);
}

bool asks_for_memory(const std::vector<std::string>& sbatch) {
  constexpr std::array<std::string_view, 1> kOptions = {"--mem"};
  return has_any(sbatch, kOptions);
}

// "200G", "0", "200000": Slurm takes anything that begins with a number, and ignores the rest.
bool is_memory(std::string_view text) {
  constexpr std::string_view kUnits = "KMGTPkmgtp";
  if (text.size() > 1 && std::string_view("Bb").contains(text.back()) &&
      kUnits.contains(text[text.size() - 2])) {
    text.remove_suffix(1);
  }
  if (!text.empty() && kUnits.contains(text.back())) text.remove_suffix(1);
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_without_limit(std::string time) {
  std::ranges::transform(time, time.begin(), [](unsigned char c) { return std::tolower(c); });
  return time == "unlimited" || time == "infinite";
}

}  // namespace

Result<std::vector<std::string>> sbatch_options(const Settings& settings, bool requeue) {
  std::vector<std::string> out;
  const std::string name = settings.text(OptionId::kJobName);
  out.push_back("--job-name=" + (name.empty() ? std::string(last_part(*settings.script)) : name));
  out.push_back("--nodes=" + settings.text(OptionId::kNodes));
  out.emplace_back("--ntasks-per-node=1");
  constexpr std::array<OptionId, 8> kPassed = {
      OptionId::kPartition,   OptionId::kAccount,     OptionId::kQos, OptionId::kTime,
      OptionId::kGpusPerNode, OptionId::kCpusPerTask, OptionId::kMem, OptionId::kSlurmOutput};
  for (const OptionId id : kPassed) {
    if (const std::string value = settings.text(id); !value.empty()) {
      out.push_back(fmt::format("--{}={}", option(id).name, value));
    }
  }
  const std::string memory = settings.text(OptionId::kMem);
  if (!memory.empty() && !is_memory(memory)) {
    return cannot_use(settings, OptionId::kMem,
                      fmt::format("'{}': expected sbatch's notation: 200G, or 0 for all",
                                  base::printable(memory)));
  }
  const std::string more = settings.text(OptionId::kSbatch);
  std::vector<std::string> extra;
  if (!more.empty()) {
    auto words = command_words(more);
    if (!words) return cannot_use(settings, OptionId::kSbatch, words.error().what);
    extra = *std::move(words);
  }
  // The one task of a node is all of its workers. Without these Slurm gives it one processor.
  if (!settings.has(OptionId::kCpusPerTask) && !asks_for_processors(extra)) {
    out.emplace_back("--exclusive");
    if (!settings.has(OptionId::kMem) && !asks_for_memory(extra)) out.emplace_back("--mem=0");
  }
  // A dead node must not end the job: robustrun decides what to do.
  out.emplace_back("--no-kill");
  out.emplace_back(requeue ? "--requeue" : "--no-requeue");
  // A requeued job would truncate its output.
  out.emplace_back("--open-mode=append");
  const auto early = slurm_warning(*settings.duration(OptionId::kSaveWithin));
  const std::string time = settings.text(OptionId::kTime);
  const auto limit = slurm_time(time);
  if (!limit && !time.empty() && !is_without_limit(time)) {
    return cannot_use(settings, OptionId::kTime,
                      fmt::format("'{}': expected sbatch's notation: 90 (minutes), 4:00:00, 2-12",
                                  base::printable(time)));
  }
  if (limit && *limit < 2 * early) {
    return cannot_use(settings, OptionId::kTime,
                      fmt::format("Slurm warns {0} s before the end (--save-within and a minute), "
                                  "which leaves little time; give the job at least {1} minutes, "
                                  "or save faster",
                                  early.count(), (2 * early.count() + 59) / 60));
  }
  out.push_back(fmt::format("--signal=B:USR1@{}", early.count()));
  out.insert(out.end(), extra.begin(), extra.end());
  for (const std::string& each : out) {
    if (each.find_first_of("\n\r") == std::string::npos) continue;
    return fail(Errc::kInvalidArgument,
                fmt::format("cannot submit: line end in {}", base::printable(each)));
  }
  return out;
}

}  // namespace robustrun::cli
