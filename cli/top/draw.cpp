// The picture of a View, from top to bottom: three lines about the run, the grid, its legend, the
// chosen rank with the end of its log, the last incident, the keys.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/core/text.h"
#include "base/core/words.h"
#include "base/core/wrap.h"
#include "cli/top/view.h"
#include "cli/top/words.h"

namespace robustrun::cli {
namespace {

using supervisor::JobState;
using supervisor::NodeStatus;
using supervisor::SupervisorStatus;

constexpr Size kSmallest = {40, 12};
constexpr int kFooterRows = 2;   // the last incident, the keys
constexpr int kDetailRowsMin = 5;  // with the rule above
constexpr int kDetailRowsRoomy = 8;  // with more, a line stays empty
constexpr int kColumnsRoomy = 100;
constexpr int kLossColumnsMax = 24;
constexpr int kRackLetterColumns = 5;  // of a rack's cell: a space, its letter, the gap
constexpr int kPromptHintColumns = 16;  // "enter, or esc"
constexpr base::Nanos kOutcomeShown = std::chrono::seconds(20);
constexpr base::Nanos kAnswerLate = std::chrono::seconds(2);
constexpr Style kDim = {.dim = true};
constexpr Style kBold = {.bold = true};

Style style_of(CellState state) {
  const CellLook& look = look_of(state);
  return {look.ink, look.bold, look.dim, look.filled, false};
}

// Of a sentence: without a coloured background.
Style text_style_of(CellState state) {
  Style style = style_of(state);
  style.filled = false;
  return style;
}

std::string letter_of(CellState state, bool unicode) {
  if (state == CellState::kRunning && unicode) return "·";
  return std::string(1, look_of(state).letter);
}

Style state_style(const supervisor::RunStatus& status) {
  if (status.exit_code) return {*status.exit_code == 0 ? Ink::kGreen : Ink::kRed, true};
  if (status.supervisor == SupervisorStatus::kSilent) {
    return {status.is_busy ? Ink::kYellow : Ink::kRed, true};
  }
  return {status.state == JobState::kRunning ? Ink::kGreen : Ink::kYellow, true};
}

// At a space, where it does not fit into one line.
std::vector<std::string> in_two_lines(const std::string& text, int columns) {
  const auto width = static_cast<std::size_t>(std::max(10, columns));
  const std::size_t cut = text.size() > width ? text.rfind(' ', width) : std::string::npos;
  if (cut == std::string::npos || cut == 0) return {text};
  return {text.substr(0, cut), text.substr(cut + 1)};
}

// "attempt_0/1/stdout.log"
std::string_view end_of_path(std::string_view path) {
  std::size_t at = path.size();
  for (int parts = 0; parts < 3 && at != path.npos && at > 0; ++parts) at = path.rfind('/', at - 1);
  return at == path.npos ? path : path.substr(std::min(at + 1, path.size()));
}

std::string per_cent(double part) { return fmt::format("{:.1f} %", part * 100); }

}  // namespace

void View::rule(Canvas& canvas, int row, std::string_view left, std::string_view right,
                Style style) const {
  const int columns = canvas.size().columns;
  const std::string_view line = unicode_ ? "─" : "-";
  for (int column = 0; column < columns; ++column) canvas.put(row, column, line, kDim);
  int end = 2;
  if (!left.empty()) {
    canvas.fill(row, 2, 3, ' ');
    end = canvas.put(row, 3, left, kBold, columns - 3);
    canvas.fill(row, end, end + 1, ' ');
  }
  if (right.empty() || end + 4 > columns - 4) return;
  const int begin = std::max(end + 2, columns - text_columns(right) - 4);
  canvas.fill(row, begin, begin + 1, ' ');
  end = canvas.put(row, begin + 1, right, style, columns - 3);
  canvas.fill(row, end, end + 1, ' ');
}

void View::draw_run(Canvas& canvas) const {
  const int columns = canvas.size().columns;
  const std::string program =
      status_.program.empty() ? "run" : status_.program.substr(status_.program.rfind('/') + 1);
  const bool is_silent = status_.supervisor == SupervisorStatus::kSilent;
  const char* const text = status_.exit_code.value_or(0) != 0 ? "ended"
                           : !is_silent                       ? to_string(status_.state)
                           : status_.is_busy                  ? "supervisor busy"
                                                              : "no supervisor";
  int column = canvas.put(0, 1, program, kBold, columns / 2);
  column = canvas.put(0, column + 2, text, state_style(status_));
  const std::string up = fmt::format("up {}, {}", age_words(status_.uptime), restarts_of(status_));
  column = canvas.put(0, column + 2, up, {}, columns - 1);
  canvas.put_right(0, columns - 1, status_.run_id, kDim, column + 2);
}

void View::draw_progress(Canvas& canvas) const {
  const int columns = canvas.size().columns;
  std::string ratio;
  if (facts_.ettr) ratio = "ETTR " + per_cent(*facts_.ettr);
  if (facts_.ettr_last_hour) {
    const std::string now = per_cent(*facts_.ettr_last_hour);
    ratio += columns >= kColumnsRoomy ? " (last hour " + now + ")" : ", now " + now;
  }
  const int end = columns - 1 - text_columns(ratio);
  canvas.put(1, end, ratio);
  int column = canvas.put(1, 1, progress_of(status_), {}, end - 1);
  const auto loss = loss_of(status_.metrics);
  if (!loss) return;
  const std::string words = fmt::format("loss {:.4g}", *loss);
  column += column > 1 ? 2 : 0;
  if (column + text_columns(words) >= end) return;
  column = canvas.put(1, column, words) + 1;
  std::vector<double> losses = facts_.losses;
  losses.insert(losses.end(), losses_.begin(), losses_.end());
  const int room = std::clamp(end - 2 - column, 0, kLossColumnsMax);
  canvas.put(1, column, sparkline(losses, static_cast<std::size_t>(room), unicode_), {Ink::kCyan});
}

// Returns the row after it.
int View::draw_headline(Canvas& canvas, int row, base::Nanos now) const {
  Headline headline = headline_of(status_, cells_);
  const bool is_late = now - heard_at_ > kAnswerLate;
  if (is_live() && !has_ended() && (is_late || !failure_.empty())) {
    headline = {fmt::format("no answer for {}; trying again; this is the last picture",
                            age_words(now - heard_at_)),
                failure_, CellState::kSilent};
  }
  const bool is_urgent = is_trouble(headline.state);
  canvas.put(row, 1, is_urgent ? "!" : unicode_ ? "·" : "-", style_of(headline.state));
  Style style = text_style_of(headline.state);
  style.bold = is_urgent;
  const int end = canvas.size().columns - 1;
  const std::string joined = headline.text + (headline.more.empty() ? "" : "; " + headline.more);
  if (headline.more.empty() || 3 + text_columns(joined) <= end) {
    canvas.put(row++, 3, joined, style, end);
    return row;
  }
  canvas.put(row++, 3, headline.text, style, end);
  style.bold = false;
  canvas.put(row++, 3, headline.more, style, end);
  return row;
}

void View::draw_ranks(Canvas& canvas, int row) const {
  const int columns = canvas.size().columns;
  std::size_t ranks = 0;
  for (const std::size_t node : shown_) ranks = std::max(ranks, cells_[node].ranks.size());
  for (int table = 0; table < layout_.tables; ++table) {
    const int left = 1 + table * layout_.table_columns;
    canvas.put(row, left, "node", kDim);
    for (std::size_t local = 0; local < ranks; ++local) {
      const int at = left + layout_.label_columns + static_cast<int>(local) * layout_.cell_columns;
      canvas.put(row, at, fmt::format("{}", local % 100), kDim);
    }
  }
  for (std::size_t i = 0; i < shown_.size(); ++i) {
    const int table = static_cast<int>(i) / layout_.rows;
    if (table >= layout_.tables) break;
    const int left = 1 + table * layout_.table_columns;
    const int at = row + 1 + static_cast<int>(i) % layout_.rows;
    const NodeStatus& node = status_.nodes[shown_[i]];
    const NodeCells& cells = cells_[shown_[i]];
    const bool is_selected = shown_[i] == selected_.node;
    Style name = is_trouble(cells.state) ? text_style_of(cells.state) : Style{};
    name.dim = cells.state == CellState::kOut;
    canvas.put(at, left, node.name, name, left + layout_.label_columns - 1);
    int column = left + layout_.label_columns;
    if (cells.ranks.empty()) {
      Style style = style_of(cells.state);
      style.reverse = is_selected;
      canvas.put(at, column, letter_of(cells.state, unicode_), style);
    }
    for (std::size_t local = 0; local < cells.ranks.size(); ++local) {
      Style style = style_of(cells.ranks[local].state);
      style.reverse = is_selected && local == selected_.local;
      if (style.reverse && style.filled) style.filled = false;
      canvas.put(at, column, letter_of(cells.ranks[local].state, unicode_), style);
      column += layout_.cell_columns;
    }
    if (layout_.tables > 1) continue;
    const int note = left + layout_.label_columns +
                     static_cast<int>(std::max<std::size_t>(1, ranks)) * layout_.cell_columns + 2;
    const std::string words = cells.ranks.empty() && cells.state == CellState::kSpare
                                  ? std::string(look_of(cells.state).words)
                                  : node_sentence(node, cells.state);
    canvas.put(at, note, words, kDim, columns - 1);
  }
}

void View::draw_groups(Canvas& canvas, int row) const {
  const bool has_names = layout_.kind == GridLayout::Kind::kRacks && layout_.label_columns == 0;
  const std::size_t selected = selected_group();
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const NodeStatus& first = status_.nodes[shown_[groups_[i].first]];
    const std::string_view rack = first.rack.empty() ? "others" : std::string_view(first.rack);
    const std::string_view name = layout_.kind == GridLayout::Kind::kRacks ? rack : first.name;
    const int at = row + static_cast<int>(i) / layout_.cells_per_row;
    const int place = static_cast<int>(i) % layout_.cells_per_row;
    if (place == 0 && !has_names) canvas.put(at, 1, name, kDim, layout_.label_columns);
    CellState state = CellState::kOut;
    for (std::size_t node = groups_[i].first; node < groups_[i].last; ++node) {
      state = std::min(state, cells_[shown_[node]].state);
    }
    Style style = style_of(state);
    style.reverse = i == selected;
    if (style.reverse && style.filled) style.filled = false;
    int column = 1 + layout_.label_columns + place * layout_.cell_columns;
    if (has_names) {
      const int end = column + layout_.cell_columns - kRackLetterColumns;
      canvas.put(at, column, name, is_trouble(state) ? text_style_of(state) : kDim, end);
      column = end + 1;
    }
    canvas.put(at, column, letter_of(state, unicode_), style);
  }
}

