// What is selected and shown, and what keys change. The picture: draw.cpp.

#include "cli/top/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/core/text.h"
#include "cli/top/words.h"

namespace robustrun::cli {
namespace {

// Readings of the loss, as the journal has them, are some seconds apart.
constexpr base::Nanos kLossInterval = std::chrono::seconds(2);
constexpr std::size_t kReadingsKept = 256;
constexpr std::size_t kFilterBytesMax = 64;
constexpr std::size_t kFaultBytesMax = 40;
constexpr std::size_t kUpdateBytesMax = 1000;
constexpr std::size_t kPanelLinesMax = 2000;
constexpr std::size_t kIndent = 2;

// Fits 80 x 24.
constexpr std::string_view kHelp = R"(arrows, j k   choose a rank or node
tab           the next rank in trouble
enter         zoom in: from a rack or group to its nodes, then ranks; esc out
/ TEXT        only hosts with TEXT in their name, or the node of rank TEXT
s             the most urgent nodes first; again: by node rank

l             the end of the rank's log
d             which rank blocks the job, with evidence (robustrun diagnose)
S, A          the stack of the rank; those of all ranks, each distinct one once
i, t          incidents so far; where the time went

I, E, U and X ask first; nothing else here changes the run:
I             inject a fault into the rank or its node (robustrun inject)
E             evict the node: the run goes on without it
U             new code, variables or arguments (robustrun update)
X             stop the run (robustrun stop)

q, Ctrl-C     quit; the run goes on       Ctrl-L   draw the screen anew)";

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (const std::string_view line : base::split(text, '\n')) {
    if (lines.size() == kPanelLinesMax) break;
    lines.emplace_back(line);
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

std::vector<StyledLine> plain(const std::vector<std::string>& lines) {
  std::vector<StyledLine> out;
  for (const std::string& line : lines) out.push_back({line, {}});
  return out;
}

// Breaks long lines at spaces; what follows is indented as deep as the line, and a little more.
std::vector<std::string> wrapped(const std::vector<std::string>& lines, std::size_t width) {
  std::vector<std::string> out;
  for (std::string line : lines) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), width / 2) + kIndent;
    while (line.size() > width) {
      const std::size_t space = line.rfind(' ', width);
      const std::size_t cut = space == line.npos || space < indent ? width : space;
      out.push_back(line.substr(0, cut));
      line = std::string(indent, ' ') + line.substr(cut + (line[cut] == ' ' ? 1 : 0));
    }
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace

void View::take(supervisor::RunStatus status, base::Nanos now) {
  const bool is_another_attempt = has_status_ && status.attempt != status_.attempt;
  if (status.exit_code && !has_ended()) outcome_at_.reset();  // "the run is ending"
  status_ = std::move(status);
  has_status_ = true;
  heard_at_ = now;
  failure_.clear();
  cells_ = cells_of(status_);
  const auto loss = loss_of(status_.metrics);
  if (loss && status_.steps != loss_step_ && now - loss_at_ >= kLossInterval) {
    losses_.push_back(*loss);
    if (losses_.size() > kReadingsKept) losses_.erase(losses_.begin());
    loss_step_ = status_.steps;
    loss_at_ = now;
  }
  if (is_another_attempt) log_ = {};
  settle();
}

void View::settle() {
  list_shown();
  if (follows_) select_most_urgent();
  if (shown_.empty()) return;
  if (std::ranges::find(shown_, selected_.node) == shown_.end()) selected_ = {shown_.front(), 0};
  const std::size_t ranks = cells_[selected_.node].ranks.size();
  if (selected_.local >= ranks) {
    selected_.local = ranks == 0 ? 0 : static_cast<std::uint32_t>(ranks - 1);
  }
}

bool View::matches(std::size_t node) const {
  if (filter_.empty()) return true;
  const supervisor::NodeStatus& each = status_.nodes[node];
  if (each.name.contains(filter_) || each.address.contains(filter_)) return true;
  const auto rank = base::parse_int<std::uint32_t>(filter_);
  return rank && *rank >= each.first_rank && *rank - each.first_rank < each.ranks.size();
}

// Racks in the order of their first nodes; or the most urgent racks and nodes first.
void View::sort_shown() {
  struct Rack {
    std::size_t first = 0;
    CellState state = CellState::kOut;
  };
  std::map<std::string_view, Rack> racks;
  for (const std::size_t node : shown_) {
    const std::string& name = status_.nodes[node].rack;
    Rack& rack = racks.emplace(name, Rack{node, CellState::kOut}).first->second;
    rack.state = std::min(rack.state, cells_[node].state);
  }
  if (racks.size() < 2 && !by_urgency_) return;
  std::ranges::stable_sort(shown_, {}, [&](std::size_t node) {
    const Rack& rack = racks.at(status_.nodes[node].rack);
    return by_urgency_ ? std::tuple(rack.state, rack.first, cells_[node].state)
                       : std::tuple(CellState::kBlocks, rack.first, CellState::kBlocks);
  });
}

void View::list_shown() {
  shown_.clear();
  for (std::size_t node = 0; node < cells_.size(); ++node) {
    if (matches(node)) shown_.push_back(node);
  }
  sort_shown();
  if (zoom_last_ == 0) return;
  const std::size_t last = std::min(zoom_last_, shown_.size());
  const std::size_t first = std::min(zoom_first_, last);
  shown_ = {shown_.begin() + static_cast<std::ptrdiff_t>(first),
            shown_.begin() + static_cast<std::ptrdiff_t>(last)};
}

// The most urgent rank of shown_[first … last − 1]; the first of several.
void View::select_in(std::size_t first, std::size_t last) {
  if (first >= shown_.size()) return;
  const auto urgency = [this](std::size_t node) { return cells_[node].state; };
  const auto begin = shown_.begin() + static_cast<std::ptrdiff_t>(first);
  const auto end = shown_.begin() + static_cast<std::ptrdiff_t>(std::min(last, shown_.size()));
  const auto found = std::ranges::min_element(begin, end, {}, urgency);
  if (found == end) return;
  const auto& ranks = cells_[*found].ranks;
  const auto rank = std::ranges::min_element(ranks, {}, &RankCell::state);
  selected_ = {*found, static_cast<std::uint32_t>(rank - ranks.begin())};
  if (ranks.empty()) selected_.local = 0;
}

void View::select_most_urgent() {
  const auto is_calm = [this](std::size_t node) { return !is_trouble(cells_[node].state); };
  // Among healthy ranks the first one is the one to look at.
  if (shown_.empty() || std::ranges::all_of(shown_, is_calm)) {
    if (!shown_.empty()) selected_ = {shown_.front(), 0};
    return;
  }
  select_in(0, shown_.size());
}

std::size_t View::position() const {
  const auto found = std::ranges::find(shown_, selected_.node);
  return found == shown_.end() ? 0 : static_cast<std::size_t>(found - shown_.begin());
}

std::optional<std::uint32_t> View::selected_rank() const {
  if (selected_.node >= cells_.size() || shown_.empty()) return std::nullopt;
  const auto& ranks = cells_[selected_.node].ranks;
  if (selected_.local >= ranks.size()) return std::nullopt;
  return ranks[selected_.local].rank;
}

void View::move(int across, int down) {
  if (shown_.empty()) return;
  follows_ = false;
  const auto last = static_cast<std::int64_t>(shown_.size()) - 1;
  const auto at = static_cast<std::int64_t>(position());
  if (!groups_.empty()) {
    const std::int64_t to = static_cast<std::int64_t>(selected_group()) + across +
                            std::int64_t{down} * layout_.cells_per_row;
    if (to < 0 || to >= static_cast<std::int64_t>(groups_.size())) return;
    const Span& group = groups_[static_cast<std::size_t>(to)];
    return select_in(group.first, group.last);
  }
  const auto ranks = static_cast<std::int64_t>(cells_[selected_.node].ranks.size());
  std::int64_t local = std::int64_t{selected_.local} + across;
  std::int64_t to = std::clamp<std::int64_t>(at + down, 0, last);
  // At the edge: to the table beside this one.
  if (across != 0 && (local < 0 || local >= std::max<std::int64_t>(1, ranks))) {
    to = at + std::int64_t{across} * std::max(1, layout_.rows);
    if (to < 0 || to > last) return;
    local = across > 0 ? 0 : INT32_MAX;
  }
  selected_.node = shown_[static_cast<std::size_t>(to)];
  const auto size = static_cast<std::int64_t>(cells_[selected_.node].ranks.size());
  selected_.local = static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(local, 0, std::max<std::int64_t>(0, size - 1)));
}

