#include "agent/health/gpu_watch.h"

#include <fmt/core.h>

#include <array>
#include <boost/asio/steady_timer.hpp>
#include <filesystem>
#include <system_error>
#include <utility>

#include "agent/health/limits.h"
#include "agent/node/limits.h"
#include "agent/process/ask_program.h"
#include "base/core/text.h"

namespace robustrun::agent {
namespace {

namespace asio = boost::asio;
using base::Nanos;
using wire::NodeHealth;

constexpr const char* kLibraryName = "NVML";

class GpuHelper : public std::enable_shared_from_this<GpuHelper> {
 public:
  GpuHelper(NodeContext& node, GpuWatch::OnNews on_news)
      : node_(node), on_news_(std::move(on_news)), check_(node.executor) {}

  void start() {
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

  void drop() {
    dropped_ = true;
    check_.cancel();
    program_.reset();
  }

  [[nodiscard]] std::string name_of(std::string_view pci) const { return history_.name_of(pci); }

 private:
  void check() {
    check_.expires_after(kHealthTick);
    check_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (error || self->dropped_) return;
      if (self->is_silent()) return self->on_silence();
      self->check();
    });
  }
  [[nodiscard]] bool is_silent() const { return node_.clock.now() - beat_at_ >= kGpuSilenceMax; }

  void on_silence() {
    if (!std::exchange(silence_reported_, true)) {
      report(fmt::format("{} does not answer for {} s", kLibraryName, kGpuSilenceMax.count()),
             false);
    }
    stop();
  }

  // The helper ended or is of no use.
  void stop() {
    program_.reset();
    check_.cancel();
    if (is_useless_ || dropped_) return;
    check_.expires_after(kGpuHelperAgain);
    check_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (!error && !self->dropped_) self->start();
    });
  }

  void take(std::string_view text) {
    while (!text.empty() && !dropped_) {
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

  void take_line(const std::string& line) {
    constexpr std::string_view kRefused = "refused ";
    beat_at_ = node_.clock.now();
    if (std::exchange(silence_reported_, false)) {
      report(fmt::format("{} answers again", kLibraryName), true);
    }
    if (line == "none") is_useless_ = true;
    if (line.starts_with(kRefused)) report_refusal(line.substr(kRefused.size(), kFactBytesMax));
    if (auto xid = parse_xid_line(line)) return on_news_(*std::move(xid));
    const auto sensors = parse_gpu_line(line);
    if (!sensors) return;
    refusal_reported_ = false;
    for (NodeHealth& finding : history_.take(*sensors)) on_news_({std::move(finding), {}});
  }

  void report_refusal(const std::string& why) {
    if (std::exchange(refusal_reported_, true)) return;
    report(fmt::format("{} does not work: {}", kLibraryName, base::printable(why)), false);
  }

  void report(std::string line, bool over) {
    on_news_({{NodeHealth::Source::kGpu, kLibraryName, std::move(line), 0, over}, {}});
  }

  NodeContext& node_;
  GpuWatch::OnNews on_news_;
  asio::steady_timer check_;
  std::unique_ptr<AskedProgram> program_;
  GpuHistory history_;
  std::string rest_;
  Nanos beat_at_{};
  bool silence_reported_ = false;
  bool refusal_reported_ = false;
  bool is_useless_ = false;
  bool dropped_ = false;
};

class GpuWatchOwner final : public GpuWatch {
 public:
  explicit GpuWatchOwner(std::shared_ptr<GpuHelper> helper) : helper_(std::move(helper)) {}
  ~GpuWatchOwner() override {
    if (helper_) helper_->drop();
  }
  GpuWatchOwner(const GpuWatchOwner&) = delete;
  GpuWatchOwner& operator=(const GpuWatchOwner&) = delete;
  [[nodiscard]] std::string name_of(std::string_view pci) const override {
    return helper_ ? helper_->name_of(pci) : std::string();
  }

 private:
  std::shared_ptr<GpuHelper> helper_;  // null: there is no driver
};

}  // namespace

bool has_gpu_driver(const std::string& root) {
  constexpr std::array<const char*, 3> kSigns = {"/dev/nvidiactl", "/proc/driver/nvidia",
                                                 "/dev/dxg"};
  std::error_code ignored;
  for (const char* const sign : kSigns) {
    if (std::filesystem::exists(root + sign, ignored)) return true;
  }
  return false;
}

std::unique_ptr<GpuWatch> GpuWatch::start(NodeContext& node, const std::string& root,
                                          OnNews on_news) {
  if (!has_gpu_driver(root)) return std::make_unique<GpuWatchOwner>(nullptr);
  auto helper = std::make_shared<GpuHelper>(node, std::move(on_news));
  helper->start();
  return std::make_unique<GpuWatchOwner>(std::move(helper));
}

}  // namespace robustrun::agent