// Chooses what a cell is: a rank, a node, a rack, or several nodes.
void View::lay_out(Size space) {
  int label = 4;  // "node"
  std::size_t ranks = 0;
  for (const std::size_t node : shown_) {
    label = std::max(label, text_columns(status_.nodes[node].name));
    ranks = std::max(ranks, cells_[node].ranks.size());
  }
  const auto nodes = shown_.size();
  layout_ = lay_out_grid(static_cast<int>(nodes), static_cast<int>(ranks), label, space);
  groups_.clear();
  if (layout_.kind == GridLayout::Kind::kRanks) return;
  if (layout_.nodes_per_cell > 1) {
    std::vector<Span> racks = racks_shown();
    int name = 6;  // "others"
    for (const Span& rack : racks) {
      name = std::max(name, text_columns(status_.nodes[shown_[rack.first]].rack));
    }
    const GridLayout by_rack = lay_out_racks(static_cast<int>(racks.size()), name, space);
    if (racks.size() > 1 && by_rack.rows > 0) {
      layout_ = by_rack;
      groups_ = std::move(racks);
      return;
    }
  }
  const auto per_cell = static_cast<std::size_t>(layout_.nodes_per_cell);
  for (std::size_t first = 0; first < nodes; first += per_cell) {
    groups_.push_back({first, std::min(first + per_cell, nodes)});
  }
}