// The next rank in trouble after the selected one, in the order shown.
void View::jump_to_trouble() {
  std::vector<Place> troubled;
  std::size_t next = 0;
  const std::size_t at = position();
  for (std::size_t i = 0; i < shown_.size(); ++i) {
    const NodeCells& node = cells_[shown_[i]];
    for (std::uint32_t local = 0; local < node.ranks.size(); ++local) {
      if (!is_trouble(node.ranks[local].state)) continue;
      troubled.push_back({shown_[i], local});
      if (i < at || (i == at && local <= selected_.local)) next = troubled.size();
    }
  }
  if (troubled.empty()) return;
  follows_ = false;
  selected_ = troubled[next % troubled.size()];
}

// From a rack, or a cell of several nodes, to its nodes; from a node to its ranks, with neighbours.
void View::zoom_in() {
  if (groups_.empty() || shown_.empty()) return;
  Span group = groups_[selected_group()];
  if (group.last - group.first == 1) {
    const std::vector<Span> racks = racks_shown();
    const std::size_t at = position();
    const auto own = std::ranges::find_if(racks, [at](const Span& rack) { return at < rack.last; });
    if (racks.size() > 1 && own != racks.end()) {
      group = *own;
    } else {
      const auto some = static_cast<std::size_t>(std::clamp(layout_.cells_per_row, 1, 8));
      group = {at / some * some, std::min(at / some * some + some, shown_.size())};
    }
  }
  const std::size_t base = zoom_last_ == 0 ? 0 : zoom_first_;
  zoom_last_ = base + group.last;
  zoom_first_ = base + group.first;
  follows_ = false;
  settle();
}

