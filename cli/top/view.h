#pragma once
// The live view of a run: its state, the selection, and the picture. Pure: statuses and keys in, a
// Canvas out; the caller asks the supervisor, reads files and owns the terminal.
//
// The selection follows the most urgent rank until the user moves it.

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "cli/top/canvas.h"
#include "cli/top/cells.h"
#include "cli/top/facts.h"
#include "cli/top/grid_layout.h"
#include "cli/top/key_decoder.h"
#include "cli/top/order.h"
#include "cli/top/timeline.h"
#include "supervisor/control/view_rows.h"

namespace robustrun::cli {

// The end of a rank's log.
struct LogTail {
  std::uint32_t rank = UINT32_MAX;  // UINT32_MAX: no log was read yet
  std::string file{};  // whose last lines `lines` has; empty: the rank has no log here
  std::vector<std::string> lines{};
  std::string missing{};  // why there is no log to show; empty: there is one
};

class View {
 public:
  // What the caller is to do after a key.
  enum class Wish : std::uint8_t { kNothing, kQuit, kRedraw, kDiagnose, kStacks, kOrder };

  // `unicode`: whether to use characters other than ASCII.
  explicit View(bool unicode) : unicode_(unicode) {}

  // `now`: of any clock that never goes back.
  void take(supervisor::RunStatus status, base::Nanos now);
  void take(RunFacts facts) { facts_ = std::move(facts); }
  void take(LogTail log) { log_ = std::move(log); }
  // The resources that the rank uses; nullopt: not known.
  void take(std::uint32_t rank, std::optional<supervisor::RankUse> use);
  // The result of Wish::kOrder, in words.
  void take_outcome(std::string text, base::Nanos now);
  // The answer to Wish::kDiagnose.
  void take_diagnosis(std::string text);
  // The answer to Wish::kStacks.
  void take_stacks(std::string text);
  // The last question brought no status; `why` in words.
  void note_failure(std::string why) { failure_ = std::move(why); }

  Wish press(const Key& key);
  [[nodiscard]] Canvas draw(Size size, base::Nanos now);

  // For Wish::kOrder: the order, which the user has confirmed.
  [[nodiscard]] const Order& order() const { return order_; }
  // For Wish::kStacks: the rank whose stack is wanted; nullopt: all ranks.
  [[nodiscard]] std::optional<std::uint32_t> stacks_rank() const { return stacks_rank_; }
  // The rank whose log is shown; nullopt: no rank is selected.
  [[nodiscard]] std::optional<std::uint32_t> selected_rank() const;
  // Whether the status is from a supervisor, not from a journal.
  [[nodiscard]] bool is_live() const {
    return has_status_ && status_.supervisor == supervisor::SupervisorStatus::kAnswers;
  }
  [[nodiscard]] bool has_ended() const { return status_.exit_code.has_value(); }

 private:
  enum class Panel : std::uint8_t {
    kNone,
    kHelp,
    kLog,
    kIncidents,
    kDiagnosis,
    kStacks,
    kTimeline
  };
  // What the next keys are for.
  enum class Prompt : std::uint8_t { kNone, kFault, kUpdate, kConfirm };
  struct Place {
    std::size_t node = 0;  // index into status_.nodes
    std::uint32_t local = 0;
  };
  // Elements first to last - 1 of shown_.
  struct Span {
    std::size_t first = 0, last = 0;
  };

  void list_shown();
  void sort_shown();
  void select_most_urgent();
  void settle();
  void select_in(std::size_t first, std::size_t last);
  void move(int across, int down);
  void jump_to_trouble();
  void zoom_in();
  void open(Panel panel);
  bool press_in_filter(const Key& key);
  Wish press_in_prompt(const Key& key);
  Wish ask_for_stacks(std::optional<std::uint32_t> rank);
  void prepare(Order::Kind kind);
  Wish press_character(char character);
  void scroll(int lines);
  [[nodiscard]] bool shows_end() const;  // whether the panel, if it is long, shows its end
  [[nodiscard]] bool matches(std::size_t node) const;
  [[nodiscard]] std::size_t position() const;  // of the selected node among shown_
  [[nodiscard]] std::size_t selected_group() const;  // index into groups_
  [[nodiscard]] std::vector<Span> racks_shown() const;
  [[nodiscard]] std::vector<StyledLine> panel_lines() const;

  // draw.cpp
  void draw_run(Canvas& canvas) const;
  void draw_progress(Canvas& canvas) const;
  int draw_headline(Canvas& canvas, int row, base::Nanos now) const;
  int draw_grid(Canvas& canvas, int row, int rows);
  void draw_ranks(Canvas& canvas, int row) const;
  void draw_groups(Canvas& canvas, int row) const;
  void lay_out(Size space);
  void draw_legend(Canvas& canvas, int row) const;
  void draw_details(Canvas& canvas, int row, int end) const;
  void draw_panel(Canvas& canvas, int row, int end);
  void draw_news(Canvas& canvas, int row, base::Nanos now) const;
  void draw_kinds_of_faults(Canvas& canvas, int row) const;
  void draw_prompt(Canvas& canvas, int row) const;
  void draw_keys(Canvas& canvas, int row) const;
  void rule(Canvas& canvas, int row, std::string_view left, std::string_view right,
            Style style) const;

  bool unicode_;
  supervisor::RunStatus status_;
  bool has_status_ = false;
  base::Nanos heard_at_{};
  std::string failure_;  // of the last question; empty: it was answered
  RunFacts facts_;
  std::vector<double> losses_;
  std::uint64_t loss_step_ = 0;  // at the last reading
  base::Nanos loss_at_{};
  LogTail log_;
  std::optional<supervisor::RankUse> use_;
  std::uint32_t use_rank_ = 0;  // the rank of use_
  Prompt prompt_ = Prompt::kNone;
  Order order_;  // being typed, or confirmed
  std::string outcome_;  // of the last order
  std::optional<base::Nanos> outcome_at_;
  std::string diagnosis_;
  bool is_diagnosing_ = false;
  std::string stacks_;
  std::optional<std::uint32_t> stacks_rank_;
  bool is_looking_ = false;  // stacks were asked for

  std::vector<NodeCells> cells_;  // of status_.nodes
  std::vector<std::size_t> shown_;  // nodes that match the filter, in order, racks together
  Place selected_;
  bool follows_ = true;  // the user has not moved the selection
  bool by_urgency_ = false;
  std::string filter_;
  bool types_filter_ = false;
  // The nodes zoomed in on: elements first to last - 1 of shown_ as it is without a zoom. Both 0:
  // no zoom.
  std::size_t zoom_first_ = 0, zoom_last_ = 0;
  Panel panel_ = Panel::kNone;
  std::size_t scrolled_ = 0;  // lines of the panel before those shown, or after them (shows_end)
  std::size_t panel_rows_ = 0;  // at the last drawing
  std::size_t panel_columns_ = 80;  // at the last drawing
  GridLayout layout_;  // at the last drawing
  std::vector<Span> groups_;  // at the last drawing: nodes of each cell; empty if a cell is a rank
};

}  // namespace robustrun::cli