// Returns the row after the grid.
int View::draw_grid(Canvas& canvas, int row, int rows) {
  if (shown_.empty()) {
    canvas.put(row, 1, status_.nodes.empty() ? "no node yet" : "no node matches", kDim);
    return row + 1;
  }
  lay_out({canvas.size().columns - 2, rows});
  if (layout_.kind == GridLayout::Kind::kRanks) {
    draw_ranks(canvas, row);
    return row + 1 + layout_.rows;
  }
  draw_groups(canvas, row);
  return row + layout_.rows;
}

// The states that occur, the most urgent first, with their numbers.
void View::draw_legend(Canvas& canvas, int row) const {
  const auto counts = count_states(cells_);
  int column = 1;
  if (!filter_.empty() || types_filter_ || zoom_last_ > 0) {
    column = canvas.put(row, column, fmt::format("{} of {} nodes   ", shown_.size(), cells_.size()),
                        kDim);
  } else if (layout_.kind == GridLayout::Kind::kRacks) {
    column = canvas.put(row, column, "a cell is a rack   ", kDim);
  } else if (layout_.kind == GridLayout::Kind::kNodes) {
    const std::string unit = layout_.nodes_per_cell == 1
                                 ? "a cell is a node   "
                                 : fmt::format("a cell is {} nodes   ", layout_.nodes_per_cell);
    column = canvas.put(row, column, unit, kDim);
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts.at(i) == 0) continue;
    const auto state = static_cast<CellState>(i);
    const std::string words = fmt::format("{} {}", counts.at(i), look_of(state).words);
    if (column + 2 + text_columns(words) >= canvas.size().columns) break;
    column = canvas.put(row, column, letter_of(state, unicode_), style_of(state)) + 1;
    column = canvas.put(row, column, words, kDim) + 3;
  }
}