// Neighbours in one rack; nodes whose rack is not known count as one.
std::vector<View::Span> View::racks_shown() const {
  std::vector<Span> racks;
  for (std::size_t i = 0; i < shown_.size(); ++i) {
    const std::string& rack = status_.nodes[shown_[i]].rack;
    if (racks.empty() || status_.nodes[shown_[i - 1]].rack != rack) racks.push_back({i, i});
    racks.back().last = i + 1;
  }
  return racks;
}

std::size_t View::selected_group() const {
  const std::size_t at = position();
  const auto own = std::ranges::find_if(groups_, [at](const Span& each) { return at < each.last; });
  return own == groups_.end() ? 0 : static_cast<std::size_t>(own - groups_.begin());
}

void View::take(std::uint32_t rank, std::optional<supervisor::RankUse> use) {
  use_rank_ = rank;
  use_ = std::move(use);
}

void View::take_outcome(std::string text, base::Nanos now) {
  if (has_ended()) return;
  outcome_ = std::move(text);
  outcome_at_ = now;
}

void View::take_diagnosis(std::string text) {
  diagnosis_ = std::move(text);
  is_diagnosing_ = false;
  scrolled_ = 0;
}

void View::take_stacks(std::string text) {
  stacks_ = std::move(text);
  is_looking_ = false;
  scrolled_ = 0;
}

View::Wish View::ask_for_stacks(std::optional<std::uint32_t> rank) {
  if (has_ended()) return Wish::kNothing;
  panel_ = Panel::kStacks;
  scrolled_ = 0;
  if (is_looking_) return Wish::kNothing;
  stacks_.clear();
  stacks_rank_ = rank;
  is_looking_ = true;
  return Wish::kStacks;
}

bool View::shows_end() const { return panel_ == Panel::kLog || panel_ == Panel::kIncidents; }

void View::open(Panel panel) {
  panel_ = panel_ == panel ? Panel::kNone : panel;
  scrolled_ = 0;
}

void View::scroll(int lines) {
  const auto size = static_cast<std::int64_t>(panel_lines().size());
  const auto most = std::max<std::int64_t>(0, size - static_cast<std::int64_t>(panel_rows_));
  const std::int64_t to = static_cast<std::int64_t>(scrolled_) + (shows_end() ? -lines : lines);
  scrolled_ = static_cast<std::size_t>(std::clamp<std::int64_t>(to, 0, most));
}

