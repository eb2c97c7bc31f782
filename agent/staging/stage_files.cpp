#include "agent/staging/stage_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "agent/staging/limits.h"
#include "agent/staging/node_code.h"
#include "agent/staging/staged_file.h"
#include "base/io/log.h"
#include "base/io/private_dir.h"

namespace robustrun::agent {
namespace {

// Replaces what an earlier attempt left there.
base::Status link_staged(const std::string& directory, const std::string& path,
                         const std::string& data) {
  RR_TRY(base::make_private_directory(directory));
  const std::string link = directory + path.substr(path.rfind('/'));
  ::unlink(link.c_str());
  if (::symlink(data.c_str(), link.c_str()) == 0) return {};
  return base::fail_errno("cannot make the link " + link, errno);
}

}  // namespace

std::string stage_directory(const std::string& runtime_directory) {
  return runtime_directory + "/stage";
}

class StageFiles::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(NodeContext& node, BlockPeers& peers)
      : node_(node), peers_(peers), began_at_(node.clock.now()) {}

  void begin() {
    if (node_.workers.stage.empty() && !node_.workers.code) return;
    origin_.emplace(node_.executor, kStageOriginThreads, kStageQueueMax);
    store_.emplace(node_.executor, kStageStoreThreads, kStageQueueMax);
    const StageContext context{node_, peers_.asker(), *origin_, *store_};
    code_ = std::make_shared<NodeCode>(context);
    if (StagedFile* const pack = code_->pack()) peers_.server().add(*pack);
    code_->begin();
    for (const std::string& path : node_.workers.stage) {
      files_.push_back(std::make_shared<StagedFile>(context, path));
      peers_.server().add(*files_.back());
    }
    bring();
  }

  void begin_code(std::function<void(base::Status)> go) {
    code_ ? code_->begin_attempt(std::move(go)) : go({});
  }

  bool take(const wire::Message& message) { return code_ && code_->take(message); }

  void begin_attempt(std::function<void(base::Status)> go) {
    go_ = std::move(go);
    if (waiting_for_ > 0) return;
    if (status_) return call_back();
    bring();  // again: the cause of the failure may be over
  }

  void abandon() {
    go_ = nullptr;
    for (const auto& file : files_) {
      peers_.server().remove(*file);
      file->abandon();
    }
    files_.clear();
    if (code_) {
      if (StagedFile* const pack = code_->pack()) peers_.server().remove(*pack);
      code_->abandon();
    }
    code_.reset();
    origin_.reset();
    store_.reset();
  }

 private:
  void bring() {
    if (files_.empty()) return;
    status_ = {};
    waiting_for_ = files_.size();
    node_.stages.begin(wire::StageName::kEnvironment, StagePart::kFiles);
    for (const auto& file : files_) {
      file->begin([weak = weak_from_this(), from = std::weak_ptr(file)](base::Status status) {
        const auto self = weak.lock();
        const auto one = from.lock();
        if (self && one) self->on_file(*one, std::move(status));
      });
    }
  }

  void on_file(const StagedFile& file, base::Status status) {
    if (status) {
      status = link_staged(stage_directory(node_.runtime_directory), file.path(), file.data_path());
    }
    if (status) {
      const StagedFrom from = file.from();
      RR_LOG(kDebug, {},
             "{} is staged after {} ms: {} blocks from the store, {} from peers, {} read",
             file.path(),
             std::chrono::duration_cast<std::chrono::milliseconds>(node_.clock.now() - began_at_)
                 .count(),
             from.store, from.peers, from.file);
    }
    if (!status && status_) status_ = std::move(status);
    if (--waiting_for_ > 0) return;
    if (status_) node_.stages.end(wire::StageName::kEnvironment, StagePart::kFiles);
    call_back();
  }

  void call_back() {
    if (go_) std::exchange(go_, nullptr)(status_);
  }

  NodeContext& node_;
  BlockPeers& peers_;
  base::Nanos began_at_;
  std::optional<base::BlockingPool> origin_, store_;  // of their own: both may hang
  std::vector<std::shared_ptr<StagedFile>> files_;
  std::shared_ptr<NodeCode> code_;
  std::size_t waiting_for_ = 0;
  base::Status status_;
  std::function<void(base::Status)> go_;
};

StageFiles::StageFiles(NodeContext& node, BlockPeers& peers)
    : impl_(std::make_shared<Impl>(node, peers)) {
  impl_->begin();
}
StageFiles::~StageFiles() { impl_->abandon(); }
void StageFiles::begin_code(std::function<void(base::Status)> go) {
  impl_->begin_code(std::move(go));
}
bool StageFiles::take(const wire::Message& message) { return impl_->take(message); }
void StageFiles::begin_attempt(std::function<void(base::Status)> go) {
  impl_->begin_attempt(std::move(go));
}

}  // namespace robustrun::agent