void View::draw_details(Canvas& canvas, int row, int end) const {
  const int columns = canvas.size().columns;
  if (shown_.empty()) return rule(canvas, row, "", "", {});
  const NodeStatus& node = status_.nodes[selected_.node];
  const NodeCells& cells = cells_[selected_.node];
  const auto put_line = [&](std::string_view text, Style style) {
    if (++row < end && !text.empty()) canvas.put(row, 1, text, style, columns - 1);
  };
  if (selected_.local >= cells.ranks.size()) {
    rule(canvas, row, node.name, look_of(cells.state).words, text_style_of(cells.state));
    put_line(node_sentence(node, cells.state), {});
    return;
  }
  const RankCell& cell = cells.ranks[selected_.local];
  const supervisor::RankStatus& rank = node.ranks[selected_.local];
  const std::string rack = node.rack.empty() ? "" : " in " + node.rack;
  rule(canvas, row, fmt::format("rank {} on {}{}", cell.rank, node.name, rack),
       look_of(cell.state).words, text_style_of(cell.state));
  std::vector<std::string> parts = {fmt::format("local rank {}", selected_.local)};
  if (rank.pid > 0) parts.push_back(fmt::format("pid {}", rank.pid));
  if (rank.step) {
    parts.push_back(fmt::format("step {}", *rank.step));
  } else if (rank.steps > 0) {
    parts.push_back(fmt::format("{} done", base::counted(rank.steps, "step")));
  }
  if (use_ && use_rank_ == cell.rank) parts.push_back(use_words(*use_));
  put_line(base::join(parts, "   "), {});
  const std::string sentence = rank_sentence(status_, node, cell);
  for (const std::string& line : in_two_lines(sentence, columns - 2)) {
    if (!line.empty()) put_line(line, text_style_of(cell.state));
  }
  const auto own = std::find_if(facts_.incidents.rbegin(), facts_.incidents.rend(),
                                [&](const IncidentLine& each) { return each.rank == cell.rank; });
  if (own != facts_.incidents.rend()) {
    const base::Nanos ago = std::max(base::Nanos{}, status_.uptime - own->at);
    put_line(fmt::format("failed {} ago: {}", age_words(ago), own->what), {});
  }
  if (log_.rank != cell.rank) return;
  if (!log_.missing.empty()) {
    for (const std::string& line : in_two_lines(log_.missing, columns - 2)) {
      if (!line.empty()) put_line(line, kDim);
    }
    return;
  }
  const int room = end - row - 1;
  const auto shown =
      std::min<std::size_t>(log_.lines.size(), static_cast<std::size_t>(std::max(0, room)));
  for (std::size_t i = log_.lines.size() - shown; i < log_.lines.size(); ++i) {
    if (++row >= end) return;
    canvas.put(row, 1, unicode_ ? "│" : "|", kDim);
    canvas.put(row, 3, log_.lines[i], kDim, columns - 1);
  }
}