bool View::press_in_filter(const Key& key) {
  if (!types_filter_) return false;
  switch (key.kind) {
    case Key::Kind::kEnter: types_filter_ = false; break;
    case Key::Kind::kEscape:
      types_filter_ = false;
      filter_.clear();
      break;
    case Key::Kind::kBackspace:
      if (!filter_.empty()) filter_.pop_back();
      break;
    case Key::Kind::kCharacter:
      if (filter_.size() < kFilterBytesMax) filter_ += key.character;
      break;
    case Key::Kind::kUp:
    case Key::Kind::kDown:
    case Key::Kind::kLeft:
    case Key::Kind::kRight:
    case Key::Kind::kPageUp:
    case Key::Kind::kPageDown:
    case Key::Kind::kHome:
    case Key::Kind::kEnd:
    case Key::Kind::kTab:
    case Key::Kind::kInterrupt:
    case Key::Kind::kRedraw: return false;
  }
  settle();
  const auto rank = base::parse_int<std::uint32_t>(filter_);
  if (rank && !shown_.empty()) {
    const supervisor::NodeStatus& node = status_.nodes[shown_.front()];
    if (*rank >= node.first_rank && *rank - node.first_rank < node.ranks.size()) {
      selected_ = {shown_.front(), *rank - node.first_rank};
      follows_ = false;
    }
  }
  return true;
}

// Of the chosen rank and its node, as they are now: what is confirmed is what was asked.
void View::prepare(Order::Kind kind) {
  if (!is_live() || has_ended()) return;
  const bool is_of_run = kind == Order::Kind::kStop || kind == Order::Kind::kUpdate;
  if (!is_of_run && shown_.empty()) return;
  const auto rank = selected_rank();
  if (kind == Order::Kind::kInject && !rank) return;
  order_ = {kind, {}, rank.value_or(0), {}, {}};
  if (!is_of_run) order_.node = status_.nodes[selected_.node].name;
  prompt_ = kind == Order::Kind::kInject   ? Prompt::kFault
            : kind == Order::Kind::kUpdate ? Prompt::kUpdate
                                           : Prompt::kConfirm;
  panel_ = Panel::kNone;
}

// Any key but y and Y is a no.
View::Wish View::press_in_prompt(const Key& key) {
  using Kind = Key::Kind;
  const bool is_character = key.kind == Kind::kCharacter;
  if (prompt_ == Prompt::kConfirm) {
    prompt_ = Prompt::kNone;
    const bool is_yes = is_character && (key.character == 'y' || key.character == 'Y');
    return is_yes ? Wish::kOrder : Wish::kNothing;
  }
  const bool is_fault = prompt_ == Prompt::kFault;
  std::string& text = is_fault ? order_.fault : order_.update;
  if (is_character && text.size() < (is_fault ? kFaultBytesMax : kUpdateBytesMax)) {
    text += key.character;
  }
  if (key.kind == Kind::kBackspace && !text.empty()) text.pop_back();
  if (key.kind == Kind::kEscape) prompt_ = Prompt::kNone;
  if (key.kind != Kind::kEnter) return Wish::kNothing;
  const bool is_whole = is_fault ? why_no_fault(text).empty() : read_update(text).has_value();
  if (is_whole) prompt_ = Prompt::kConfirm;
  return Wish::kNothing;
}

