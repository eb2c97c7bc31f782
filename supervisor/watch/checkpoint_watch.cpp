#include "supervisor/watch/checkpoint_watch.h"

#include <algorithm>
#include <utility>

#include "supervisor/limits.h"

namespace robustrun::supervisor {
namespace {

CheckpointId id_of(const wire::CheckpointNote& note) {
  return {note.step, note.generation, note.token};
}

// Of two that were committed: generations rise, and within one so do commits.
bool is_older(const CheckpointId& one, const CheckpointId& other) {
  return one.generation != other.generation ? one.generation < other.generation
                                            : one.step < other.step;
}

}  // namespace

void CheckpointWatch::begin_attempt(base::Attempt attempt, std::uint32_t world_size,
                                    base::Nanos began) {
  *this = {};
  attempt_ = attempt;
  began_ = began;
  saves_.resize(world_size);
  commits_.resize(world_size);
}

std::vector<CheckpointWatch::News> CheckpointWatch::take(base::Rank rank, base::NodeId node,
                                                         wire::CheckpointNote note,
                                                         base::Nanos now) {
  if (note.attempt != attempt_ || rank.value >= saves_.size()) return {};
  using Kind = wire::CheckpointNote::Event;
  if (note.event != Kind::kLoaded) {
    total_most_ = std::max(total_most_, std::min(note.total, now - began_));
  }
  std::vector<News> news;
  const auto waits = [now](const std::optional<base::Nanos>& sent) {
    return sent && now - *sent < kCheckpointEventInterval;
  };
  switch (note.event) {
    case Kind::kSaved:
      take_save(rank, note);
      saved_.node = node;
      break;
    case Kind::kCommitted:
      take_commit(rank, note);
      committed_.node = node;
      break;
    case Kind::kLoaded:
      if (take_load(rank, node, note)) {
        news.push_back(loads_.back().news);
        load_changed_.back() = false;
      }
      break;
  }
  if (saved_changed_ && !waits(saved_at_)) {
    saved_at_ = now;
    news.push_back(saved());
  }
  if (committed_changed_ && !waits(committed_at_)) {
    committed_at_ = now;
    news.push_back(committed());
  }
  return news;
}

void CheckpointWatch::take_save(base::Rank rank, const wire::CheckpointNote& note) {
  saves_[rank.value] = {note.count, note.bytes, note.blocking, note.blocking_median,
                        note.blocking_most};
  saved_.event = {attempt_, CheckpointNoted::What::kSaved, id_of(note), note.directories, {}};
  saved_changed_ = true;
}

CheckpointWatch::News CheckpointWatch::saved() {
  News news = saved_;
  CheckpointNoted& event = news.event;
  for (const Saves& one : saves_) {
    if (one.count == 0) continue;
    ++event.ranks;
    event.count = std::max(event.count, one.count);
    event.bytes += one.bytes;
    event.blocking_most = std::max(event.blocking_most, one.most);
    if (one.blocking < event.blocking) continue;
    event.blocking = one.blocking;
    event.blocking_median = one.median;
  }
  event.total_most = total_most_;
  saved_changed_ = false;
  return news;
}

void CheckpointWatch::take_commit(base::Rank rank, const wire::CheckpointNote& note) {
  const bool is_first = !std::exchange(has_commits_, true);
  commits_[rank.value] = note.count;
  // Those of several ranks need not come in their order.
  if (is_first || !is_older(id_of(note), committed_.event.id)) {
    committed_.event = {
        attempt_, CheckpointNoted::What::kCommitted, id_of(note), note.directories, {}};
  }
  committed_changed_ = true;
}

CheckpointWatch::News CheckpointWatch::committed() {
  News news = committed_;
  for (const std::uint64_t count : commits_) {
    news.event.count += count;
    news.event.ranks += count > 0 ? 1 : 0;
  }
  news.event.total_most = total_most_;
  committed_changed_ = false;
  return news;
}

// True for a load that was not reported before: it is the last of loads_ then.
bool CheckpointWatch::take_load(base::Rank rank, base::NodeId node,
                                const wire::CheckpointNote& note) {
  const auto found = std::ranges::find_if(loads_, [&](const Load& load) {
    return load.news.event.id == id_of(note) && load.news.event.source == note.source;
  });
  const auto place = static_cast<std::size_t>(found - loads_.begin());
  const bool is_new = found == loads_.end();
  if (is_new) {
    if (loads_.size() == kLoadsMax) return false;
    CheckpointNoted event{attempt_, CheckpointNoted::What::kLoaded, id_of(note), note.directories,
                          note.source};
    loads_.push_back({{node, std::move(event)}, std::vector<bool>(saves_.size())});
    load_changed_.push_back(true);
  }
  Load& load = loads_[place];
  if (load.ranks[rank.value]) return false;
  load.ranks[rank.value] = true;
  load_changed_[place] = true;
  ++load.news.event.ranks;
  ++load.news.event.count;
  load.news.event.bytes += note.bytes;
  load.news.event.blocking = std::max(load.news.event.blocking, note.blocking);
  return is_new;
}

std::vector<CheckpointWatch::News> CheckpointWatch::rest() {
  std::vector<News> news;
  for (std::size_t i = 0; i < loads_.size(); ++i) {
    if (load_changed_[i]) news.push_back(loads_[i].news);
    load_changed_[i] = false;
  }
  if (saved_changed_) news.push_back(saved());
  if (committed_changed_) news.push_back(committed());
  return news;
}

}  // namespace robustrun::supervisor