void View::draw_panel(Canvas& canvas, int row, int end) {
  std::string title;
  std::string note;
  switch (panel_) {
    case Panel::kNone: break;
    case Panel::kHelp: title = "keys"; break;
    case Panel::kIncidents:
      title = base::counted(facts_.incidents.size(), "incident");
      note = "since the start";
      break;
    case Panel::kLog: {
      const auto rank = selected_rank();
      title = rank ? fmt::format("log of rank {}", *rank) : "no rank";
      if (rank == log_.rank) note = end_of_path(log_.file);
      break;
    }
    case Panel::kDiagnosis: title = "diagnosis"; break;
    case Panel::kStacks:
      title = stacks_rank_ ? fmt::format("stack of rank {}", *stacks_rank_)
                           : std::string("the stacks of all ranks, each distinct one once");
      break;
    case Panel::kTimeline:
      title = "timeline";
      note = "where the time went, by the journal";
      break;
  }
  rule(canvas, row, title, note, kDim);
  panel_columns_ = static_cast<std::size_t>(canvas.size().columns - 2);
  const std::vector<StyledLine> lines = panel_lines();
  panel_rows_ = static_cast<std::size_t>(std::max(0, end - row - 1));
  const std::size_t most = lines.size() - std::min(lines.size(), panel_rows_);
  scrolled_ = std::min(scrolled_, most);
  const std::size_t first = shows_end() ? most - std::min(most, scrolled_) : scrolled_;
  for (std::size_t i = 0; i < panel_rows_ && first + i < lines.size(); ++i) {
    const StyledLine& line = lines[first + i];
    canvas.put(row + 1 + static_cast<int>(i), 1, line.text, line.style, canvas.size().columns - 1);
  }
}

// What came of an order, for a while; else the last incident.
void View::draw_news(Canvas& canvas, int row, base::Nanos now) const {
  const int end = canvas.size().columns - 1;
  if (outcome_at_ && now - *outcome_at_ < kOutcomeShown) {
    canvas.put(row, 1, outcome_, kBold, end);
    return;
  }
  if (facts_.incidents.empty()) return;
  const IncidentLine& each = facts_.incidents.back();
  const base::Nanos ago = std::max(base::Nanos{}, status_.uptime - each.at);
  canvas.put(row, 1,
             fmt::format("last incident {} ago: {}{}", age_words(ago), each.what,
                         each.verdict.empty() ? "" : "; " + each.verdict),
             kDim, end);
}

void View::draw_prompt(Canvas& canvas, int row) const {
  const int end = canvas.size().columns - 1;
  const Style bold{.ink = Ink::kYellow, .bold = true};
  if (prompt_ == Prompt::kConfirm) {
    const int column = canvas.put(row, 1, question_of(order_), bold, end - 20);
    canvas.put(row, column + 2, "y yes, other keys no", kDim, end);
    return;
  }
  const bool is_fault = prompt_ == Prompt::kFault;
  const std::string& text = is_fault ? order_.fault : order_.update;
  const std::string what = is_fault ? fmt::format("fault for rank {}: ", order_.rank) : "update: ";
  int column = canvas.put(row, 1, what, bold, end);
  // Of a long text the end, where typing goes on.
  const auto room = static_cast<std::size_t>(std::max(8, end - column - kPromptHintColumns));
  const std::size_t cut = text.size() - std::min(text.size(), room);
  column = canvas.put(row, column, std::string_view(text).substr(cut), kBold, end);
  canvas.put(row, column, " ", {.reverse = true});
  std::string hint;
  if (is_fault) {
    if (!why_no_fault(text).empty()) hint = "its kind; esc";
  } else if (const auto update = read_update(text); !update) {
    hint = update.error().what;
  }
  canvas.put(row, column + 2, hint.empty() ? "enter, or esc" : hint, kDim, end);
}