View::Wish View::press(const Key& key) {
  using Kind = Key::Kind;
  if (key.kind == Kind::kInterrupt) return Wish::kQuit;
  if (key.kind == Kind::kRedraw) return Wish::kRedraw;
  if (prompt_ != Prompt::kNone) return press_in_prompt(key);
  if (press_in_filter(key)) return Wish::kNothing;
  const bool is_open = panel_ != Panel::kNone;
  const int page = static_cast<int>(std::max<std::size_t>(2, panel_rows_)) - 1;
  const auto go = [&](int across, int down) { is_open ? scroll(down) : move(across, down); };
  switch (key.kind) {
    case Kind::kUp: go(0, -1); break;
    case Kind::kDown: go(0, 1); break;
    case Kind::kLeft: go(-1, 0); break;
    case Kind::kRight: go(1, 0); break;
    case Kind::kPageUp: go(0, is_open ? -page : -std::max(1, layout_.rows / 2)); break;
    case Kind::kPageDown: go(0, is_open ? page : std::max(1, layout_.rows / 2)); break;
    case Kind::kHome: is_open ? scroll(INT32_MIN / 2) : move(0, INT32_MIN / 2); break;
    case Kind::kEnd: is_open ? scroll(INT32_MAX / 2) : move(0, INT32_MAX / 2); break;
    case Kind::kEnter: is_open ? open(panel_) : zoom_in(); break;
    case Kind::kTab: jump_to_trouble(); break;
    case Kind::kEscape:
      if (is_open) {
        open(panel_);
      } else {
        filter_.clear();
        zoom_first_ = zoom_last_ = 0;
        settle();
      }
      break;
    case Kind::kCharacter: return press_character(key.character);
    case Kind::kBackspace:
    case Kind::kInterrupt:
    case Kind::kRedraw: break;
  }
  return Wish::kNothing;
}

View::Wish View::press_character(char character) {
  const bool is_open = panel_ != Panel::kNone;
  const auto go = [&](int across, int down) { is_open ? scroll(down) : move(across, down); };
  switch (character) {
    case 'q':
      if (!is_open) return Wish::kQuit;
      open(panel_);
      break;
    case 'k': go(0, -1); break;
    case 'j': go(0, 1); break;
    case 'l': open(Panel::kLog); break;
    case '?': open(Panel::kHelp); break;
    case 'i': open(Panel::kIncidents); break;
    case 't': open(Panel::kTimeline); break;
    case 'I': prepare(Order::Kind::kInject); break;
    case 'E': prepare(Order::Kind::kEvict); break;
    case 'U': prepare(Order::Kind::kUpdate); break;
    case 'X': prepare(Order::Kind::kStop); break;
    case '/':
      panel_ = Panel::kNone;
      types_filter_ = true;
      filter_.clear();
      settle();
      break;
    case 's':
      by_urgency_ = !by_urgency_;
      settle();
      break;
    case 'S':
      if (const auto rank = selected_rank()) return ask_for_stacks(rank);
      break;
    case 'A': return ask_for_stacks({});
    case 'd':
      if (has_ended()) break;
      panel_ = Panel::kDiagnosis;
      diagnosis_.clear();
      scrolled_ = 0;
      if (std::exchange(is_diagnosing_, true)) break;
      return Wish::kDiagnose;
    default: break;
  }
  return Wish::kNothing;
}

std::vector<StyledLine> View::panel_lines() const {
  switch (panel_) {
    case Panel::kNone: break;
    case Panel::kHelp: return plain(lines_of(kHelp));
    case Panel::kLog:
      if (log_.rank != selected_rank()) return plain({"reading it"});
      if (!log_.missing.empty()) return plain(wrapped({log_.missing}, panel_columns_));
      return plain(log_.lines.empty() ? std::vector<std::string>{"it is empty"} : log_.lines);
    case Panel::kDiagnosis:
      if (is_diagnosing_) return plain({"looking at all workers"});
      return plain(wrapped(lines_of(diagnosis_), panel_columns_));
    case Panel::kStacks:
      if (is_looking_) return plain({"looking"});
      return plain(wrapped(lines_of(stacks_), panel_columns_));
    case Panel::kTimeline: {
      auto lines = timeline_lines(facts_, panel_columns_, unicode_);
      return lines.empty() ? plain({"nothing yet"}) : lines;
    }
    case Panel::kIncidents: {
      std::vector<std::string> lines;
      for (const IncidentLine& each : facts_.incidents) {
        lines.push_back(fmt::format("{:>12}  {}", age_words(each.at), each.what));
        if (!each.verdict.empty()) lines.push_back(fmt::format("{:>12}  {}", "", each.verdict));
      }
      if (lines.empty()) lines.emplace_back("none so far");
      return plain(wrapped(lines, panel_columns_));
    }
  }
  return {};
}

}  // namespace robustrun::cli
