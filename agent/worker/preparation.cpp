#include "agent/worker/preparation.h"

#include <memory>
#include <utility>

#include "agent/spawn/worker_version.h"
#include "base/io/log.h"

namespace robustrun::agent {

struct Preparation::Attempt {
  wire::StartWorkers order;
  std::function<bool()> is_wanted;
  Go go;
};

Preparation::Preparation(NodeContext& node, BlockPeers& peers, StageFiles& staged,
                         std::function<void()> end_workers)
    : node_(node),
      peers_(peers),
      snapshot_(node, peers),
      hot_files_(node),
      image_(node,
             {[this] { hot_files_.find(); },
              [this](const std::string& socket) { share_image(socket); }, std::move(end_workers)}),
      staged_(staged),
      profiler_(node) {
  if (node.started_with.image.empty()) hot_files_.find();
}

void Preparation::share_image(const std::string& socket) {
  keep_image();
  if (!node_.started_with.share_blocks) return;
  peers_.when_known([this, socket] {
    if (!link_) link_image(socket);
  });
}

void Preparation::link_image(const std::string& socket) {
  auto fd = connect_block_server(socket);
  auto link = fd ? BlockServerLink::make(node_, peers_.asker(), *std::move(fd), {},
                                         [this] { keep_image(); })
                 : std::unexpected(std::move(fd).error());
  if (!link) {
    RR_LOG(kWarn, {}, "the image is not shared with other nodes: {}", link.error().what);
    return;
  }
  link_ = *std::move(link);
  peers_.server().add(*link_);
}

void Preparation::keep_image() {
  peers_.when_known({});
  if (!link_) return;
  peers_.server().remove(*link_);
  std::exchange(link_, nullptr)->abandon();
}

void Preparation::begin_attempt(const wire::StartWorkers& order, std::function<bool()> is_wanted,
                                Go go) {
  const auto attempt =
      std::make_shared<Attempt>(Attempt{order, std::move(is_wanted), std::move(go)});
  staged_.begin_code([this, attempt](base::Status code) {
    if (!attempt->is_wanted()) return;
    if (!code) return attempt->go(std::move(code));
    image_.begin_attempt([this, attempt](base::Status image) {
      if (!attempt->is_wanted()) return;
      image ? after_image(attempt) : attempt->go(std::move(image));
    });
  });
}

void Preparation::after_image(const std::shared_ptr<Attempt>& attempt) {
  node_.workers = workers_of(node_, attempt->order.version);  // in the image
  snapshot_.begin_attempt([this, attempt](base::Status snapshot) {
    if (!attempt->is_wanted()) return;
    snapshot ? after_snapshot(attempt) : attempt->go(std::move(snapshot));
  });
}

void Preparation::after_snapshot(const std::shared_ptr<Attempt>& attempt) {
  node_.workers = workers_of(node_, attempt->order.version);  // with the snapshot
  hot_files_.begin_attempt(attempt->order, [this, attempt] {
    if (!attempt->is_wanted()) return;
    staged_.begin_attempt([this, attempt](base::Status staged) {
      if (!attempt->is_wanted()) return;
      if (!staged) return attempt->go(std::move(staged));
      profiler_.find([attempt] {
        if (attempt->is_wanted()) attempt->go({});
      });
    });
  });
}

void Preparation::begin_standbys(Go go) {
  staged_.begin_code([this, go = std::move(go)](base::Status code) {
    if (!code) return go(std::move(code));
    image_.begin_attempt([this, go](base::Status image) {  // the installer is in the image
      if (!image) return go(std::move(image));
      snapshot_.begin_attempt([this, go](base::Status snapshot) {
        if (!snapshot) return go(std::move(snapshot));
        profiler_.find([go] { go({}); });
      });
    });
  });
}

void Preparation::end(std::function<void()> done) {
  hot_files_.when_made([this, done = std::move(done)] { image_.end(done); });
}

}  // namespace robustrun::agent