// Above the prompt's row.
void View::draw_kinds_of_faults(Canvas& canvas, int row) const {
  const int columns = canvas.size().columns;
  const std::vector<std::string> lines =
      base::wrap_words(why_no_fault(order_.fault), static_cast<std::size_t>(columns - 2));
  int at = row - static_cast<int>(lines.size());
  for (const std::string& line : lines) {
    canvas.fill(at, 0, columns, ' ');
    canvas.put(at++, 1, line, kDim, columns - 1);
  }
}

void View::draw_keys(Canvas& canvas, int row) const {
  const int columns = canvas.size().columns;
  if (prompt_ != Prompt::kNone) return draw_prompt(canvas, row);
  if (types_filter_) {
    const int column = canvas.put(row, 1, "/" + filter_, kBold, columns - 1);
    canvas.put(row, column, " ", {.reverse = true});
    canvas.put(row, column + 3, "host or rank; enter keeps it, esc shows all", kDim, columns - 1);
    return;
  }
  struct Hint {
    std::string_view key;
    std::string_view words;
  };
  constexpr auto kHints = std::to_array<Hint>({{"q", "quit"},
                                               {"?", "help"},
                                               {"/", "filter"},
                                               {"s", "sort"},
                                               {"tab", "next in trouble"},
                                               {"l", "log"},
                                               {"d", "diagnose"},
                                               {"i", "incidents"},
                                               {"t", "timeline"},
                                               {"S", "stack"},
                                               {"A", "all stacks"},
                                               {"I", "inject"},
                                               {"E", "evict"},
                                               {"U", "update"},
                                               {"X", "stop"}});
  constexpr auto kPanelHints =
      std::to_array<Hint>({{"q", "back"}, {"up", ""}, {"down", "scroll"}, {"?", "help"}});
  int column = 1;
  const auto put = [&](const Hint& hint) {
    const int needed = text_columns(hint.key) + 1 + text_columns(hint.words);
    if (column + needed >= columns) return;
    column = canvas.put(row, column, hint.key, kBold) + 1;
    if (!hint.words.empty()) column = canvas.put(row, column, hint.words, kDim) + 2;
  };
  if (panel_ != Panel::kNone) {
    for (const Hint& hint : kPanelHints) put(hint);
  } else {
    for (const Hint& hint : kHints) put(hint);
  }
}

Canvas View::draw(Size size, base::Nanos now) {
  Canvas canvas(size, unicode_);
  if (size.columns < kSmallest.columns || size.rows < kSmallest.rows) {
    canvas.put(0, 0, fmt::format("needs {} x {}", kSmallest.columns, kSmallest.rows));
    return canvas;
  }
  if (!has_status_) {
    canvas.put(0, 1, failure_.empty() ? "asking the supervisor" : failure_, kDim);
    return canvas;
  }
  draw_run(canvas);
  draw_progress(canvas);
  const int top = draw_headline(canvas, 2, now);
  const int keys = size.rows - 1;
  draw_keys(canvas, keys);
  if (panel_ != Panel::kNone) {
    draw_panel(canvas, top, keys);
    return canvas;
  }
  rule(canvas, top, by_urgency_ ? "most urgent first" : "", "", {});
  const int last = size.rows - kFooterRows;
  int legend = draw_grid(canvas, top + 1, last - top - 2 - kDetailRowsMin);
  if (last - legend > kDetailRowsRoomy) ++legend;
  draw_legend(canvas, legend);
  draw_details(canvas, legend + 1, last);
  draw_news(canvas, last, now);
  if (prompt_ == Prompt::kFault && !why_no_fault(order_.fault).empty()) {
    draw_kinds_of_faults(canvas, keys);
  }
  return canvas;
}

}  // namespace robustrun::cli
