#include "tracer/analysis/components.h"

#include <algorithm>
#include <limits>

#include "base/core/result.h"

namespace robustrun::tracer {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

class Search {
 public:
  explicit Search(const Successors& graph)
      : graph_(graph),
        order_(graph.first.size() - 1, kNone),
        lowest_(order_.size(), 0),
        component_(order_.size(), kNone),
        next_(graph.first.begin(), graph.first.end() - 1) {}

  std::vector<std::uint32_t> run() {
    for (std::uint32_t v = 0; v < order_.size(); ++v) {
      if (order_[v] == kNone) visit(v);
    }
    return std::move(component_);
  }

 private:
  void visit(std::uint32_t root) {
    enter(root);
    while (!path_.empty()) {
      const std::uint32_t v = path_.back();
      if (next_[v] < graph_.first[v + 1]) {
        const std::uint32_t to = graph_.targets[next_[v]++];
        if (order_[to] == kNone) {
          enter(to);
        } else if (component_[to] == kNone) {
          lowest_[v] = std::min(lowest_[v], order_[to]);
        }
        continue;
      }
      path_.pop_back();
      if (!path_.empty()) lowest_[path_.back()] = std::min(lowest_[path_.back()], lowest_[v]);
      if (lowest_[v] == order_[v]) close(v);
    }
  }

  void enter(std::uint32_t v) {
    order_[v] = lowest_[v] = count_++;
    path_.push_back(v);
    open_.push_back(v);
  }

  void close(std::uint32_t v) {
    for (std::uint32_t member = kNone; member != v;) {
      member = open_.back();
      open_.pop_back();
      component_[member] = closed_;
    }
    ++closed_;
  }

  const Successors& graph_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> lowest_;
  std::vector<std::uint32_t> component_;
  std::vector<std::uint32_t> next_;
  std::vector<std::uint32_t> path_;
  std::vector<std::uint32_t> open_;
  std::uint32_t count_ = 0;
  std::uint32_t closed_ = 0;
};

}  // namespace

std::vector<std::uint32_t> components(const Successors& graph) {
  RR_ASSERT(!graph.first.empty());
  return Search(graph).run();
}

}  // namespace robustrun::tracer
