#include "agent/standby/known_imports.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <boost/asio/steady_timer.hpp>
#include <charconv>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include "agent/node/limits.h"
#include "agent/spawn/standby_match.h"
#include "agent/standby/limits.h"
#include "base/core/hash.h"
#include "base/io/blocking_pool.h"
#include "base/io/fd.h"
#include "base/io/log.h"
#include "bootstrap/hot/profile_store.h"
#include "bootstrap/image/file_system.h"
#include "wire/messages/limits.h"

namespace robustrun::agent {
namespace {

// A worker that asks for no keeping; and what replaces a list that is not to be used.
constexpr std::string_view kNotKept = "\nkeep no\n";
constexpr std::string_view kSpoilt = "robustrun-modules 1\nspoilt ";  // and Unix seconds

// Variables that differ from run to run, or from terminal to terminal, and choose no imports.
bool is_of_one_run(std::string_view name) {
  constexpr std::array<std::string_view, 15> kBeginnings = {
      "ROBUSTRUN_", "TORCHELASTIC_", "LOCAL_", "SLURM", "PBS_", "LSB_", "SGE_",   "JOB_",
      "SSH_",       "XDG_",          "DBUS_",  "TMUX",  "TERM", "LC_",  "VSCODE_"};
  constexpr std::array<std::string_view, 13> kNames = {
      "PWD",           "OLDPWD",         "SHLVL",         "_",       "HOSTNAME",
      "TMPDIR",        "WINDOWID",       "STY",           "COLUMNS", "LINES",
      "INVOCATION_ID", "JOURNAL_STREAM", "TTY_COMPATIBLE"};
  return std::ranges::find(kNames, name) != kNames.end() ||
         std::ranges::find(kAttemptVariables, name) != kAttemptVariables.end() ||
         std::ranges::any_of(kBeginnings, [&](auto each) { return name.starts_with(each); });
}

// Where the list of these workers lies.
class Place {
 public:
  explicit Place(const wire::WorkerTemplate& workers)
      : cache_(workers.cache_directory),
        interpreter_(workers.interpreter),
        folder_(workers.working_directory),
        script_(workers.mode == wire::LaunchMode::kScript ? workers.program : ""),
        arguments_(workers.arguments) {
    for (const std::string& variable : workers.environment) {
      if (!is_of_one_run(std::string_view(variable).substr(0, variable.find('=')))) {
        variables_.push_back(variable);
      }
    }
    std::ranges::sort(variables_);
  }

  // Blocks. nullopt: these workers have none.
  [[nodiscard]] std::optional<std::uint64_t> start() const {
    if (cache_.empty() || script_.empty()) return std::nullopt;
    // By its content: jobs often run a copy of the script.
    const auto script = base::read_file(path_of(script_), kScriptBytesMax);
    if (!script) return std::nullopt;  // a folder, perhaps
    std::uint64_t sum = base::hash64(*script);
    for (const std::string& variable : variables_) sum = base::hash64(variable, sum);
    for (const std::string& argument : arguments_) {
      sum = base::hash64(argument, sum);
      for (const std::size_t from : {std::size_t{0}, argument.find('=') + 1}) {
        const std::string path = path_of(argument.substr(from));
        struct stat status{};
        const bool is_file = ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
                             static_cast<std::size_t>(status.st_size) <= kNamedFileBytesMax;
        const auto text = is_file ? base::read_file(path, kNamedFileBytesMax)
                                  : base::Result<std::string>(std::string());
        sum = base::hash64(text ? *text : std::string(), sum);
      }
    }
    return sum;
  }
  [[nodiscard]] std::string load(std::uint64_t start) const {
    return bootstrap::load_imports(cache_, interpreter_, start);
  }
  [[nodiscard]] base::Status save(std::uint64_t start, const std::string& list) const {
    return bootstrap::save_imports(cache_, interpreter_, start, list);
  }
  [[nodiscard]] bool is_shared() const {
    return bootstrap::file_system_of(cache_) == bootstrap::FileSystem::kShared;
  }

