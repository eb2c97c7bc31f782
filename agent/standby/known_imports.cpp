#include "agent/standby/known_imports.h"

#include <boost/asio/steady_timer.hpp>
#include <string_view>
#include <utility>

#include "agent/node/limits.h"
#include "agent/standby/limits.h"
#include "base/io/blocking_pool.h"
#include "base/io/fd.h"
#include "base/io/log.h"
#include "bootstrap/hot/profile_store.h"
#include "wire/messages/limits.h"

namespace robustrun::agent {
namespace {

// Lines that may be added to a worker's list.
constexpr std::string_view kSpoilt = "spoilt yes\n";
constexpr std::string_view kNotKept = "\nkeep no\n";

bootstrap::ImportsKey imports_key(const wire::WorkerTemplate& workers) {
  std::string program = workers.program;
  if (!program.starts_with('/') && workers.mode == wire::LaunchMode::kScript) {
    program = workers.working_directory + "/" + program;
  }
  const bool is_module = workers.mode == wire::LaunchMode::kModule;
  return {{workers.interpreter, std::move(program)},
          workers.arguments,
          is_module ? workers.working_directory : std::string()};
}

}  // namespace

class KnownImports::Impl : public std::enable_shared_from_this<Impl> {
 public:
  explicit Impl(NodeContext& node)
      : node_(node), patience_(node.executor), pool_(node.executor, 1, 2) {}

  void find(std::function<void(std::string)> go) {
    go_ = std::move(go);
    if (node_.workers.cache_directory.empty()) return found({});
    auto list = std::make_shared<std::string>();
    const auto look = [list, cache = node_.workers.cache_directory,
                       key = imports_key(node_.workers)] {
      *list = bootstrap::load_imports(cache, key);
      if (list->ends_with(kSpoilt)) list->clear();
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

  void keep(const std::string& path) {
    if (node_.workers.cache_directory.empty()) return;
    change([path](const std::string& cache, const bootstrap::ImportsKey& key) -> base::Status {
      const std::string list = RR_TRY(base::read_file(path, wire::kModulesBytesMax));
      const std::string known = bootstrap::load_imports(cache, key);
      const bool is_known = known == list || known == list + std::string(kSpoilt);
      if (is_known || list.find(kNotKept) != std::string::npos) return {};
      return bootstrap::save_imports(cache, key, list);
    });
  }

  void spoil() {
    change([](const std::string& cache, const bootstrap::ImportsKey& key) -> base::Status {
      const std::string known = bootstrap::load_imports(cache, key);
      if (known.empty() || known.ends_with(kSpoilt)) return {};
      return bootstrap::save_imports(cache, key, known + std::string(kSpoilt));
    });
  }

  void abandon() {
    go_ = nullptr;
    patience_.cancel();
  }

 private:
  using Change = std::function<base::Status(const std::string&, const bootstrap::ImportsKey&)>;

  void found(std::string list) {
    patience_.cancel();
    if (const auto go = std::exchange(go_, nullptr)) go(std::move(list));
  }

  void change(const Change& make) {
    const auto work = [make, cache = node_.workers.cache_directory,
                       key = imports_key(node_.workers)] {
      const base::Status made = make(cache, key);
      if (!made)
        RR_LOG(kDebug, {}, "the next run does not know the imports: {}", made.error().what);
    };
    static_cast<void>(pool_.submit(kSingleLane, work, [] {}));
  }

  NodeContext& node_;
  boost::asio::steady_timer patience_;
  std::function<void(std::string)> go_;
  base::BlockingPool pool_;  // of its own: the cache's file system may hang
};

KnownImports::KnownImports(NodeContext& node) : impl_(std::make_shared<Impl>(node)) {}
KnownImports::~KnownImports() { impl_->abandon(); }
void KnownImports::find(std::function<void(std::string)> go) { impl_->find(std::move(go)); }
void KnownImports::keep(const std::string& path) { impl_->keep(path); }
void KnownImports::spoil() { impl_->spoil(); }

}  // namespace robustrun::agent
