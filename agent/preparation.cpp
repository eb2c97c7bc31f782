#include "agent/preparation.h"

#include <memory>
#include <utility>

#include "agent/worker_version.h"

namespace robustrun::agent {

struct Preparation::Attempt {
  wire::StartWorkers order;
  std::function<bool()> is_wanted;
  Go go;
};

Preparation::Preparation(NodeContext& node, StageFiles& staged)
    : node_(node),
      snapshot_(node),
      hot_files_(node),
      image_(node, [this] { hot_files_.find(); }),
      staged_(staged) {
  if (node.started_with.image.empty()) hot_files_.find();
}

void Preparation::begin_attempt(const wire::StartWorkers& order, std::function<bool()> is_wanted,
                                Go go) {
  const auto attempt =
      std::make_shared<Attempt>(Attempt{order, std::move(is_wanted), std::move(go)});
  image_.begin_attempt([this, attempt](base::Status image) {
    if (!attempt->is_wanted()) return;
    image ? after_image(attempt) : attempt->go(std::move(image));
  });
}

void Preparation::after_image(const std::shared_ptr<Attempt>& attempt) {
  node_.workers = workers_of(node_, attempt->order.version);  // in it
  snapshot_.begin_attempt([this, attempt](base::Status snapshot) {
    if (!attempt->is_wanted()) return;
    snapshot ? after_snapshot(attempt) : attempt->go(std::move(snapshot));
  });
}

void Preparation::after_snapshot(const std::shared_ptr<Attempt>& attempt) {
  node_.workers = workers_of(node_, attempt->order.version);  // with it
  hot_files_.begin_attempt(attempt->order, [this, attempt] {
    if (!attempt->is_wanted()) return;
    staged_.begin_attempt([attempt](base::Status staged) {
      if (attempt->is_wanted()) attempt->go(std::move(staged));
    });
  });
}

void Preparation::end(std::function<void()> done) {
  hot_files_.when_made([this, done = std::move(done)] { image_.end(done); });
}

}  // namespace robustrun::agent
