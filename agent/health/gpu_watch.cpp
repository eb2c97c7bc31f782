#include "agent/health/gpu_watch.h"

#include <fmt/core.h>

#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "agent/health/limits.h"
#include "agent/node/limits.h"
#include "base/core/text.h"

namespace robustrun::agent {
namespace {

using wire::NodeHealth;

constexpr const char* kLibraryName = "NVML";

}  // namespace

void GpuWatch::start() {
  rest_.clear();
  beat_at_ = node_.clock.now();
  Question question{
      node_.shim, {node_.executable, "agent", "--watch-gpus"}, node_.workers.environment, {}, {}};
  question.on_text = [this](std::string_view text) { take(text); };
  program_ = AskedProgram::ask(node_.executor, std::move(question),
                               [this](const base::Result<std::string>& end) {
                                 if (!end) report_refusal(end.error().what);
                                 stop();
                               });
  check();
}

void GpuWatch::check() {
  check_.after(kHealthTick,
               [this] { node_.clock.now() - beat_at_ >= kGpuSilenceMax ? on_silence() : check(); });
}

void GpuWatch::on_silence() {
  if (!std::exchange(silence_reported_, true)) {
    report(fmt::format("{} does not answer for {} s", kLibraryName, kGpuSilenceMax.count()), false);
  }
  stop();
}

// The helper ended or is of no use.
void GpuWatch::stop() {
  program_.reset();
  check_.cancel();
  if (!is_useless_) check_.after(kGpuHelperAgain, [this] { start(); });
}

void GpuWatch::take(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    rest_ += text.substr(0, end);
    if (end == text.npos) {
      if (rest_.size() > kHealthFileBytesMax) rest_.clear();  // not our helper's format
      return;
    }
    text.remove_prefix(end + 1);
    take_line(std::exchange(rest_, {}));
  }
}

void GpuWatch::take_line(const std::string& line) {
  constexpr std::string_view kRefused = "refused ";
  beat_at_ = node_.clock.now();
  if (std::exchange(silence_reported_, false)) {
    refusal_reported_ = false;  // this ends its finding, too
    report(fmt::format("{} answers again", kLibraryName), true);
  }
  if (line == "none") is_useless_ = true;
  if (line.starts_with(kRefused)) report_refusal(line.substr(kRefused.size(), kFactBytesMax));
  if (auto xid = parse_xid_line(line)) return on_news_(*std::move(xid));
  const auto sensors = parse_gpu_line(line);
  if (!sensors) return;
  if (std::exchange(refusal_reported_, false)) {
    report(fmt::format("{} works again", kLibraryName), true);
  }
  for (NodeHealth& finding : history_.take(*sensors)) on_news_({std::move(finding), {}});
}

void GpuWatch::report_refusal(const std::string& why) {
  if (std::exchange(refusal_reported_, true)) return;
  report(fmt::format("{} does not work: {}", kLibraryName, base::printable(why)), false);
}

bool has_gpu_driver(const std::string& root) {
  constexpr std::array<const char*, 3> kSigns = {"/dev/nvidiactl", "/proc/driver/nvidia",
                                                 "/dev/dxg"};
  std::error_code ignored;
  for (const char* const sign : kSigns) {
    if (std::filesystem::exists(root + sign, ignored)) return true;
  }
  return false;
}

void GpuWatch::report(std::string line, bool over) {
  on_news_({{NodeHealth::Source::kGpu, kLibraryName, std::move(line), 0, over}, {}});
}

}  // namespace robustrun::agent