 private:
  [[nodiscard]] std::string path_of(const std::string& name) const {
    return name.starts_with('/') ? name : folder_ + "/" + name;
  }

  std::string cache_, interpreter_, folder_, script_;
  std::vector<std::string> arguments_, variables_;
};

std::int64_t unix_seconds(const base::Clock& clock) {
  return std::chrono::duration_cast<std::chrono::seconds>(clock.wall_time()).count();
}

bool is_spoilt(std::string_view list, std::int64_t now_s) {
  if (!list.starts_with(kSpoilt)) return false;
  std::int64_t since = 0;
  const std::string_view number = list.substr(kSpoilt.size());
  std::from_chars(number.data(), number.data() + number.size(), since);
  return std::chrono::seconds(now_s - since) < kImportsSpoiltFor;
}

}  // namespace

class KnownImports::Impl : public std::enable_shared_from_this<Impl> {
 public:
  explicit Impl(NodeContext& node)
      : node_(node), patience_(node.executor), pool_(node.executor, 1, 2) {}

  void find(std::function<void(std::string)> go) {
    go_ = std::move(go);
    auto list = std::make_shared<std::string>();
    const auto look = [list, place = Place(node_.workers)] {
      const auto start = place.start();
      if (start) *list = place.load(*start);
      if (list->starts_with(kSpoilt)) list->clear();
    };
    const auto done = [self = weak_from_this(), list] {
      if (const auto imports = self.lock()) imports->found(std::move(*list));
    };
    if (!pool_.submit(kSingleLane, look, done)) return found({});
    patience_.expires_after(kImportsKnownMax);
    patience_.async_wait([self = weak_from_this()](const boost::system::error_code& error) {
      const auto imports = error ? nullptr : self.lock();
      if (imports) imports->found({});
    });
  }

  void keep(const std::string& path, bool is_first_node) {
    change([path, is_first_node, now_s = unix_seconds(node_.clock)](
               const Place& place, std::uint64_t start) -> base::Status {
      if (!is_first_node && place.is_shared()) return {};
      const std::string list = RR_TRY(base::read_file(path, wire::kModulesBytesMax));
      const std::string known = place.load(start);
      if (known == list || is_spoilt(known, now_s) || list.contains(kNotKept)) return {};
      return place.save(start, list);
    });
  }

  void spoil() {
    change([now_s = unix_seconds(node_.clock)](const Place& place, std::uint64_t start) {
      return place.save(start, fmt::format("{}{}\n", kSpoilt, now_s));
    });
  }

  void abandon() {
    go_ = nullptr;
    patience_.cancel();
  }

 private:
  void found(std::string list) {
    patience_.cancel();
    if (const auto go = std::exchange(go_, nullptr)) go(std::move(list));
  }

  void change(std::function<base::Status(const Place&, std::uint64_t)> make) {
    auto made = std::make_shared<base::Status>();
    const auto work = [made, make = std::move(make), place = Place(node_.workers)] {
      if (const auto start = place.start()) *made = make(place, *start);
    };
    static_cast<void>(pool_.submit(kSingleLane, work, [made] {
      if (*made) return;
      RR_LOG(kDebug, {}, "the next run does not know the imports: {}", made->error().what);
    }));
  }

  NodeContext& node_;
  boost::asio::steady_timer patience_;
  std::function<void(std::string)> go_;
  base::BlockingPool pool_;  // of its own: the cache's file system may hang
};

KnownImports::KnownImports(NodeContext& node) : impl_(std::make_shared<Impl>(node)) {}
KnownImports::~KnownImports() { impl_->abandon(); }
void KnownImports::find(std::function<void(std::string)> go) { impl_->find(std::move(go)); }
void KnownImports::keep(const std::string& path, bool is_first_node) {
  impl_->keep(path, is_first_node);
}
void KnownImports::spoil() { impl_->spoil(); }

}  // namespace robustrun::agent
